package lock

import (
	"cmp"
	"maps"
	"slices"

	"github.com/meshd/meshd/internal/lifecycle"
)

// relations is what follows from the facts of one variant: which step comes before which, and from which step's
// constructor or value data reaches which step.
type relations struct {
	facts map[string]Fact
	phase map[string]lifecycle.Phase
	order map[[2]string]bool // closed, also over phases
	data  map[[2]string]bool
}

func relate(facts map[string]Fact) *relations {
	r := &relations{facts: facts, phase: map[string]lifecycle.Phase{}, order: map[[2]string]bool{}, data: map[[2]string]bool{}}
	for _, f := range facts {
		if f.Kind == "step" && f.Key[1] == "phase" && len(f.Value) == 1 {
			if p, err := lifecycle.ParsePhase(f.Value[0]); err == nil {
				r.phase[f.Key[0]] = p
			}
		}
	}
	r.orders()
	r.flows()
	return r
}

func (r *relations) precedes(a, b string) bool { return r.order[[2]string{a, b}] }

// orders closes the orders within phases, and adds those between phases.
func (r *relations) orders() {
	after := map[string][]string{}
	for _, f := range r.facts {
		if f.Kind == "order" {
			after[f.Key[0]] = append(after[f.Key[0]], f.Key[1])
		}
	}
	for a, pa := range r.phase {
		for b := range reach(a, after) {
			r.order[[2]string{a, b}] = true
		}
		for b, pb := range r.phase {
			if pa < pb {
				r.order[[2]string{a, b}] = true
			}
		}
	}
}

// flows follows needs and reads from each step's constructor, and from a value that is read to the step that sets it.
func (r *relations) flows() {
	takes := map[string][]string{} // constructor -> constructors, and "step:" + setters
	steps, constructor := map[string][]string{}, map[string]string{}
	setter := map[string]string{}
	for _, f := range r.facts {
		switch {
		case f.Kind == "step" && f.Key[1] == "constructor" && len(f.Value) == 1:
			steps[f.Value[0]] = append(steps[f.Value[0]], f.Key[0])
			constructor[f.Key[0]] = f.Value[0]
		case f.Kind == "step" && f.Key[1] == "sets":
			setter[f.Key[2]] = f.Key[0]
		}
	}
	for _, f := range r.facts {
		switch lifecycle.EdgeKind(f.Kind) {
		case lifecycle.Reads:
			if s, ok := setter[f.Key[2]]; ok {
				takes[f.Key[0]] = append(takes[f.Key[0]], "step:"+s)
			}
			takes[f.Key[0]] = append(takes[f.Key[0]], f.Key[1])
		case lifecycle.Needs:
			takes[f.Key[0]] = append(takes[f.Key[0]], f.Key[1])
		}
	}
	for s, c := range constructor {
		takes["step:"+s] = append(takes["step:"+s], c)
	}
	for to, c := range constructor {
		for from := range reach(c, takes) {
			for _, s := range append(steps[from], from) {
				s = cutStep(s)
				if s != to && constructor[s] != "" && constructor[s] != c && r.phase[s] <= r.phase[to] {
					r.data[[2]string{s, to}] = true
				}
			}
		}
	}
}

func cutStep(s string) string {
	if len(s) > 5 && s[:5] == "step:" {
		return s[5:]
	}
	return s
}

// reach gives everything that can be reached from a node.
func reach(from string, next map[string][]string) map[string]bool {
	seen := map[string]bool{}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for _, n := range next[queue[0]] {
			if !seen[n] {
				seen[n] = true
				queue = append(queue, n)
			}
		}
	}
	return seen
}

// protects finds what holds with a fact and not without it, or not with what it has become.
func protects(r *relations, c Change, rules Rules) []Protected {
	facts := maps.Clone(r.facts)
	delete(facts, c.fact.id())
	if c.Kind == Changed {
		facts[c.fact.id()] = c.now
	}
	without := relate(facts)
	var out []Protected
	lost := func(kind string, had, has map[[2]string]bool) {
		for pair := range had {
			if has[pair] {
				continue
			}
			p := Protected{Kind: kind, Before: pair[0], After: pair[1]}
			if rules != nil {
				p.Rules = rules(pair[0], pair[1])
			}
			out = append(out, p)
		}
	}
	lost("order", r.order, without.order)
	lost("data", r.data, without.data)
	return out
}

// sortProtected puts what rules rest on first.
func sortProtected(all []Protected) {
	slices.SortFunc(all, func(a, b Protected) int {
		return cmp.Or(cmp.Compare(min(1, len(b.Rules)), min(1, len(a.Rules))), cmp.Compare(b.Kind, a.Kind), cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After))
	})
}
