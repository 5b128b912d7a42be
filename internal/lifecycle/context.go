package lifecycle

import (
	"context"
	"fmt"
)

type contextKey struct{}

// startKey marks the context of a Start, as opposed to those of Run and Stop.
type startKey struct{}

// reader names the step that a context belongs to, for messages.
func reader(ctx context.Context) string {
	if s, ok := ctx.Value(contextKey{}).(*running); ok {
		return s.info.Name
	}
	return "code outside any step"
}

// startedAfter is an error if the context is that of the Start of a step that has to end before another one begins,
// or is the same one: the first must not wait for the second.
func startedAfter(ctx context.Context, setter string) error {
	s, ok := ctx.Value(contextKey{}).(*running)
	if !ok || ctx.Value(startKey{}) == nil || s.info.Name != setter && !s.r.plan.Precedes(s.info.Name, setter) {
		return nil
	}
	return fmt.Errorf("the start of step %s must not wait for step %s, which does not end before it: wait in its Run, or take the Loaded", s.info.Name, setter)
}

// Report says what outside the process a step is waiting for, as often as it tries. In a step with the tag waits
// each report renews the budget; elsewhere it is only shown, in the trace and in /readyz.
func Report(ctx context.Context, waitsFor string) {
	if s, ok := ctx.Value(contextKey{}).(*running); ok {
		s.report(waitsFor)
	}
}
