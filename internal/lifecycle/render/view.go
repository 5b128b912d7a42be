package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/meshd/meshd/internal/lifecycle"
)

// view is the part of a plan that is shown.
type view struct {
	steps, constructors           map[string]bool
	focusSteps, focusConstructors map[string]bool
	focused                       bool
}

func newView(p *lifecycle.Plan, o Options) (*view, error) {
	v := &view{steps: map[string]bool{}, constructors: map[string]bool{}, focusSteps: map[string]bool{}, focusConstructors: map[string]bool{}}
	if o.Focus == "" {
		for _, s := range p.Steps {
			v.steps[s.Name] = true
		}
		for _, c := range p.Graph.Constructors {
			v.constructors[c.ID] = true
		}
	} else if err := v.focus(p, o.Focus); err != nil {
		return nil, err
	}
	if o.Phase == 0 {
		return v, nil
	}
	// What a phase shows are its steps, and the constructors that give them.
	inPhase := map[string]bool{}
	for _, s := range p.Steps {
		if s.Phase != o.Phase {
			delete(v.steps, s.Name)
		} else if v.steps[s.Name] {
			inPhase[s.Constructor.ID] = true
		}
	}
	maps.DeleteFunc(v.constructors, func(id string, _ bool) bool { return !inPhase[id] })
	return v, nil
}

// focus selects what the name stands for and everything one edge away from it.
func (v *view) focus(p *lifecycle.Plan, name string) error {
	found, err := find(p, name)
	if err != nil {
		return err
	}
	v.focused = true
	for _, c := range found.constructors {
		v.focusConstructors[c.ID], v.constructors[c.ID] = true, true
	}
	for _, s := range found.steps {
		v.focusSteps[s.Name], v.steps[s.Name] = true, true
	}
	for _, o := range p.Order {
		if v.focusSteps[o.Before] || v.focusSteps[o.After] {
			v.steps[o.Before], v.steps[o.After] = true, true
		}
	}
	for _, f := range flows(p) {
		if v.focusSteps[f.From] || v.focusSteps[f.To] {
			v.steps[f.From], v.steps[f.To] = true, true
		}
	}
	for _, e := range p.Graph.Edges() {
		if v.focusConstructors[e.Consumer] || v.focusConstructors[e.Provider] {
			v.constructors[e.Consumer], v.constructors[e.Provider] = true, true
		}
	}
	return nil
}

// order reports whether an order or flow between two steps is shown: in a focus, only if it touches it.
func (v *view) order(a, b string) bool {
	return v.steps[a] && v.steps[b] && (!v.focused || v.focusSteps[a] || v.focusSteps[b])
}

// edge reports whether an edge is shown. Its far end need not be: a phase says where its values come from.
func (v *view) edge(consumer, provider string) bool {
	return v.constructors[consumer] && (!v.focused || v.focusConstructors[consumer] || v.focusConstructors[provider])
}

// readable gives the chain of an order with values instead of the readers of their slots.
func readable(o lifecycle.Order) []string {
	out := slices.Clone(o.Via)
	for i, s := range out {
		out[i] = value(s)
	}
	return out
}

// value gives "mesh.Config" for "lifecycle.Loaded[mesh.Config]": the kind of an edge says how the value is taken.
func value(s string) string {
	for _, reader := range []string{"Loaded", "Peek", "Gate"} {
		if rest, ok := strings.CutPrefix(s, "lifecycle."+reader+"["); ok {
			return strings.TrimSuffix(rest, "]")
		}
	}
	return s
}

// flows finds, for each step, where what its constructor takes comes from: the step that set the value, or the
// nearest step whose constructor gives it; constructors without steps are looked through. Flows that follow from
// other flows and orders are left out.
func flows(p *lifecycle.Plan) []Flow {
	all := map[[2]string]Flow{}
	add := func(from, to *lifecycle.StepInfo, kind lifecycle.EdgeKind, value string) {
		if from == nil || from == to || from.Phase > to.Phase || from.Phase == to.Phase && !p.Precedes(from.Name, to.Name) {
			return
		}
		key := [2]string{from.Name, to.Name}
		if was, ok := all[key]; !ok || cmp.Or(cmp.Compare(kindRank(kind), kindRank(was.Kind)), cmp.Compare(value, was.Value)) < 0 {
			all[key] = Flow{from.Name, to.Name, kind, value}
		}
	}
	for _, to := range p.Graph.Steps() {
		seen := map[*lifecycle.Constructor]bool{to.Constructor: true}
		for queue := []*lifecycle.Constructor{to.Constructor}; len(queue) > 0; queue = queue[1:] {
			for _, t := range takes(p, queue[0]) {
				if t.SetBy != "" {
					if t.Kind != lifecycle.Peeks {
						add(p.Graph.Step(t.SetBy), to, t.Kind, t.Value)
					}
					continue
				}
				if t.Kind != lifecycle.Needs {
					continue
				}
				for _, id := range t.From {
					c := p.Graph.Constructor(id)
					if len(c.Steps) == 0 {
						if !seen[c] {
							seen[c] = true
							queue = append(queue, c)
						}
						continue
					}
					add(lastBefore(c, to), to, t.Kind, t.Value)
				}
			}
		}
	}
	return reduce(p, all)
}

func kindRank(k lifecycle.EdgeKind) int {
	return slices.Index([]lifecycle.EdgeKind{lifecycle.Reads, lifecycle.Needs, lifecycle.Gates}, k)
}

// lastBefore gives the latest step of a constructor that is not later than another step.
func lastBefore(c *lifecycle.Constructor, to *lifecycle.StepInfo) *lifecycle.StepInfo {
	var best *lifecycle.StepInfo
	for _, s := range c.Steps {
		if s.Phase <= to.Phase && (best == nil || s.Phase >= best.Phase) {
			best = s
		}
	}
	return best
}

// reduce leaves out the flows that follow from two others, or from a flow and an order.
func reduce(p *lifecycle.Plan, all map[[2]string]Flow) []Flow {
	next := map[string]map[string]bool{}
	link := func(a, b string) {
		if next[a] == nil {
			next[a] = map[string]bool{}
		}
		next[a][b] = true
	}
	for key := range all {
		link(key[0], key[1])
	}
	for _, o := range p.Order {
		link(o.Before, o.After)
	}
	var reaches func(a, b string, seen map[string]bool) bool
	reaches = func(a, b string, seen map[string]bool) bool {
		if a == b {
			return true
		}
		if seen[a] {
			return false
		}
		seen[a] = true
		for n := range next[a] {
			if reaches(n, b, seen) {
				return true
			}
		}
		return false
	}
	var out []Flow
	for key, f := range all {
		implied := false
		for mid := range next[key[0]] {
			if mid != key[1] && reaches(mid, key[1], map[string]bool{}) {
				implied = true
				break
			}
		}
		if !implied {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b Flow) int { return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.From, b.From)) })
	return out
}
