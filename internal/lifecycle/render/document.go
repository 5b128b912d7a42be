// Package render shows a plan: as text, as JSON, and drawn as DOT, Mermaid and SVG. It also answers why one step
// comes before another, and what depends on a part. Everything is sorted, so that the same application gives the
// same bytes however its components are listed.
package render

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/meshd/meshd/internal/lifecycle"
)

// Version is the version of Document; it changes when a field changes its meaning or goes.
const Version = 1

// Options say what of a plan is shown.
type Options struct {
	// Phase restricts the output to one phase; 0 shows all.
	Phase lifecycle.Phase
	// Focus restricts the output to a component, constructor or step, and its neighbours.
	Focus string
	// Stop shows the order of stopping, which is the exact reverse of starting.
	Stop bool
	// Data also draws, in SVG, DOT and Mermaid, which values flow between the steps' constructors.
	Data bool
}

// Document is a plan as plain data: what the JSON format writes, and what every other format is made from.
type Document struct {
	Version int `json:"version"`
	// Direction is "start", or "stop": then phases, steps and orders stand in the order of stopping.
	Direction    string        `json:"direction"`
	Components   []Component   `json:"components"`
	Phases       []Phase       `json:"phases"`
	Constructors []Constructor `json:"constructors"`
	// Order are the orders within phases, without those that follow from others.
	Order []Order `json:"order"`
	// Edges say which constructor takes what from which.
	Edges []Edge `json:"edges"`
	// Flows say, per pair of steps, that a value comes from the one to the other; those that follow from others are
	// left out.
	Flows []Flow `json:"flows"`
}

// Component is a component and what it is for.
type Component struct {
	Name string `json:"name"`
	For  string `json:"for"`
}

// Phase is a phase and its steps, in an order in which they can run.
type Phase struct {
	Name  string `json:"name"`
	Steps []Step `json:"steps"`
}

// Step is a step as its tags declare it.
type Step struct {
	Name        string `json:"name"`
	Component   string `json:"component"`
	Constructor string `json:"constructor"`
	// Budget and StopBudget are durations as Go writes them, such as "5s".
	Budget     string   `json:"budget"`
	StopBudget string   `json:"stopBudget"`
	Sets       []string `json:"sets,omitempty"`
	Waits      string   `json:"waits,omitempty"`
	Listener   string   `json:"listener,omitempty"`
	Probe      string   `json:"probe,omitempty"`
	Rank       *int     `json:"rank,omitempty"`
	// Focus is set on what Options.Focus named, as opposed to its neighbours.
	Focus bool `json:"focus,omitempty"`
}

// Constructor is a constructor with what it takes and gives.
type Constructor struct {
	ID        string   `json:"id"`
	Component string   `json:"component"`
	Package   string   `json:"package"`
	Pos       string   `json:"pos"`
	Takes     []Take   `json:"takes,omitempty"`
	Gives     []Give   `json:"gives,omitempty"`
	Steps     []string `json:"steps,omitempty"`
	Focus     bool     `json:"focus,omitempty"`
}

// Take is one thing that a constructor takes.
type Take struct {
	// Kind is the kind of the edge: needs, reads, peeks, gates or contributes (to a group).
	Kind  lifecycle.EdgeKind `json:"kind"`
	Value string             `json:"value"`
	From  []string           `json:"from"`
	// SetBy is the step that sets the value, for reads, peeks and gates.
	SetBy string `json:"setBy,omitempty"`
}

// Give is one thing that a constructor gives: an ordinary value, a group member, a published value or its slot.
type Give struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

// Order says that one step comes before another of its phase, and over what.
type Order struct {
	Before string           `json:"before"`
	After  string           `json:"after"`
	Reason lifecycle.Reason `json:"reason"`
	Via    []string         `json:"via,omitempty"`
}

// Edge says that a constructor takes a value that another gives.
type Edge struct {
	Kind     lifecycle.EdgeKind `json:"kind"`
	Consumer string             `json:"consumer"`
	Provider string             `json:"provider"`
	Value    string             `json:"value"`
}

// Flow says that a value comes from one step, or its constructor, to another step's constructor.
type Flow struct {
	From  string             `json:"from"`
	To    string             `json:"to"`
	Kind  lifecycle.EdgeKind `json:"kind"`
	Value string             `json:"value"`
}

// Describe makes the document of a plan. The error is an *UnknownName if the focus does not exist.
func Describe(p *lifecycle.Plan, o Options) (*Document, error) {
	view, err := newView(p, o)
	if err != nil {
		return nil, err
	}
	d := &Document{Version: Version, Direction: "start", // lists are never null in JSON
		Components: []Component{}, Phases: []Phase{}, Constructors: []Constructor{}, Order: []Order{}, Edges: []Edge{}, Flows: []Flow{}}
	for _, phase := range lifecycle.Phases() {
		if o.Phase != 0 && o.Phase != phase {
			continue
		}
		shown := Phase{Name: phase.String(), Steps: []Step{}}
		for _, s := range p.Steps {
			if s.Phase == phase && view.steps[s.Name] {
				shown.Steps = append(shown.Steps, describeStep(s, view.focusSteps[s.Name]))
			}
		}
		d.Phases = append(d.Phases, shown)
	}
	components := map[string]bool{}
	for _, c := range p.Graph.Constructors {
		if view.constructors[c.ID] {
			d.Constructors = append(d.Constructors, describeConstructor(p, c, view.focusConstructors[c.ID]))
			components[c.Component] = true
		}
	}
	for _, c := range p.Graph.Components {
		if components[c.Name] || o.Phase == 0 && o.Focus == "" {
			d.Components = append(d.Components, Component{c.Name, c.For})
		}
	}
	for _, order := range p.Order {
		if view.order(order.Before, order.After) {
			d.Order = append(d.Order, Order{order.Before, order.After, order.Reason, readable(order)})
		}
	}
	for _, c := range p.Graph.Constructors {
		for _, t := range takes(p, c) {
			for _, from := range t.From {
				if view.edge(c.ID, from) {
					d.Edges = append(d.Edges, Edge{t.Kind, c.ID, from, t.Value})
				}
			}
		}
	}
	for _, f := range flows(p) {
		if view.order(f.From, f.To) {
			d.Flows = append(d.Flows, f)
		}
	}
	if o.Stop {
		d.reverse()
	}
	return d, nil
}

func describeStep(s *lifecycle.StepInfo, focus bool) Step {
	out := Step{Name: s.Name, Component: s.Component, Constructor: s.Constructor.ID, Budget: duration(s.Budget), StopBudget: duration(s.StopBudget),
		Waits: s.Waits, Listener: s.Listener, Probe: s.Probe, Focus: focus}
	for _, of := range s.Sets {
		out.Sets = append(out.Sets, lifecycle.Key{Type: of}.Short())
	}
	if s.Ranked {
		rank := s.Rank
		out.Rank = &rank
	}
	return out
}

// duration writes "1m" where Go writes "1m0s".
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func describeConstructor(p *lifecycle.Plan, c *lifecycle.Constructor, focus bool) Constructor {
	out := Constructor{ID: c.ID, Component: c.Component, Package: c.Package, Pos: c.Pos(), Focus: focus, Takes: takes(p, c)}
	for _, r := range c.Results {
		switch r.Role {
		case lifecycle.RoleStep, lifecycle.RolePeek, lifecycle.RoleGate: // steps stand below, the three readers are one
		case lifecycle.RoleLoaded:
			out.Gives = append(out.Gives, Give{"published", lifecycle.Key{Type: r.Of}.Short()})
		case lifecycle.RoleSlot:
			out.Gives = append(out.Gives, Give{"slot", lifecycle.Key{Type: r.Of}.Short()})
		case lifecycle.RoleGroup:
			out.Gives = append(out.Gives, Give{"group", r.Key.Short()})
		default:
			out.Gives = append(out.Gives, Give{"value", r.Key.Short()})
		}
	}
	for _, s := range c.Steps {
		out.Steps = append(out.Steps, s.Name)
	}
	return out
}

// takes lists what a constructor takes, sorted by kind and value.
func takes(p *lifecycle.Plan, c *lifecycle.Constructor) []Take {
	var out []Take
	for _, param := range c.Params {
		t := Take{Kind: lifecycle.Needs, Value: param.Key.Short(), From: []string{}}
		switch param.Role {
		case lifecycle.RoleGroup:
			t.Kind = lifecycle.Contributes
		case lifecycle.RoleLoaded:
			t.Kind = lifecycle.Reads
		case lifecycle.RolePeek:
			t.Kind = lifecycle.Peeks
		case lifecycle.RoleGate:
			t.Kind = lifecycle.Gates
		}
		if t.Kind == lifecycle.Reads || t.Kind == lifecycle.Peeks || t.Kind == lifecycle.Gates {
			t.Value = lifecycle.Key{Type: param.Of}.Short()
			if setter, _ := p.Graph.Setter(param.Of); setter != nil {
				t.SetBy = setter.Name
			}
		}
		for _, from := range p.Graph.Providers(param.Key) {
			if !slices.Contains(t.From, from.ID) {
				t.From = append(t.From, from.ID)
			}
		}
		slices.Sort(t.From)
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Take) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value)) })
	return out
}

// reverse turns the order of starting into that of stopping.
func (d *Document) reverse() {
	d.Direction = "stop"
	slices.Reverse(d.Phases)
	for _, p := range d.Phases {
		slices.Reverse(p.Steps)
	}
	for i, o := range d.Order {
		d.Order[i].Before, d.Order[i].After = o.After, o.Before
	}
	slices.SortFunc(d.Order, func(a, b Order) int { return cmp.Or(cmp.Compare(a.After, b.After), cmp.Compare(a.Before, b.Before)) })
}

// flowsBesides gives the flows between steps that no order connects directly: for formats in which both would be
// drawn between the same two boxes.
func (d *Document) flowsBesides() []Flow {
	return slices.DeleteFunc(slices.Clone(d.Flows), func(f Flow) bool {
		return slices.ContainsFunc(d.Order, func(o Order) bool {
			return o.Before == f.From && o.After == f.To || o.Before == f.To && o.After == f.From
		})
	})
}

// stepCount counts the steps that are shown.
func (d *Document) stepCount() int {
	n := 0
	for _, p := range d.Phases {
		n += len(p.Steps)
	}
	return n
}
