package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/meshd/meshd/internal/lifecycle"
)

// Dependent is a step or constructor together with what depends on it.
type Dependent struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"` // step, constructor or component
	Component string `json:"component"`
	// By and Value say how it depends on what stands above it; empty at the root.
	By    string `json:"by,omitempty"`
	Value string `json:"value,omitempty"`
	Pos   string `json:"pos,omitempty"`
	// Steps are those of a constructor.
	Steps []string `json:"steps,omitempty"`
	// Again is set where it stands in the tree a second time; what depends on it is shown only the first time.
	Again      bool         `json:"again,omitempty"`
	Dependents []*Dependent `json:"dependents,omitempty"`
}

// Rdeps finds everything that depends on a component, constructor or step, directly or through others: constructors
// that take what it gives or sets, over every kind of edge, and steps that come after it in its phase. The error is
// an *UnknownName if there is no such name.
func Rdeps(p *lifecycle.Plan, name string) (*Dependent, error) {
	found, err := find(p, name)
	if err != nil {
		return nil, err
	}
	r := &rdeps{p: p, seen: map[string]bool{}}
	root := &Dependent{Name: found.name, Kind: found.kind}
	switch found.kind {
	case "step":
		root.Component, root.Pos = found.steps[0].Component, found.steps[0].Constructor.Pos()
	case "constructor":
		root.Component, root.Pos = found.constructors[0].Component, found.constructors[0].Pos()
		root.Steps = stepNames(found.constructors[0])
	default:
		root.Component = found.name
	}
	var direct []*Dependent
	if found.kind == "step" {
		r.seen[found.steps[0].Name] = true
		direct = r.ofStep(found.steps[0])
	} else {
		for _, c := range found.constructors {
			r.seen[c.ID] = true
		}
		for _, c := range found.constructors {
			for _, d := range r.ofConstructor(c) {
				if found.kind != "component" || d.Component != found.name {
					direct = append(direct, d)
				}
			}
		}
	}
	root.Dependents = r.expand(direct)
	return root, nil
}

type rdeps struct {
	p    *lifecycle.Plan
	seen map[string]bool
}

// expand goes breadth first within a list, so that what is near stands high in the tree.
func (r *rdeps) expand(list []*Dependent) []*Dependent {
	slices.SortFunc(list, func(a, b *Dependent) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.By, b.By), cmp.Compare(a.Value, b.Value))
	})
	var fresh []*Dependent
	for _, d := range list {
		d.Again = r.seen[d.Name]
		r.seen[d.Name] = true
		if !d.Again {
			fresh = append(fresh, d)
		}
	}
	for _, d := range fresh {
		if s := r.p.Graph.Step(d.Name); d.Kind == "step" && s != nil {
			d.Dependents = r.expand(r.ofStep(s))
		} else if c := r.p.Graph.Constructor(d.Name); c != nil {
			d.Dependents = r.expand(r.ofConstructor(c))
		}
	}
	return list
}

// ofConstructor lists who takes what a constructor gives.
func (r *rdeps) ofConstructor(c *lifecycle.Constructor) []*Dependent {
	var out []*Dependent
	for _, consumer := range r.p.Graph.Constructors {
		for _, t := range takes(r.p, consumer) {
			if slices.Contains(t.From, c.ID) {
				out = append(out, dependent(consumer, t))
			}
		}
	}
	return out
}

// ofStep lists who reads, peeks at or waits for what a step sets, and the steps that come directly after it for
// another reason than that.
func (r *rdeps) ofStep(s *lifecycle.StepInfo) []*Dependent {
	var out []*Dependent
	for _, consumer := range r.p.Graph.Constructors {
		for _, t := range takes(r.p, consumer) {
			if t.SetBy == s.Name {
				out = append(out, dependent(consumer, t))
			}
		}
	}
	for _, o := range r.p.Order {
		if o.Before == s.Name && o.Reason != lifecycle.ByLoaded {
			after := r.p.Graph.Step(o.After)
			out = append(out, &Dependent{Name: o.After, Kind: "step", Component: after.Component, By: "after", Value: string(o.Reason), Pos: after.Constructor.Pos()})
		}
	}
	return out
}

func dependent(c *lifecycle.Constructor, t Take) *Dependent {
	return &Dependent{Name: c.ID, Kind: "constructor", Component: c.Component, By: kindVerb(t.Kind), Value: t.Value, Pos: c.Pos(), Steps: stepNames(c)}
}

func kindVerb(k lifecycle.EdgeKind) string {
	if k == lifecycle.Contributes {
		return "collects"
	}
	return string(k)
}

func stepNames(c *lifecycle.Constructor) []string {
	var out []string
	for _, s := range c.Steps {
		out = append(out, s.Name)
	}
	return out
}

// WriteText writes the tree, one dependent a line.
func (d *Dependent) WriteText(w io.Writer) error {
	t := &text{}
	t.dependent(d, 0)
	if len(d.Dependents) == 0 {
		t.line(2, "nothing depends on it")
	}
	if _, err := w.Write(t.b.Bytes()); err != nil {
		return fmt.Errorf("writing the dependents: %w", err)
	}
	return nil
}

// WriteJSON writes the tree as JSON, indented.
func (d *Dependent) WriteJSON(w io.Writer) error { return writeJSON(w, d) }

// WriteJSON writes the chain as JSON, indented.
func (c Chain) WriteJSON(w io.Writer) error { return writeJSON(w, c) }

func writeJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	return nil
}

func (t *text) dependent(d *Dependent, indent int) {
	s := d.Name
	if d.By != "" {
		s += fmt.Sprintf("  %s %s", d.By, d.Value)
	}
	if d.Pos != "" && !d.Again {
		s += "  (" + d.Pos + ")"
	}
	if d.Again {
		s += "  (see above)"
	}
	t.line(indent, "%s", s)
	if !d.Again {
		for _, step := range d.Steps {
			t.line(indent+2, "· step %s", step)
		}
	}
	for _, next := range d.Dependents {
		t.dependent(next, indent+2)
	}
}
