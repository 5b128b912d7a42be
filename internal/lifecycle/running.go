package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.uber.org/zap"
)

// ErrBudget is the cause with which the context of a step ends when its budget is used up.
var ErrBudget = errors.New("over budget")

// StepError says which step did not start or stop, what it waited for, and its budget.
type StepError struct {
	Step, Component string
	Phase           Phase
	// WaitedFor is what the step last reported, or declared, to wait for; empty if nothing outside.
	WaitedFor string
	Budget    time.Duration
	// Abandoned reports that the step did not return within the grace after its context had ended.
	Abandoned bool
	Err       error

	cut bool // by the end of the start
}

// Error gives all of it in one line.
func (e *StepError) Error() string {
	s := fmt.Sprintf("step %s (component %s, phase %s, budget %s)", e.Step, e.Component, e.Phase, e.Budget)
	if e.WaitedFor != "" {
		s += " waiting for " + e.WaitedFor
	}
	if e.Abandoned {
		s += ", abandoned because it ignores the end of its context"
	}
	return s + ": " + e.Err.Error()
}

// Unwrap gives the reason.
func (e *StepError) Unwrap() error { return e.Err }

func (e *StepError) fields() []zap.Field {
	return []zap.Field{zap.String("component", e.Component), zap.String("step", e.Step), zap.Stringer("phase", e.Phase),
		zap.String("waited_for", cmp.Or(e.WaitedFor, "nothing that it told")), zap.Duration("budget", e.Budget)}
}

// running is a step in one run of the application.
type running struct {
	info  *StepInfo
	step  Step
	slots []setting
	r     *Runner

	reports chan struct{} // a report has come in

	mu      sync.Mutex
	waits   string
	said    string                  // what the log was last told that it waits for
	saidAt  time.Time               // and when
	cancel  context.CancelCauseFunc // ends Run
	runDone chan error              // gets one value when Run has returned for good: what went wrong while it was being stopped
	left    bool                    // abandoned: it must not be stopped
	stopped sync.Once
}

func (s *running) report(waitsFor string) {
	now := s.r.now()
	s.mu.Lock()
	// Progress is news once a second: the trace and /readyz have the latest.
	news := s.said != waitsFor && now.Sub(s.saidAt) >= sayEvery
	if news {
		s.said, s.saidAt = waitsFor, now
	}
	s.waits = waitsFor
	s.mu.Unlock()
	s.r.trace.step(s.info.Name, func(span *Span, _ time.Duration) { span.Waits = waitsFor })
	if news {
		s.r.log.Info("step waits", s.fields(zap.String("for", waitsFor))...)
	}
	select {
	case s.reports <- struct{}{}:
	default:
	}
}

func (s *running) fields(more ...zap.Field) []zap.Field {
	return append([]zap.Field{zap.String("component", s.info.Component), zap.String("step", s.info.Name), zap.Stringer("phase", s.info.Phase)}, more...)
}

func (s *running) error(err error) *StepError {
	s.mu.Lock()
	defer s.mu.Unlock()
	waits := s.waits
	if waits == "" {
		waits = s.info.Waits
	}
	return &StepError{Step: s.info.Name, Component: s.info.Component, Phase: s.info.Phase, WaitedFor: waits, Budget: s.info.Budget, Abandoned: s.left, Err: err}
}

// start runs Start within the step's budget, and then leaves Run running.
func (s *running) start(ctx context.Context) *StepError {
	began := s.r.now()
	s.r.trace.step(s.info.Name, func(span *Span, now time.Duration) {
		span.State, span.Started, span.Waits = Starting, now, s.info.Waits
	})
	err := s.within(ctx)
	if err == nil {
		for i, slot := range s.slots {
			if !slot.isGiven() {
				err = fmt.Errorf("it ended without setting %s (tag sets)", typeName(s.info.Sets[i]))
			}
		}
	}
	took := s.r.now().Sub(began)
	if err != nil {
		stepErr := s.error(err)
		s.r.trace.step(s.info.Name, func(span *Span, now time.Duration) {
			span.State, span.Ended, span.Error = Failed, now, err.Error()
			if stepErr.Abandoned {
				span.State = Abandoned
			}
		})
		if ctx.Err() != nil && !errors.Is(err, ErrBudget) && !isPanic(err) { // by a signal, or because another step failed
			stepErr.cut = true
			s.r.log.Info("step cut short", s.fields(zap.Duration("took", took), zap.Bool("abandoned", stepErr.Abandoned), zap.Error(err))...)
			return stepErr
		}
		s.r.log.Error("step failed", append(stepErr.fields(), zap.Duration("took", took), zap.Error(err), stackOf(err))...)
		return stepErr
	}
	for _, slot := range s.slots {
		slot.open()
	}
	s.r.trace.step(s.info.Name, func(span *Span, now time.Duration) { span.State, span.Ended, span.Waits = Started, now, "" })
	s.r.log.Info("step started", s.fields(zap.Duration("took", took))...)
	if took > slowStep {
		s.r.log.Warn("slow step", s.fields(zap.Duration("took", took), zap.String("waited_for", s.error(nil).WaitedFor))...)
	}
	s.supervise()
	return nil
}

// within calls Start under the budget. In a step that waits for something outside, each report renews it.
func (s *running) within(ctx context.Context) error {
	if s.step.Start == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(context.WithValue(ctx, contextKey{}, s), startKey{}, true))
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- guard(func() error { return s.step.Start(ctx) }) }()
	budget := time.NewTimer(s.info.Budget)
	defer budget.Stop()
	for {
		select {
		case err := <-done:
			return causeAnd(ctx, err)
		case <-s.reports:
			if s.info.Waits != "" {
				budget.Reset(s.info.Budget)
			}
			continue
		case <-budget.C:
			what := "started"
			if s.info.Waits != "" {
				what = "reported"
			}
			cancel(fmt.Errorf("%w: not %s within %s", ErrBudget, what, s.info.Budget))
		case <-ctx.Done():
		}
		grace := time.NewTimer(s.r.grace)
		defer grace.Stop()
		select {
		case err := <-done:
			if err == nil && errors.Is(context.Cause(ctx), ErrBudget) {
				err = ctx.Err() // too late
			}
			return causeAnd(ctx, err)
		case <-grace.C:
			s.mu.Lock()
			s.left = true
			s.mu.Unlock()
			return context.Cause(ctx)
		}
	}
}

// causeAnd adds to what a function returned why its context had ended, unless that is all it says.
func causeAnd(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		if errors.Is(err, cause) {
			return err
		}
		if err == ctx.Err() {
			return cause
		}
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// supervise runs Run in a goroutine of its own until the step is stopped.
func (s *running) supervise() {
	if s.step.Run == nil {
		return
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), contextKey{}, s))
	done := make(chan error, 1)
	s.mu.Lock()
	s.cancel, s.runDone = cancel, done
	s.mu.Unlock()
	go func() {
		var late error
		defer func() { done <- late }()
		for backoff := 100 * time.Millisecond; ; backoff = min(2*backoff, 10*time.Second) {
			began := s.r.now()
			err := guard(func() error { return s.step.Run(ctx) })
			if ctx.Err() != nil {
				late = s.afterStop(ctx, err)
				return
			}
			if err == nil {
				err = errors.New("it returned before it was asked to")
			}
			err = fmt.Errorf("run of step %s (component %s) ended: %w", s.info.Name, s.info.Component, err)
			s.r.log.Error("run ended", s.fields(zap.Stringer("effect", s.step.OnExit), zap.Error(err), stackOf(err))...)
			switch s.step.OnExit {
			case StopProcess:
				s.r.fail(err)
				return
			case Degrade:
				s.r.trace.step(s.info.Name, func(span *Span, _ time.Duration) { span.State, span.Error = Degraded, err.Error() })
				return
			}
			if s.r.now().Sub(began) > 10*time.Second { // it had been well for a while
				backoff = 100 * time.Millisecond
			}
			select {
			case <-time.After(backoff):
			case <-ctx.Done():
				return
			}
		}
	}()
}

// afterStop is what is wrong with what a Run returned after it was asked to end: nothing, if that is only the end of
// its context.
func (s *running) afterStop(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)) {
		return nil
	}
	return fmt.Errorf("its run ended with: %w", err)
}

// stop ends Run, waits for it, and then calls Stop: once, under a context of its own.
func (s *running) stop() (err error) {
	s.stopped.Do(func() { err = s.stopOnce() })
	return err
}

func (s *running) stopOnce() error {
	s.mu.Lock()
	left, cancel, runDone := s.left, s.cancel, s.runDone
	s.mu.Unlock()
	if left {
		s.r.log.Warn("step not stopped: it was abandoned while starting", s.fields()...)
		return nil
	}
	began := s.r.now()
	s.r.trace.step(s.info.Name, func(span *Span, _ time.Duration) { span.State = Stopping })
	ctx, end := context.WithTimeoutCause(context.WithValue(context.Background(), contextKey{}, s), s.info.StopBudget,
		fmt.Errorf("%w: not stopped within %s", ErrBudget, s.info.StopBudget))
	defer end()
	ended, err := s.endRun(ctx, cancel, runDone)
	if ended && s.step.Stop != nil { // a Run that goes on would race with it
		err = errors.Join(err, s.callStop(ctx))
	}
	took := s.r.now().Sub(began)
	if err != nil {
		s.r.trace.step(s.info.Name, func(span *Span, _ time.Duration) { span.State, span.Error = Abandoned, err.Error() })
		s.r.log.Error("step not stopped", s.fields(zap.Duration("took", took), zap.Duration("budget", s.info.StopBudget), zap.Error(err), stackOf(err))...)
		return &StepError{Step: s.info.Name, Component: s.info.Component, Phase: s.info.Phase, Budget: s.info.StopBudget, Err: err}
	}
	s.r.trace.step(s.info.Name, func(span *Span, _ time.Duration) { span.State = Stopped })
	s.r.log.Info("step stopped", s.fields(zap.Duration("took", took))...)
	return nil
}

// endRun asks Run to end, and reports whether it has, and what went wrong with it.
func (s *running) endRun(ctx context.Context, cancel context.CancelCauseFunc, done chan error) (ended bool, err error) {
	if cancel == nil {
		return true, nil
	}
	cancel(errors.New("the step is being stopped"))
	select {
	case err := <-done:
		return true, err
	case <-ctx.Done():
		return false, fmt.Errorf("its run ignores the end of its context: %w", context.Cause(ctx))
	}
}

func (s *running) callStop(ctx context.Context) error {
	done := make(chan error, 1)
	go func() { done <- guard(func() error { return s.step.Stop(ctx) }) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select { // a stop that heeds its context gets the grace to say so
	case err := <-done:
		return err
	case <-time.After(s.r.grace):
		return context.Cause(ctx)
	}
}

// guard turns a panic into an error, so that no component takes another's work down.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	return f()
}

// panicError is a panic that was caught. The stack goes into the log, and not into messages.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// Unwrap gives the error that the panic was called with, if it was one.
func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

func isPanic(err error) bool {
	p := (*panicError)(nil)
	return errors.As(err, &p)
}

func stackOf(err error) zap.Field {
	if p := (*panicError)(nil); errors.As(err, &p) {
		return zap.ByteString("stack", p.stack)
	}
	return zap.Skip()
}
