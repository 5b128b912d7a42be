package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/meshd/meshd/internal/lifecycle"
)

// named is what a name stands for: a step, a constructor or a component, and what belongs to it.
type named struct {
	name         string
	kind         string // "step", "constructor" or "component"
	constructors []*lifecycle.Constructor
	steps        []*lifecycle.StepInfo
}

// UnknownName is the error for a name that is no step, constructor or component.
type UnknownName struct {
	Name string
	// Near are the names that were probably meant.
	Near []string
}

// Error names what was probably meant.
func (e *UnknownName) Error() string {
	s := fmt.Sprintf("no step, constructor or component is called %q", e.Name)
	if len(e.Near) > 0 {
		s += ": did you mean " + strings.Join(e.Near, ", ") + "?"
	}
	return s
}

// find resolves a name: a step first, then a constructor by ID or by a function name that occurs once, then a
// component.
func find(p *lifecycle.Plan, name string) (named, error) {
	if s := p.Graph.Step(name); s != nil {
		return named{name, "step", []*lifecycle.Constructor{s.Constructor}, []*lifecycle.StepInfo{s}}, nil
	}
	var byFunc []*lifecycle.Constructor
	for _, c := range p.Graph.Constructors {
		if c.ID == name {
			return named{c.ID, "constructor", []*lifecycle.Constructor{c}, c.Steps}, nil
		}
		if c.Func == name {
			byFunc = append(byFunc, c)
		}
	}
	out := named{name: name, kind: "component"}
	for _, c := range p.Graph.Constructors {
		if c.Component == name {
			out.constructors = append(out.constructors, c)
			out.steps = append(out.steps, c.Steps...)
		}
	}
	if slices.ContainsFunc(p.Graph.Components, func(c lifecycle.Component) bool { return c.Name == name }) {
		return out, nil
	}
	if len(byFunc) == 1 {
		return named{byFunc[0].ID, "constructor", byFunc, byFunc[0].Steps}, nil
	}
	return named{}, &UnknownName{Name: name, Near: near(p, name, byFunc)}
}

// near proposes up to three names: those that contain the wrong one, or differ from it in a few letters.
func near(p *lifecycle.Plan, name string, byFunc []*lifecycle.Constructor) []string {
	type candidate struct {
		name     string
		distance int
	}
	var all []candidate
	add := func(n string) {
		d := distance(strings.ToLower(name), strings.ToLower(n))
		if len(name) > 2 && strings.Contains(strings.ToLower(n), strings.ToLower(name)) {
			d = 1
		}
		if d <= max(2, len(name)/3) {
			all = append(all, candidate{n, d})
		}
	}
	for _, c := range byFunc {
		all = append(all, candidate{c.ID, 0})
	}
	for _, s := range p.Graph.Steps() {
		add(s.Name)
	}
	for _, c := range p.Graph.Constructors {
		add(c.ID)
	}
	for _, c := range p.Graph.Components {
		add(c.Name)
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, c := range all {
		if !slices.Contains(out, c.name) && len(out) < 3 {
			out = append(out, c.name)
		}
	}
	return out
}

// distance counts the letters to insert, remove or replace to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
