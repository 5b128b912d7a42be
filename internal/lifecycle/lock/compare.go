package lock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ChangeKind is what became of a fact.
type ChangeKind string

// The kinds of changes.
const (
	Removed        ChangeKind = "removed"
	Changed        ChangeKind = "changed"
	Added          ChangeKind = "added"
	VariantRemoved ChangeKind = "variant-removed"
	VariantAdded   ChangeKind = "variant-added"
)

// Change is one difference between two locks.
type Change struct {
	Kind ChangeKind `json:"kind"`
	// Old and New are the lines of the fact, or the names of variants; empty where there is none.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
	// In is the condition that picks the variants in which it is so; empty for all that both locks have.
	In string `json:"in,omitempty"`

	fact     Fact // the old one, or the new one if it was added
	now      Fact // the new one of a change
	variants []string
}

// String gives the change in one line, with the sign that diffs have.
func (c Change) String() string {
	switch c.Kind {
	case Removed:
		return "- " + c.Old + suffix(c.In)
	case Added:
		return "+ " + c.New + suffix(c.In)
	case VariantRemoved:
		return "- variant " + c.Old
	case VariantAdded:
		return "+ variant " + c.New
	}
	return "~ " + c.Old + "  =>  " + c.New + suffix(c.In)
}

// Diff lists the differences between two locks, sorted: variants, then facts by what they are about. Facts are
// compared in the variants that both have.
func Diff(before, after *Lock) []Change {
	var out []Change
	var common []string
	for _, v := range before.Variants {
		if slices.Contains(after.Variants, v) {
			common = append(common, v)
		} else {
			out = append(out, Change{Kind: VariantRemoved, Old: v})
		}
	}
	for _, v := range after.Variants {
		if !slices.Contains(before.Variants, v) {
			out = append(out, Change{Kind: VariantAdded, New: v})
		}
	}
	return append(out, diffFacts(before, after, common)...)
}

func diffFacts(before, after *Lock, common []string) []Change {
	at := map[string]*Change{}
	note := func(variant string, c Change) {
		key := c.fact.id() + "\x00" + c.Old + "\x00" + c.New
		if at[key] == nil {
			at[key] = &c
		}
		at[key].variants = append(at[key].variants, variant)
	}
	facts, news := before.byVariant(), after.byVariant()
	for _, v := range common {
		was, is := facts[v], news[v]
		for id, old := range was {
			now, ok := is[id]
			switch {
			case !ok:
				note(v, Change{Kind: Removed, Old: old.String(), fact: old})
			case !slices.Equal(old.Value, now.Value):
				note(v, Change{Kind: Changed, Old: old.String(), New: now.String(), fact: old, now: now})
			}
		}
		for id, now := range is {
			if _, ok := was[id]; !ok {
				note(v, Change{Kind: Added, New: now.String(), fact: now})
			}
		}
	}
	var out []Change
	for _, c := range at {
		c.In = condition(c.variants, common)
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.fact.id(), b.fact.id()), cmp.Compare(a.String(), b.String()))
	})
	return out
}

// WriteDiff writes changes, one a line, and a last line that counts them.
func WriteDiff(w io.Writer, changes []Change) error {
	var b strings.Builder
	n := map[ChangeKind]int{}
	for _, c := range changes {
		n[c.Kind]++
		b.WriteString(c.String() + "\n")
	}
	fmt.Fprintf(&b, "%d removed, %d added, %d changed\n", n[Removed]+n[VariantRemoved], n[Added]+n[VariantAdded], n[Changed])
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the differences: %w", err)
	}
	return nil
}

// WriteDiffJSON writes changes as a JSON list, indented.
func WriteDiffJSON(w io.Writer, changes []Change) error {
	if changes == nil {
		changes = []Change{}
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(changes); err != nil {
		return fmt.Errorf("writing the differences as JSON: %w", err)
	}
	return nil
}
