// Package lifecycle starts and stops an application in an order that is derived from what its constructors take.
//
// An application is a list of components, plain data. From that list, without running anything, come the graph
// (Derive), the plan (MakePlan) and, through fx, the running application (New): there is no second list. What acts
// is a Step, a value that a constructor returns; what must be known without running code stands in the tags of the
// field that returns it. A value that a step produces is read through a Loaded, a Peek or a Gate, none of which can
// be mistaken for the value itself while it is not there yet.
package lifecycle

import "context"

// Component is one part of the application.
type Component struct {
	// Name is unique, short and in lower case, for example "mesh-config".
	Name string
	// For says in one sentence what the component is for.
	For string
	// New are its constructors: plain functions that do no I/O, start no goroutine and read no clock.
	New []any
}

// Step is something that acts at start, while running, or at stop. Every function may be nil, but not all of them.
//
// The field of the fx.Out struct that returns a step carries tags:
//
//	name      unique, "component.verb"; required
//	phase     the phase it belongs to; required
//	budget    how long Start may take (5s unless given)
//	stop      how long stopping may take (5s unless given)
//	sets      the field of the component's Published value that Start must set
//	waits     what outside the process Start waits for; the budget then bounds silence between reports
//	listener  the flag of the address on which the step opens a port
//	probe     the readiness probe that the step's success answers
//	rank      orders steps of one component in one phase, where a constructor cannot
type Step struct {
	// Start must return; it runs under a context that ends when the step's budget does.
	Start func(context.Context) error
	// Run does the step's lasting work, supervised, from the moment Start has succeeded until its context ends. What it
	// returns after that is an error of the stop, unless it is nil or the context's own.
	Run func(context.Context) error
	// Stop undoes Start. It runs once, after Run has returned, also when Start failed or panicked.
	Stop func(context.Context) error
	// OnExit is what a panic in Run, or its return before it is asked to, leads to.
	OnExit Effect
}

// Effect is what the unexpected end of a Run leads to.
type Effect uint8

const (
	// StopProcess stops the application in order, and the process exits with an error.
	StopProcess Effect = iota
	// Restart runs it again after a backoff of 100 ms, doubling up to 10 s.
	Restart
	// Degrade leaves it ended and turns the step's probe, which it must have, to "not ready".
	Degrade
)

// String names the effect.
func (e Effect) String() string {
	switch e {
	case Restart:
		return "restart"
	case Degrade:
		return "degrade"
	}
	return "stop-process"
}
