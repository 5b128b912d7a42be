// Package lock keeps the facts of a start-up graph in a file that is committed, so that a change of the graph is a
// change that someone reviews: every step's tags, what every constructor takes from which, and what comes before
// what. One lock covers all variants of an application, that is, all combinations of the flags that decide what is in
// its graph.
package lock

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/meshd/meshd/internal/lifecycle"
)

// Fact is one thing that is true of a graph, one line of the file.
type Fact struct {
	// Kind is "step", "order" or the kind of an edge: needs, reads, peeks, gates or contributes.
	Kind string `json:"kind"`
	// Key says what the fact is about: step and tag; the earlier and the later step; or consumer, provider and type.
	Key []string `json:"key"`
	// Value is what may change without the fact becoming another one: the tag's value, or an order's reason.
	Value []string `json:"value,omitempty"`
}

// keyLength is how many words of a line, after the kind, say what it is about.
func keyLength(kind string, words []string) (int, bool) {
	switch kind {
	case "step":
		if len(words) > 1 && words[1] == "sets" { // a step may set more than one value
			return 3, true
		}
		return 2, true
	case "order":
		return 2, true
	case string(lifecycle.Needs), string(lifecycle.Reads), string(lifecycle.Peeks), string(lifecycle.Gates), string(lifecycle.Contributes):
		return 3, true
	}
	return 0, false
}

// String gives the fact as its line, without variants.
func (f Fact) String() string {
	words := []string{f.Kind}
	for _, w := range slices.Concat(f.Key, f.Value) {
		words = append(words, quote(w))
	}
	return strings.Join(words, " ")
}

func (f Fact) id() string { return Fact{Kind: f.Kind, Key: f.Key}.String() }

// module is left out of the names of types: what stands in the file is short, and still unique.
const module = "github.com/meshd/meshd/"

// Facts lists all facts of a plan, sorted by line.
func Facts(p *lifecycle.Plan) []Fact {
	var out []Fact
	add := func(kind string, key []string, value ...string) { out = append(out, Fact{kind, key, value}) }
	for _, s := range p.Graph.Steps() {
		tag := func(name, value string) {
			if value != "" {
				add("step", []string{s.Name, name}, value)
			}
		}
		tag("phase", s.Phase.String())
		tag("constructor", s.Constructor.ID)
		tag("budget", s.Budget.String())
		tag("stop", s.StopBudget.String())
		tag("waits", s.Waits)
		tag("listener", s.Listener)
		tag("probe", s.Probe)
		if s.Ranked {
			tag("rank", strconv.Itoa(s.Rank))
		}
		for _, of := range s.Sets {
			add("step", []string{s.Name, "sets", typeOf(lifecycle.Key{Type: of})})
		}
	}
	for _, o := range p.Order {
		add("order", []string{o.Before, o.After}, append([]string{string(o.Reason)}, o.Via...)...)
	}
	for _, c := range p.Graph.Constructors {
		for _, param := range c.Params {
			kind, key := edge(param)
			for _, from := range p.Graph.Providers(param.Key) {
				add(string(kind), []string{c.ID, from.ID, typeOf(key)})
			}
		}
	}
	byLine := make(map[string]Fact, len(out))
	for _, f := range out {
		byLine[f.String()] = f
	}
	out = out[:0]
	for _, line := range slices.Sorted(maps.Keys(byLine)) {
		out = append(out, byLine[line])
	}
	return out
}

func typeOf(k lifecycle.Key) string { return strings.ReplaceAll(k.String(), module, "") }

// edge gives the kind of edge that a parameter makes, and what goes over it: for a reader of a slot, the value.
func edge(p lifecycle.Param) (lifecycle.EdgeKind, lifecycle.Key) {
	value := lifecycle.Key{Type: p.Of, Name: p.Key.Name}
	switch p.Role {
	case lifecycle.RoleGroup:
		return lifecycle.Contributes, p.Key
	case lifecycle.RoleLoaded:
		return lifecycle.Reads, value
	case lifecycle.RolePeek:
		return lifecycle.Peeks, value
	case lifecycle.RoleGate:
		return lifecycle.Gates, value
	}
	return lifecycle.Needs, p.Key
}

// Variant is one form of an application.
type Variant struct {
	// Name lists the flags that make it, such as "plaintext=on,source=directory". All variants name the same flags.
	Name string
	Plan *lifecycle.Plan
}

// Lock is the facts of all variants of an application.
type Lock struct {
	// Variants are their names, sorted.
	Variants []string
	// Entries are sorted by line.
	Entries []Entry
}

// Entry is a fact, and the variants in which it is true, sorted.
type Entry struct {
	Fact
	Variants []string
}

// Of makes the lock of variants. The error says which name is not one that a lock can tell apart.
func Of(variants []Variant) (*Lock, error) {
	l := &Lock{}
	for _, v := range variants {
		l.Variants = append(l.Variants, v.Name)
	}
	slices.Sort(l.Variants)
	if err := checkVariants(l.Variants); err != nil {
		return nil, err
	}
	at := map[string]*Entry{}
	for _, v := range variants {
		for _, f := range Facts(v.Plan) {
			line := f.String()
			if at[line] == nil {
				at[line] = &Entry{Fact: f}
			}
			at[line].Variants = append(at[line].Variants, v.Name)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(at)) {
		slices.Sort(at[line].Variants)
		l.Entries = append(l.Entries, *at[line])
	}
	return l, nil
}

// sort puts the entries in the order of their lines.
func (l *Lock) sort() {
	lines := make(map[*Fact]string, len(l.Entries))
	entries := make([]*Entry, len(l.Entries))
	for i := range l.Entries {
		entries[i] = &l.Entries[i]
		lines[&entries[i].Fact] = entries[i].String()
	}
	slices.SortFunc(entries, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(lines[&a.Fact], lines[&b.Fact]), slices.Compare(a.Variants, b.Variants))
	})
	sorted := make([]Entry, len(entries))
	for i, e := range entries {
		sorted[i] = *e
	}
	l.Entries = sorted
}

// checkVariants makes sure that conditions can tell the variants apart.
func checkVariants(names []string) error {
	if len(names) == 0 {
		return errors.New("a lock needs at least one variant")
	}
	seen := map[string]string{}
	flags := ""
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, " \t\r\n\"|@#") {
			return fmt.Errorf("variant %q: a name is not empty, and has no space, quote, |, @ or #", name)
		}
		terms := strings.Split(name, ",")
		slices.Sort(terms)
		if other, ok := seen[strings.Join(terms, ",")]; ok {
			return fmt.Errorf("variants %q and %q are the same", other, name)
		}
		seen[strings.Join(terms, ",")] = name
		for i, t := range terms {
			terms[i], _, _ = strings.Cut(t, "=")
		}
		if list := strings.Join(terms, ","); flags != "" && list != flags {
			return fmt.Errorf("variant %q names the flags %s, others name %s", name, list, flags)
		} else if flags == "" {
			flags = list
		}
		if slices.Contains(terms, "") {
			return fmt.Errorf("variant %q: a flag has no name", name)
		}
	}
	if !strings.Contains(names[0], "=") && len(names) > 1 {
		return fmt.Errorf("variant %q: want flag=value", names[0])
	}
	return nil
}

// byVariant gives the facts of each variant, by what they are about.
func (l *Lock) byVariant() map[string]map[string]Fact {
	out := map[string]map[string]Fact{}
	for _, v := range l.Variants {
		out[v] = map[string]Fact{}
	}
	for _, e := range l.Entries {
		id := e.id()
		for _, v := range e.Variants {
			if out[v] != nil {
				out[v][id] = e.Fact
			}
		}
	}
	return out
}
