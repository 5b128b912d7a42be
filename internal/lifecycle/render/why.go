package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/meshd/meshd/internal/lifecycle"
)

// RuleRef names a rule and what a user sees when it is broken.
type RuleRef struct {
	ID      string `json:"id"`
	Symptom string `json:"symptom,omitempty"`
}

// Rules tells which rules rest on one step coming before another; nil if that is not known.
type Rules func(before, after string) []RuleRef

// Relation is how two parts stand to each other.
type Relation string

// The relations.
const (
	Precedes  Relation = "precedes"  // a step of A comes before a step of B
	Follows   Relation = "follows"   // the other way round
	Built     Relation = "built"     // no steps, but A's constructor is run before B's
	Unordered Relation = "unordered" // they may run at the same time, or in either order
	Same      Relation = "same"      // A and B are the same
)

// Chain is the answer to why A precedes B.
type Chain struct {
	A        string   `json:"a"`
	B        string   `json:"b"`
	Relation Relation `json:"relation"`
	// Before and After are the two steps that were found, Precedes, or the constructors, for Built.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Phases are the two phases where they differ: then they alone are enough for the order.
	Phases []string `json:"phases,omitempty"`
	// Hops lead from After to Before, over what is taken from whom. Empty if only the phases order the two.
	Hops []Hop `json:"hops,omitempty"`
	// Rules rest on Before coming before After, or on a hop between two steps.
	Rules []RuleRef `json:"rules,omitempty"`
}

// Hop is one link of a chain: From comes after, or takes from, To.
type Hop struct {
	Kind string `json:"kind"` // needs, reads, field or rank
	From string `json:"from"`
	To   string `json:"to"`
	// Value is what is taken; for field and rank, the two fields or ranks.
	Value string `json:"value"`
	// Pos is where From's constructor is written.
	Pos string `json:"pos"`
}

// Why gives the shortest chain that makes A come before B. Each is a step, or a component or constructor, which
// stands for any of its steps. An *UnknownName error proposes names. If A does not come before B, the chain says how
// they stand instead.
func Why(p *lifecycle.Plan, a, b string, rules Rules) (Chain, error) {
	from, err := find(p, a)
	if err != nil {
		return Chain{}, err
	}
	to, err := find(p, b)
	if err != nil {
		return Chain{}, err
	}
	out := Chain{A: from.name, B: to.name, Relation: Unordered}
	if from.name == to.name {
		out.Relation = Same
		return out, nil
	}
	if best := precedence(p, from, to); best != nil {
		out.Relation, out.Before, out.After, out.Phases, out.Hops = Precedes, best.Before, best.After, best.Phases, best.Hops
		out.Rules = serving(p, out, rules)
		return out, nil
	}
	if best := precedence(p, to, from); best != nil {
		out.Relation, out.Before, out.After = Follows, best.Before, best.After
		return out, nil
	}
	if len(from.steps) == 0 {
		out.built(p, from, to)
	}
	return out, nil
}

// precedence finds the best chain from a step of one to a step of the other: with a path of data if there is one,
// then the shortest, then by name.
func precedence(p *lifecycle.Plan, from, to named) *Chain {
	var best *Chain
	for _, after := range to.steps {
		s := newSearch(p, after)
		for _, before := range from.steps {
			if before == after || !p.Precedes(before.Name, after.Name) {
				continue
			}
			c := &Chain{Before: before.Name, After: after.Name, Hops: s.hops(before)}
			if before.Phase != after.Phase {
				c.Phases = []string{before.Phase.String(), after.Phase.String()}
			}
			if best == nil || better(c, best) {
				best = c
			}
		}
	}
	return best
}

// better prefers a path of data to none, the shorter one, one that ends with a value that is read, and then the first
// by name.
func better(a, b *Chain) bool {
	length := func(c *Chain) int {
		n := len(c.Hops)
		switch {
		case n == 0:
			return 1 << 20 // only the phases say so
		case c.Hops[n-1].Kind == string(lifecycle.Reads):
			return 2 * n
		}
		return 2*n + 1
	}
	return cmp.Or(cmp.Compare(length(a), length(b)), cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After)) < 0
}

// built looks for a path from B's constructors to A's where A has no steps of its own.
func (c *Chain) built(p *lifecycle.Plan, from, to named) {
	for _, target := range from.constructors {
		for _, start := range to.constructors {
			s := &search{p: p, came: map[node]link{}}
			s.run(node{constructor: start, phase: lifecycle.Announce, reached: true})
			hops := s.path(func(n node) bool { return n.step == nil && n.constructor == target })
			if len(hops) > 0 && (c.Relation != Built || len(hops) < len(c.Hops)) {
				c.Relation, c.Before, c.After, c.Hops = Built, target.ID, start.ID, hops
			}
		}
	}
}

// serving collects the rules for the two steps themselves and then for each pair of steps on the way.
func serving(p *lifecycle.Plan, c Chain, rules Rules) []RuleRef {
	if rules == nil {
		return nil
	}
	steps := []string{c.After}
	for _, h := range c.Hops {
		if p.Graph.Step(h.To) != nil && h.To != c.Before {
			steps = append(steps, h.To)
		}
	}
	steps = append(steps, c.Before)
	out := slices.Clone(rules(c.Before, c.After))
	for i := 1; i < len(steps); i++ {
		for _, r := range rules(steps[i], steps[i-1]) {
			if !slices.Contains(out, r) {
				out = append(out, r)
			}
		}
	}
	return out
}

// WriteText explains the chain in words.
func (c Chain) WriteText(w io.Writer) error {
	t := &text{}
	switch c.Relation {
	case Same:
		t.line(0, "%s is %s: nothing comes before itself", c.A, c.B)
	case Unordered:
		t.line(0, "%s does not precede %s, nor the reverse: they are unordered, and may run at the same time", c.A, c.B)
	case Follows:
		t.line(0, "%s does not precede %s: it is the reverse, %s precedes %s", c.A, c.B, c.Before, c.After)
		t.line(0, "(ask for: why %s %s)", c.B, c.A)
	case Built:
		t.line(0, "%s has no steps; its constructor %s is run before %s", c.A, c.Before, c.After)
		t.hops(c)
	case Precedes:
		t.line(0, "%s precedes %s", c.Before, c.After)
		if len(c.Phases) == 2 {
			t.line(2, "by phase: %s comes before %s", c.Phases[0], c.Phases[1])
		}
		t.hops(c)
		if len(c.Hops) == 0 {
			t.line(2, "no value leads from the one to the other: only the phases order them")
		}
	}
	for _, r := range c.Rules {
		t.line(2, "serves rule %s%s", r.ID, prefixed("; if it is broken: ", r.Symptom))
	}
	if _, err := w.Write(t.b.Bytes()); err != nil {
		return fmt.Errorf("writing the chain: %w", err)
	}
	return nil
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func (t *text) hops(c Chain) {
	if len(c.Hops) == 0 {
		return
	}
	t.line(2, "by what is taken:")
	for _, h := range c.Hops {
		t.line(4, "%s %s (%s)", h.From, h.verb(), h.Pos)
	}
}

func (h Hop) verb() string {
	switch h.Kind {
	case "rank", "field":
		return fmt.Sprintf("comes after %s by %s: %s", h.To, h.Kind, h.Value)
	case "reads":
		return fmt.Sprintf("reads %s, which %s sets", h.Value, h.To)
	}
	return fmt.Sprintf("%s %s from %s", h.Kind, h.Value, h.To)
}
