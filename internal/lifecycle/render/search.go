package render

import (
	"fmt"
	"slices"

	"github.com/meshd/meshd/internal/lifecycle"
)

// node is a step or a constructor on the way back from a step to what comes before it. Phase is the phase of the last
// step on the way: what is reached from there comes before that step only if its phase is not later.
type node struct {
	step        *lifecycle.StepInfo
	constructor *lifecycle.Constructor
	phase       lifecycle.Phase
	// reached is set on a constructor that something on the way takes from: its steps come before that. It is not
	// set on the constructor that a step itself belongs to, whose other steps are ordered by fields.
	reached bool
}

type link struct {
	from node
	hop  Hop
	free bool // not a hop: a step and its own constructor
}

// search walks breadth first over what orders: needs, reads, fields and ranks.
type search struct {
	p    *lifecycle.Plan
	came map[node]link
	// order holds the nodes as they were reached, nearest first.
	order []node
}

func newSearch(p *lifecycle.Plan, after *lifecycle.StepInfo) *search {
	s := &search{p: p, came: map[node]link{}}
	s.run(node{step: after, phase: after.Phase})
	return s
}

func (s *search) run(start node) {
	hops := map[node]int{start: 0}
	s.came[start] = link{}
	s.order = append(s.order, start)
	for i := 0; i < len(s.order); i++ {
		at := s.order[i]
		for _, l := range s.next(at) {
			n := hops[at]
			if !l.free {
				n++
			}
			if was, seen := hops[l.to]; seen && was <= n {
				continue
			}
			hops[l.to], s.came[l.to] = n, l.link
			if l.free { // costs nothing, so it is looked at next
				s.order = slices.Insert(s.order, i+1, l.to)
			} else {
				s.order = append(s.order, l.to)
			}
		}
	}
}

type reachedBy struct {
	to node
	link
}

func (s *search) next(at node) []reachedBy {
	var out []reachedBy
	if at.step != nil {
		out = append(out, reachedBy{node{constructor: at.step.Constructor, phase: at.phase}, link{from: at, free: true}})
		for _, other := range s.p.Graph.Steps() {
			if h, ok := s.byHand(other, at.step); ok {
				out = append(out, reachedBy{node{step: other, phase: other.Phase}, link{from: at, hop: h}})
			}
		}
		return out
	}
	c := at.constructor
	if at.reached {
		for _, step := range c.Steps {
			if step.Phase <= at.phase {
				out = append(out, reachedBy{node{step: step, phase: step.Phase}, link{from: at, free: true}})
			}
		}
	}
	for _, t := range takes(s.p, c) {
		if t.Kind == lifecycle.Reads && t.SetBy != "" {
			if setter := s.p.Graph.Step(t.SetBy); setter.Phase <= at.phase && setter.Constructor != c {
				h := Hop{Kind: string(t.Kind), From: c.ID, To: setter.Name, Value: t.Value, Pos: c.Pos()}
				out = append(out, reachedBy{node{step: setter, phase: setter.Phase}, link{from: at, hop: h}})
			}
		}
		if t.Kind != lifecycle.Needs && t.Kind != lifecycle.Reads {
			continue
		}
		for _, id := range t.From {
			h := Hop{Kind: string(lifecycle.Needs), From: c.ID, To: id, Value: t.Value, Pos: c.Pos()}
			out = append(out, reachedBy{node{constructor: s.p.Graph.Constructor(id), phase: at.phase, reached: true}, link{from: at, hop: h}})
		}
	}
	return out
}

// byHand says whether a step comes before another of its phase by field or rank.
func (s *search) byHand(before, after *lifecycle.StepInfo) (Hop, bool) {
	h := Hop{From: after.Name, To: before.Name, Pos: after.Constructor.Pos()}
	switch {
	case before == after || before.Phase != after.Phase:
		return h, false
	case before.Constructor == after.Constructor && before.Index < after.Index:
		h.Kind, h.Value = "field", fmt.Sprintf("%s stands after %s", after.Field, before.Field)
		return h, true
	case before.Component == after.Component && before.Ranked && after.Ranked && before.Rank < after.Rank:
		h.Kind, h.Value = "rank", fmt.Sprintf("%d after %d", after.Rank, before.Rank)
		return h, true
	}
	return h, false
}

// hops gives the way to a step; nil if there is none.
func (s *search) hops(to *lifecycle.StepInfo) []Hop {
	return s.path(func(n node) bool { return n.step == to })
}

// path gives the way to the nearest node that is wanted.
func (s *search) path(wanted func(node) bool) []Hop {
	i := slices.IndexFunc(s.order, wanted)
	if i < 0 {
		return nil
	}
	var out []Hop
	for at := s.order[i]; ; {
		l := s.came[at]
		if l.from == (node{}) {
			break
		}
		if !l.free {
			out = append(out, l.hop)
		}
		at = l.from
	}
	slices.Reverse(out)
	return out
}
