package lock

import (
	"fmt"
	"slices"
	"strings"
)

// Rules names the rules that rest on one step coming before another; nil if that is not known.
type Rules func(before, after string) []string

// Finding is a difference between the lock and the code, with what rested on the fact.
type Finding struct {
	Change
	// Protected is what the fact held up, that nothing else holds up; those that rules rest on come first.
	Protected []Protected `json:"protected,omitempty"`
	// Implied is set on an order that still follows from others.
	Implied bool `json:"implied,omitempty"`
}

// Protected is an order of two steps, or a path of data from the one to the other, that rested on a fact.
type Protected struct {
	// Kind is "order" or "data".
	Kind   string   `json:"kind"`
	Before string   `json:"before"`
	After  string   `json:"after"`
	Rules  []string `json:"rules,omitempty"`
}

// String says what it is in a few words.
func (p Protected) String() string {
	s := p.Before + " before " + p.After
	if p.Kind == "data" {
		s = "what " + p.Before + " gives reaches " + p.After
	}
	if len(p.Rules) > 0 {
		s += " (rule " + strings.Join(p.Rules, ", ") + ")"
	}
	return s
}

// Weakens reports whether the finding takes something away that the lock promises, as opposed to one that only has to
// be recorded.
func (f Finding) Weakens() bool {
	return !f.Implied && f.Kind != Added && f.Kind != VariantAdded
}

// shownProtected is how many protected things a finding lists in text; JSON has all.
const shownProtected = 6

// String explains the finding in a few lines.
func (f Finding) String() string {
	if !f.Weakens() {
		what := "new"
		if f.Implied {
			what = "still holds, as a consequence of others"
		}
		return f.Change.String() + "\n    " + what + ": if this is meant, record it with \"meshd graph lock\""
	}
	s := f.Change.String()
	for i, p := range f.Protected {
		if i == shownProtected {
			s += fmt.Sprintf("\n    and %d more", len(f.Protected)-i)
			break
		}
		s += "\n    protected: " + p.String()
	}
	if len(f.Protected) == 0 {
		s += "\n    " + f.lost()
	}
	return s + "\n    if this is meant, record it with \"meshd graph lock\" and say why in the review"
}

// lost says what a fact meant on which no order rested.
func (f Finding) lost() string {
	if f.Kind == VariantRemoved {
		return "nothing is checked any more in this variant"
	}
	k := f.fact.Key
	switch f.fact.Kind {
	case "step":
		if f.Kind == Changed {
			return fmt.Sprintf("the %s of step %s is not what was reviewed", k[1], k[0])
		}
		return fmt.Sprintf("step %s lost its %s", k[0], k[1])
	case "contributes":
		return fmt.Sprintf("what %s contributes no longer reaches %s", k[1], k[0])
	case "gates":
		return fmt.Sprintf("%s no longer waits for what %s publishes", k[0], k[1])
	case "peeks":
		return fmt.Sprintf("%s no longer sees what %s publishes", k[0], k[1])
	case "order":
		return fmt.Sprintf("%s comes before %s for another reason", k[0], k[1])
	}
	return fmt.Sprintf("%s no longer takes this from %s; no order of steps rested on it alone", k[0], k[1])
}

// Verify compares the lock with the facts of the code. No findings means that they are the same.
func Verify(locked, current *Lock, rules Rules) []Finding {
	var out []Finding
	before, after := map[string]*relations{}, map[string]*relations{}
	facts, news := locked.byVariant(), current.byVariant()
	get := func(cache map[string]*relations, facts map[string]map[string]Fact, variant string) *relations {
		if cache[variant] == nil {
			cache[variant] = relate(facts[variant])
		}
		return cache[variant]
	}
	for _, c := range Diff(locked, current) {
		f := Finding{Change: c}
		f.Implied = c.Kind == Removed && c.fact.Kind == "order"
		for _, v := range c.variants {
			if c.Kind != Removed && c.Kind != Changed {
				break
			}
			f.Implied = f.Implied && get(after, news, v).precedes(c.fact.Key[0], c.fact.Key[1])
			for _, p := range protects(get(before, facts, v), c, rules) {
				if !slices.ContainsFunc(f.Protected, func(o Protected) bool { return o.String() == p.String() }) {
					f.Protected = append(f.Protected, p)
				}
			}
		}
		if f.Implied {
			f.Protected = nil
		}
		sortProtected(f.Protected)
		out = append(out, f)
	}
	// What a rule rested on comes first, then what orders rested on: the rest may only be its consequence.
	slices.SortStableFunc(out, func(a, b Finding) int { return rank(a) - rank(b) })
	return out
}

func rank(f Finding) int {
	switch {
	case !f.Weakens():
		return 3
	case len(f.Protected) == 0:
		return 2
	case len(f.Protected[0].Rules) == 0:
		return 1
	}
	return 0
}
