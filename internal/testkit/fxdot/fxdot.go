// Package fxdot shows a list of components as fx itself sees it, so that tests can hold the graph that lifecycle
// derives by reflection equal to what fx would wire. No constructor runs.
package fxdot

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.uber.org/fx"

	"github.com/meshd/meshd/internal/lifecycle"
)

// Edge says that a constructor takes or gives a value.
type Edge struct {
	// Constructor is the function with the import path of its package.
	Constructor string
	// Kind is "takes", "takes optionally" or "gives".
	Kind string
	// Value is the type as reflect writes it, with name or group.
	Value string
}

// String gives the edge in one line.
func (e Edge) String() string { return e.Constructor + " " + e.Kind + " " + e.Value }

// errSeen ends the building of the application as soon as fx has handed out its graph.
var errSeen = errors.New("the graph has been seen")

// Edges gives the edges between constructors and types as fx draws them, sorted. It fails where fx refuses the
// list while it is read, for example because two constructors give the same type.
func Edges(components []lifecycle.Component) ([]Edge, error) {
	var dot fx.DotGraph
	// The invoke stands in a module that comes first: it fails before any other could need a constructor.
	options := []fx.Option{fx.Module("fxdot", fx.Invoke(func(g fx.DotGraph) error { dot = g; return errSeen }))}
	for _, c := range components {
		var provides []fx.Option
		for _, ctor := range c.New {
			provides = append(provides, fx.Provide(ctor))
		}
		options = append(options, fx.Module(c.Name, provides...))
	}
	if err := fx.New(append(options, fx.NopLogger)...).Err(); !errors.Is(err, errSeen) {
		return nil, fmt.Errorf("fx refuses the components: %w", err)
	}
	return parse(string(dot))
}

// Derived gives the same edges as lifecycle derives them, sorted.
func Derived(components []lifecycle.Component) []Edge {
	var out []Edge
	for _, c := range lifecycle.Derive(components).Constructors {
		name := c.Package + "." + c.Func
		for _, p := range c.Params {
			kind := "takes"
			if p.Optional {
				kind = "takes optionally"
			}
			out = append(out, Edge{name, kind, value(p.Key)})
		}
		for _, r := range c.Results {
			out = append(out, Edge{name, "gives", value(r.Key)})
		}
	}
	return sorted(out)
}

// Diff compares both views and gives a line for each edge that only one of them has; empty if they are equal.
func Diff(components []lifecycle.Component) (string, error) {
	theirs, err := Edges(components)
	if err != nil {
		return "", err
	}
	count := map[Edge]int{}
	for _, e := range theirs {
		count[e]++
	}
	for _, e := range Derived(components) {
		count[e]--
	}
	var lines []string
	for e, n := range count {
		switch {
		case n > 0:
			lines = append(lines, "only fx has:        "+e.String())
		case n < 0:
			lines = append(lines, "only lifecycle has: "+e.String())
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

func value(k lifecycle.Key) string {
	switch {
	case k.Name != "":
		return fmt.Sprintf("%v[name=%s]", k.Type, k.Name)
	case k.Group != "":
		return fmt.Sprintf("%v[group=%s]", k.Type, k.Group)
	}
	return k.Type.String()
}

const quoted = `("(?:[^"\\]|\\.)*")`

var (
	clusterLine = regexp.MustCompile(`^\tsubgraph (cluster_\d+) \{$`)
	packageLine = regexp.MustCompile(`^\t\tlabel = ` + quoted + `;$`)
	nameLine    = regexp.MustCompile(`^\t\tconstructor_\d+ \[shape=plaintext label=` + quoted + `\];$`)
	resultLine  = regexp.MustCompile(`^\t\t` + quoted + ` \[.*\];$`)
	paramLine   = regexp.MustCompile(`^\tconstructor_\d+ -> ` + quoted + ` \[ltail=cluster_\d+( style=dashed)?\];$`)
	groupLine   = regexp.MustCompile(`^\t` + quoted + ` (\[.*\]|-> ` + quoted + `);$`)

	groupParam  = regexp.MustCompile(`^\[type=(.*) group=(.*)\]$`)
	groupResult = regexp.MustCompile(`^(.*\[group=.*\])\d+$`)
)

// parse reads the text that dig writes. A line that it does not know is an error: the text has changed then, and a
// comparison with half of it would prove nothing.
func parse(dot string) ([]Edge, error) {
	var out []Edge
	var pkg, ctor string
	add := func(kind, quotedValue string) error {
		v, err := strconv.Unquote(quotedValue)
		if err != nil {
			return fmt.Errorf("reading fx's graph: %s: %w", quotedValue, err)
		}
		if m := groupParam.FindStringSubmatch(v); m != nil {
			v = m[1] + "[group=" + m[2] + "]"
		} else if m := groupResult.FindStringSubmatch(v); m != nil {
			v = m[1]
		}
		if pkg != "go.uber.org/fx" { // what every application has: Lifecycle, Shutdowner, DotGraph
			out = append(out, Edge{pkg + "." + ctor, kind, v})
		}
		return nil
	}
	for line := range strings.Lines(dot) {
		line = strings.TrimSuffix(line, "\n")
		var err error
		switch {
		case line == "digraph {", line == "\trankdir=RL;", line == "\tgraph [compound=true];", line == "\t}", line == "}":
		case clusterLine.MatchString(line):
			pkg, ctor = "", ""
		case packageLine.MatchString(line):
			pkg, err = strconv.Unquote(packageLine.FindStringSubmatch(line)[1])
		case nameLine.MatchString(line):
			ctor, err = strconv.Unquote(nameLine.FindStringSubmatch(line)[1])
			ctor = strings.ReplaceAll(strings.TrimSuffix(ctor, "-fm"), "[...]", "")
		case resultLine.MatchString(line):
			err = add("gives", resultLine.FindStringSubmatch(line)[1])
		case paramLine.MatchString(line):
			m := paramLine.FindStringSubmatch(line)
			kind := "takes"
			if m[2] != "" {
				kind = "takes optionally"
			}
			err = add(kind, m[1])
		case groupLine.MatchString(line):
		default:
			err = fmt.Errorf("reading fx's graph: unknown line %q", line)
		}
		if err != nil {
			return nil, err
		}
	}
	return sorted(out), nil
}

func sorted(edges []Edge) []Edge {
	slices.SortFunc(edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Constructor, b.Constructor), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value))
	})
	return edges
}
