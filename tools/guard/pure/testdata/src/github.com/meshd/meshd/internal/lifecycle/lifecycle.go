// Package lifecycle stands in for the real one.
package lifecycle

import "context"

type Component struct {
	Name, For string
	New       []any
}

type Step struct {
	Start, Run, Stop func(context.Context) error
}

// Copy handles constructors as values; only the assembly must show them.
func Copy(c Component) Component {
	return Component{Name: c.Name, For: c.For, New: append([]any{wrap(c.New[0])}, c.New[1:]...)}
}

func wrap(ctor any) any { return ctor }
