package lifecycle

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Reason is why one step comes before another of its phase.
type Reason string

// The reasons, the most telling first.
const (
	ByLoaded Reason = "reads" // the later one's constructor takes a Loaded that the earlier step sets
	ByNeeds  Reason = "needs" // the later one's constructor reaches the earlier one's
	ByField  Reason = "field" // one constructor returns both, and its field stands first
	ByRank   Reason = "rank"  // both are of one component, and its rank is lower
	ByPhase  Reason = "phase" // its phase is earlier
)

// Order says that one step comes before another, and why.
type Order struct {
	Before string `json:"before"`
	After  string `json:"after"`
	Reason Reason `json:"reason"`
	// Via is the chain of constructors, and values between them, that carries the order: from the later step's
	// constructor to the earlier one's.
	Via []string `json:"via,omitempty"`
}

// Plan is the graph together with the order of its steps.
type Plan struct {
	Graph *Graph
	// Steps in an order that can be run: by phase, then by what comes before what, then by name.
	Steps []*StepInfo
	// Order holds the orders within phases, without those that follow from others, sorted.
	Order []Order

	before map[string]map[string]Order // after -> before -> why, complete within a phase
	reach  map[*Constructor]map[*Constructor]hop
	loaded map[*Constructor][]loading
}

// hop is one link on the way from a constructor over what it takes.
type hop struct {
	from *Constructor
	via  Param
}

// MakePlan orders the steps. The violations are circles, and steps that would read a value before it is set; the
// plan is complete only when there are none, and no fault in the list itself (Malformed).
func MakePlan(g *Graph) (*Plan, []Violation) {
	p := &Plan{Graph: g, before: map[string]map[string]Order{}, reach: map[*Constructor]map[*Constructor]hop{}, loaded: map[*Constructor][]loading{}}
	steps := g.Steps()
	if len(g.byName) < len(steps) { // names that are not unique order nothing; Malformed has them
		p.Steps = steps
		return p, nil
	}
	for _, c := range g.Constructors {
		p.reach[c] = g.reachable(c)
		p.loaded[c] = p.loads(c)
	}
	var violations []Violation
	for _, after := range steps {
		violations = append(violations, p.checkReads(after)...)
		for _, before := range steps {
			if before != after && before.Phase == after.Phase {
				if o, ok := p.order(before, after); ok {
					if p.before[after.Name] == nil {
						p.before[after.Name] = map[string]Order{}
					}
					p.before[after.Name][before.Name] = o
				}
			}
		}
	}
	p.close(steps)
	for _, s := range steps {
		if o, circle := p.before[s.Name][s.Name]; circle {
			violations = append(violations, Violation{Rule: "no-circles", Pos: s.Constructor.Pos(), Symptom: "the process does not start",
				Message: fmt.Sprintf("step %s would have to come before itself, by way of %s (%s)", s.Name, o.Via[0], o.Reason)})
		}
	}
	sortViolations(violations)
	if len(violations) > 0 {
		p.Steps = steps
		return p, violations
	}
	p.sort(steps)
	p.reduce()
	return p, nil
}

// reachable finds every constructor that c reaches over parameters that order, breadth first, so that chains are the
// shortest there are.
func (g *Graph) reachable(c *Constructor) map[*Constructor]hop {
	seen := map[*Constructor]hop{c: {}}
	for queue := []*Constructor{c}; len(queue) > 0; queue = queue[1:] {
		for _, param := range queue[0].Params {
			if !param.orders() {
				continue
			}
			for _, next := range g.providers[param.Key] {
				if _, ok := seen[next]; !ok {
					seen[next] = hop{queue[0], param}
					queue = append(queue, next)
				}
			}
		}
	}
	return seen
}

// loads lists the Loaded parameters that a constructor takes, itself or through what it needs.
func (p *Plan) loads(c *Constructor) []loading {
	var out []loading
	for at := range p.reach[c] {
		for _, param := range at.Params {
			if param.Role == RoleLoaded {
				out = append(out, loading{at, param})
			}
		}
	}
	slices.SortFunc(out, func(a, b loading) int {
		return cmp.Or(cmp.Compare(len(p.chain(c, a.at)), len(p.chain(c, b.at))), cmp.Compare(a.at.ID, b.at.ID), cmp.Compare(a.param.Field, b.param.Field))
	})
	return out
}

type loading struct {
	at    *Constructor
	param Param
}

// chain writes the way from one constructor to another that it reaches: constructor, value, constructor, …
func (p *Plan) chain(from, to *Constructor) []string {
	var out []string
	for at := to; at != from; {
		h, ok := p.reach[from][at]
		if !ok || h.from == nil {
			return nil
		}
		out = append(out, at.ID, h.via.Key.Short())
		at = h.from
	}
	out = append(out, from.ID)
	slices.Reverse(out)
	return out
}

func (p *Plan) order(before, after *StepInfo) (Order, bool) {
	o := Order{Before: before.Name, After: after.Name}
	// Reading the value is the more telling reason where the constructor is reached too.
	for _, l := range p.loaded[after.Constructor] {
		if slices.Contains(before.Sets, l.param.Of) {
			o.Reason, o.Via = ByLoaded, append(p.chain(after.Constructor, l.at), l.param.Key.Short())
			return o, true
		}
	}
	if _, ok := p.reach[after.Constructor][before.Constructor]; ok && before.Constructor != after.Constructor {
		o.Reason, o.Via = ByNeeds, p.chain(after.Constructor, before.Constructor)
		return o, true
	}
	if before.Constructor == after.Constructor && before.Index < after.Index {
		o.Reason, o.Via = ByField, []string{after.Field, before.Field}
		return o, true
	}
	if before.Component == after.Component && before.Ranked && after.Ranked && before.Rank < after.Rank {
		o.Reason, o.Via = ByRank, []string{itoa(after.Rank), itoa(before.Rank)}
		return o, true
	}
	return o, false
}

// checkReads refuses a step whose constructor takes a Loaded, itself or through what it needs, that is not set
// before the step runs.
func (p *Plan) checkReads(s *StepInfo) []Violation {
	var out []Violation
	for _, l := range p.loaded[s.Constructor] {
		setter, _ := p.Graph.Setter(l.param.Of)
		chain := strings.Join(append(p.chain(s.Constructor, l.at), l.param.Key.Short()), " → ")
		v := Violation{Rule: "loaded-before-read", Pos: l.at.Pos(), Symptom: "a value that is not there yet is read as if it were nothing"}
		switch {
		case setter == nil:
			continue // Check reports a slot that nobody sets
		case setter == s:
			v.Message = fmt.Sprintf("step %s reads the value that it sets itself: %s", s.Name, chain)
		case setter.Phase > s.Phase:
			v.Message = fmt.Sprintf("step %s (phase %s) reads a value that %s sets only in phase %s: %s", s.Name, s.Phase, setter.Name, setter.Phase, chain)
		default:
			continue
		}
		out = append(out, v)
	}
	return out
}

// close completes the order within phases over chains of steps.
func (p *Plan) close(steps []*StepInfo) {
	for _, mid := range steps {
		for _, after := range steps {
			via, ok := p.before[after.Name][mid.Name]
			if !ok {
				continue
			}
			for first := range p.before[mid.Name] {
				if _, ok := p.before[after.Name][first]; !ok {
					p.before[after.Name][first] = Order{Before: first, After: after.Name, Reason: via.Reason, Via: []string{mid.Name, first}}
				}
			}
		}
	}
}

// sort puts the steps into an order that can be run; among those that could be next, the first by phase and name,
// which is how they come in.
func (p *Plan) sort(steps []*StepInfo) {
	placed := map[string]bool{}
	for len(p.Steps) < len(steps) {
		for _, s := range steps {
			if !placed[s.Name] && p.ready(s, placed) {
				placed[s.Name] = true
				p.Steps = append(p.Steps, s)
				break
			}
		}
	}
}

func (p *Plan) ready(s *StepInfo, placed map[string]bool) bool {
	for before := range p.before[s.Name] {
		if !placed[before] {
			return false
		}
	}
	return true
}

// reduce keeps the orders that do not follow from two others.
func (p *Plan) reduce() {
	for after, befores := range p.before {
		for before, o := range befores {
			implied := false
			for mid := range befores {
				if _, ok := p.before[mid][before]; ok {
					implied = true
					break
				}
			}
			if !implied {
				o.After, o.Before = after, before
				p.Order = append(p.Order, o)
			}
		}
	}
	slices.SortFunc(p.Order, func(a, b Order) int {
		return cmp.Or(cmp.Compare(a.After, b.After), cmp.Compare(a.Before, b.Before))
	})
}

// Before lists the steps of the same phase that come directly before a step, sorted.
func (p *Plan) Before(step string) []string {
	var out []string
	for _, o := range p.Order {
		if o.After == step {
			out = append(out, o.Before)
		}
	}
	return out
}

// Precedes reports whether step a comes before step b, by phase or within their phase.
func (p *Plan) Precedes(a, b string) bool {
	sa, sb := p.Graph.Step(a), p.Graph.Step(b)
	if sa == nil || sb == nil {
		return false
	}
	_, ok := p.before[b][a]
	return sa.Phase < sb.Phase || ok
}

// Path gives the shortest chain over needs and reads from a constructor to another; nil if there is none.
func (p *Plan) Path(from, to *Constructor) []string { return p.chain(from, to) }

// Takes gives the chain over which a constructor comes to read the value of type name "T" ("ca.CA", package and
// name); nil if it does not. It looks at Loaded values and at ordinary ones.
func (p *Plan) Takes(c *Constructor, shortName string) []string {
	best := []string(nil)
	for at := range p.reach[c] {
		for _, param := range at.Params {
			t := param.Key.Type
			if param.Role == RoleLoaded {
				t = param.Of
			}
			if !param.orders() || shortType(typeName(t)) != shortName && strings.TrimPrefix(shortType(typeName(t)), "*") != shortName {
				continue
			}
			chain := append(p.chain(c, at), param.Key.Short())
			if best == nil || len(chain) < len(best) || len(chain) == len(best) && slices.Compare(chain, best) < 0 {
				best = chain
			}
		}
	}
	return best
}

// Reads reports whether a constructor takes, itself or through what it needs, the Loaded of a type.
func (p *Plan) Reads(c *Constructor, of reflect.Type) bool {
	for _, l := range p.loaded[c] {
		if l.param.Of == of {
			return true
		}
	}
	return false
}
