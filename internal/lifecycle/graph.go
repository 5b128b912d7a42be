package lifecycle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Graph is what a list of components says without running anything.
type Graph struct {
	// Components in the order of their names.
	Components []Component
	// Constructors in the order of component and name.
	Constructors []*Constructor
	// Malformed are faults found while reading the list, such as an entry that is not a function.
	Malformed []Violation

	providers map[Key][]*Constructor
	slots     map[reflect.Type]*slotInfo
	steps     []*StepInfo          // by phase and name
	byName    map[string]*StepInfo // the first one of a name that is not unique
}

// Constructor is one constructor of a component.
type Constructor struct {
	// ID is "component/function", unique in the graph.
	ID        string
	Component string
	// Func is the function's name without its package.
	Func string
	// Package is the import path of the function.
	Package string
	// File and Line say where it is written; File is relative to the module where that is known.
	File    string
	Line    int
	Params  []Param
	Results []Result
	Steps   []*StepInfo

	fn     any
	edited bool   // by Edit
	symbol string // the function's name as the linker and fx know it
}

// Pos gives "file:line", or the package of a method value, whose line is not known.
func (c *Constructor) Pos() string {
	if c.Line == 0 {
		return c.File
	}
	return fmt.Sprintf("%s:%d", c.File, c.Line)
}

// Role is the part that a parameter or result plays.
type Role uint8

const (
	// RoleValue is an ordinary value; taking one is the edge "needs".
	RoleValue Role = iota
	// RoleGroup is a value group; its edge is "contributes".
	RoleGroup
	// RoleStep is a step.
	RoleStep
	// RoleSlot is the write side of a slot.
	RoleSlot
	// RoleLoaded reads a slot's value and orders; its edge is "reads".
	RoleLoaded
	// RolePeek looks at a slot; its edge is "peeks".
	RolePeek
	// RoleGate waits for a slot; its edge is "gates".
	RoleGate
)

// Key identifies a value as fx does: by type and name, or by type and group.
type Key struct {
	Type  reflect.Type
	Name  string
	Group string
}

// String gives the type with its full path, and name or group in brackets.
func (k Key) String() string {
	s := typeName(k.Type)
	if k.Name != "" {
		s += "[name=" + k.Name + "]"
	}
	if k.Group != "" {
		s += "[group=" + k.Group + "]"
	}
	return s
}

// Short gives the type with package names instead of paths.
func (k Key) Short() string {
	s := shortType(typeName(k.Type))
	if k.Name != "" {
		s += " " + k.Name
	}
	if k.Group != "" {
		s += " group " + k.Group
	}
	return s
}

// Param is one thing that a constructor takes.
type Param struct {
	// Field is the parameter's position ("arg 0") or its field in an fx.In struct.
	Field    string
	Key      Key
	Role     Role
	Of       reflect.Type // the T of a slot or its readers
	Optional bool
}

// Result is one thing that a constructor gives.
type Result struct {
	// Field is its path in an fx.Out struct, or its position ("result 0").
	Field string
	Key   Key
	Role  Role
	Of    reflect.Type
}

// StepInfo is a step as its tags declare it.
type StepInfo struct {
	Name        string
	Component   string
	Constructor *Constructor
	Field       string
	// Index is its place among the steps of its constructor.
	Index      int
	Phase      Phase
	Budget     time.Duration
	StopBudget time.Duration
	// Sets are the types of the slots that it sets.
	Sets     []reflect.Type
	setsTag  string
	Waits    string
	Listener string
	Probe    string
	Rank     int
	Ranked   bool
}

type slotInfo struct {
	owner  *Constructor // publishes the readers
	loaded reflect.Type // Loaded[T]
	field  string
	setter *StepInfo
}

// EdgeKind is the kind of an edge between constructors or steps.
type EdgeKind string

// The kinds of edges. "precedes" edges belong to the plan.
const (
	Needs       EdgeKind = "needs"
	Reads       EdgeKind = "reads"
	Peeks       EdgeKind = "peeks"
	Gates       EdgeKind = "gates"
	Contributes EdgeKind = "contributes"
)

// Edge says that a constructor takes something that another gives.
type Edge struct {
	Kind     EdgeKind `json:"kind"`
	Consumer string   `json:"consumer"`
	Provider string   `json:"provider"`
	// Via is the value, with its full path.
	Via string `json:"via"`
}

// Edges lists every edge between constructors, sorted.
func (g *Graph) Edges() []Edge {
	var out []Edge
	for _, c := range g.Constructors {
		for _, p := range c.Params {
			for _, from := range g.providers[p.Key] {
				out = append(out, Edge{p.edgeKind(), c.ID, from.ID, p.Key.String()})
			}
		}
	}
	sortEdges(out)
	return out
}

func (p Param) edgeKind() EdgeKind {
	switch p.Role {
	case RoleGroup:
		return Contributes
	case RoleLoaded:
		return Reads
	case RolePeek:
		return Peeks
	case RoleGate:
		return Gates
	}
	return Needs
}

// orders reports whether taking the parameter puts the taker's steps after the giver's.
func (p Param) orders() bool {
	return p.Role == RoleValue || p.Role == RoleSlot || p.Role == RoleLoaded
}

// Constructor finds a constructor by ID, or gives nil.
func (g *Graph) Constructor(id string) *Constructor {
	for _, c := range g.Constructors {
		if c.ID == id {
			return c
		}
	}
	return nil
}

// Providers gives the constructors that give what the key names, sorted.
func (g *Graph) Providers(k Key) []*Constructor { return g.providers[k] }

// Setter gives the step that sets the slot of type T, and the constructor that publishes it; nil where there is none.
func (g *Graph) Setter(of reflect.Type) (*StepInfo, *Constructor) {
	if s := g.slots[of]; s != nil {
		return s.setter, s.owner
	}
	return nil, nil
}

// Steps lists all steps, sorted by phase and name.
func (g *Graph) Steps() []*StepInfo { return slices.Clone(g.steps) }

// Step finds a step by name, or gives nil.
func (g *Graph) Step(name string) *StepInfo { return g.byName[name] }

// typeName gives a type with the full import paths of what it is made of.
func typeName(t reflect.Type) string {
	if t.Name() != "" {
		if t.PkgPath() == "" {
			return t.Name()
		}
		return t.PkgPath() + "." + t.Name()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + typeName(t.Elem())
	case reflect.Slice:
		return "[]" + typeName(t.Elem())
	case reflect.Map:
		return "map[" + typeName(t.Key()) + "]" + typeName(t.Elem())
	case reflect.Chan:
		return t.ChanDir().String() + " " + typeName(t.Elem())
	}
	return t.String()
}

// shortType drops the directories from the import paths in a type name.
func shortType(s string) string {
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "[]*,() ")
		word, rest := s, ""
		if i >= 0 {
			word, rest = s[:i], s[i:]
		}
		b.WriteString(word[strings.LastIndexByte(word, '/')+1:])
		if rest == "" {
			break
		}
		b.WriteByte(rest[0])
		s = rest[1:]
	}
	return b.String()
}
