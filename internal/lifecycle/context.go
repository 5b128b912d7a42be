package lifecycle

import "context"

type contextKey struct{}

// reader names the step that a context belongs to, for messages.
func reader(ctx context.Context) string {
	if s, ok := ctx.Value(contextKey{}).(*running); ok {
		return s.info.Name
	}
	return "code outside any step"
}

// Report says what outside the process a step is waiting for, as often as it tries. In a step with the tag waits
// each report renews the budget; elsewhere it is only shown, in the trace and in /readyz.
func Report(ctx context.Context, waitsFor string) {
	if s, ok := ctx.Value(contextKey{}).(*running); ok {
		s.report(waitsFor)
	}
}
