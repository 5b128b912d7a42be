package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
	"go.uber.org/zap"
)

const (
	// slowStep is what a step may take before the log calls it slow.
	slowStep = time.Second
	// sayEvery is how often the log is told what a step waits for, at the most.
	sayEvery = time.Second
	// DefaultGrace is how long a step may go on after its context has ended before it is abandoned.
	DefaultGrace = time.Second
)

var errStopped = errors.New("the application is being stopped")

// ErrInterrupted is the cause with which a start ends when the process is asked to stop.
var ErrInterrupted = errors.New("interrupted by a signal")

// Options of a Runner. The zero value is good.
type Options struct {
	// Began is when the process started, as far as is known; now if zero.
	Began time.Time
	// Grace is how long a step may go on after its context has ended; DefaultGrace if zero.
	Grace time.Duration
	// Before, if set, is called in each step's goroutine just before it starts: for tests that shuffle.
	Before func(step string)
}

// Runner starts the steps of a plan, supervises them, and stops them in the reverse order.
type Runner struct {
	plan   *Plan
	trace  *Trace
	log    *zap.Logger
	app    *fx.App
	now    func() time.Time
	grace  time.Duration
	before func(string)

	steps map[string]*running
	fatal chan error

	startCtx context.Context
	begun    map[Phase][]*running // what has to be stopped

	mu       sync.Mutex
	cancel   context.CancelCauseFunc // ends the start
	ended    chan struct{}           // closed when Start has returned; nil before Start and Stop
	stopping sync.Mutex              // held by the Stop under way
	stopErrs []error
}

// New makes the application: constructors run, in dependency order, and nothing else does. The error names every
// violation if the plan cannot be made, and otherwise the constructor that failed.
func New(components []Component, logger *zap.Logger, opts Options) (*Runner, error) {
	r := &Runner{log: logger, now: time.Now, grace: cmp.Or(opts.Grace, DefaultGrace), before: opts.Before,
		steps: map[string]*running{}, fatal: make(chan error, 1), begun: map[Phase][]*running{}}
	if opts.Began.IsZero() {
		opts.Began = r.now()
	}
	own := &startup{}
	components = append(slices.Clone(components), own.component())
	plan, violations := planOf(components)
	for _, c := range plan.Graph.Constructors {
		if c.edited {
			return nil, fmt.Errorf("constructor %s was edited: it is there to be looked at, not to be run", c.ID)
		}
	}
	if len(violations) > 0 {
		errs := []error{errors.New("the start-up graph is not sound")}
		for _, v := range violations {
			errs = append(errs, errors.New(v.String()))
		}
		return nil, errors.Join(errs...)
	}
	r.plan = plan
	r.trace = newTrace(plan, opts.Began, r.now)
	own.trace = r.trace
	log := newConstructorLog(r.trace, plan.Graph)
	r.app = fx.New(append(modules(components),
		fx.WithLogger(func() fxevent.Logger { return log }),
		// The budgets are the runner's: fx would bound all hooks of a start together, and roll back under the
		// context that has just ended.
		fx.StartTimeout(math.MaxInt64), fx.StopTimeout(math.MaxInt64),
		fx.RecoverFromPanics(),
		fx.Invoke(r.root()))...)
	if c := log.failed; c != nil {
		return nil, fmt.Errorf("constructing component %s: %s (%s): %w", c.Component, c.Func, c.Pos(), log.err)
	}
	if err := r.app.Err(); err != nil {
		return nil, fmt.Errorf("constructing the application: %w", err)
	}
	return r, nil
}

// modules makes one fx module of each component.
func modules(components []Component) []fx.Option {
	var out []fx.Option
	for _, c := range components {
		var provides []fx.Option
		for _, ctor := range c.New {
			provides = append(provides, fx.Provide(ctor))
		}
		out = append(out, fx.Module(c.Name, provides...))
	}
	return out
}

// Analyze derives the graph and the plan of components, together with the component that New adds, and gives all
// that is wrong with them. No constructor runs.
func Analyze(components []Component) (*Plan, []Violation) {
	return planOf(append(slices.Clone(components), (&startup{}).component()))
}

func planOf(components []Component) (*Plan, []Violation) {
	g := Derive(components)
	violations := g.Check()
	plan, more := MakePlan(g)
	return plan, append(violations, more...)
}

// startup is the component that New adds. It stands apart from the runner, because the admin server reads the trace
// and the runner runs the admin server.
type startup struct{ trace *Trace }

const startupName = "startup"

func (s *startup) component() Component {
	return Component{Name: startupName, For: "the trace of constructors and steps, for probes and debug pages", New: []any{s.newTrace}}
}

func (s *startup) newTrace() *Trace { return s.trace }

// root makes the one function that fx invokes. Its parameter struct is made from the plan: every step by its name,
// and the Loaded of every slot, so that the runner can see that a step has set what it said it would.
func (r *Runner) root() any {
	fields := []reflect.StructField{
		{Name: "In", Type: reflect.TypeFor[fx.In](), Anonymous: true},
		{Name: "Hooks", Type: reflect.TypeFor[fx.Lifecycle]()},
	}
	type place struct {
		info  *StepInfo
		field int
		slots []int
	}
	var places []place
	add := func(t reflect.Type, tag reflect.StructTag) int {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", len(fields)), Type: t, Tag: tag})
		return len(fields) - 1
	}
	for _, s := range r.plan.Steps {
		p := place{info: s, field: add(stepType, reflect.StructTag(fmt.Sprintf("name:%q", s.Name)))}
		for _, of := range s.Sets {
			p.slots = append(p.slots, add(r.plan.Graph.slots[of].loaded, ""))
		}
		places = append(places, p)
	}
	in := reflect.StructOf(fields)
	fn := reflect.FuncOf([]reflect.Type{in}, []reflect.Type{errorType}, false)
	return reflect.MakeFunc(fn, func(args []reflect.Value) []reflect.Value {
		var errs []error
		for _, p := range places {
			s := &running{info: p.info, step: args[0].Field(p.field).Interface().(Step), r: r, reports: make(chan struct{}, 1)}
			if s.step.Start == nil && s.step.Run == nil && s.step.Stop == nil {
				errs = append(errs, fmt.Errorf("step %s (component %s) has neither Start nor Run nor Stop", p.info.Name, p.info.Component))
			}
			if s.step.OnExit == Degrade && p.info.Probe == "" {
				errs = append(errs, fmt.Errorf("step %s (component %s) degrades its probe when its Run ends, and has none: give it the tag probe", p.info.Name, p.info.Component))
			}
			for _, i := range p.slots {
				slot := args[0].Field(i).Interface().(setting)
				if !slot.published() {
					errs = append(errs, fmt.Errorf("step %s (component %s): its constructor gives an empty Published: make it with NewSlot and Publish", p.info.Name, p.info.Component))
					continue
				}
				slot.bind(p.info.Name, p.info.Phase)
				s.slots = append(s.slots, slot)
			}
			r.steps[p.info.Name] = s
		}
		hooks := args[0].Field(1).Interface().(fx.Lifecycle)
		for _, phase := range Phases() {
			hooks.Append(fx.Hook{
				OnStart: func(context.Context) error { return r.startPhase(phase) },
				OnStop:  func(context.Context) error { r.stopPhase(phase); return nil },
			})
		}
		err := reflect.New(errorType).Elem()
		if joined := errors.Join(errs...); joined != nil {
			err.Set(reflect.ValueOf(joined))
		}
		return []reflect.Value{err}
	}).Interface()
}

// Plan gives the plan that the runner follows.
func (r *Runner) Plan() *Plan { return r.plan }

// Trace gives the trace that the runner writes.
func (r *Runner) Trace() *Trace { return r.trace }

// Fatal receives the error of a Run whose end stops the process.
func (r *Runner) Fatal() <-chan error { return r.fatal }

func (r *Runner) fail(err error) {
	select {
	case r.fatal <- err:
	default: // the first one is enough
	}
}

// Start runs the steps. If one of them fails, or the context ends, everything that had started is stopped, in
// reverse and under fresh contexts, before Start returns; the error then names the step. A runner starts once.
func (r *Runner) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.mu.Lock()
	if r.ended != nil {
		r.mu.Unlock()
		return errors.New("this runner was started or stopped before: make a new one")
	}
	r.cancel, r.ended = cancel, make(chan struct{})
	r.mu.Unlock()
	defer close(r.ended)
	watched := make(chan struct{})
	var fatal error
	go func() { // a Run that fails for good while others are still starting ends the start
		defer close(watched)
		select {
		case fatal = <-r.fatal:
			cancel(fatal)
		case <-ctx.Done():
		}
	}()
	r.startCtx = ctx
	// fx's own context never ends: it would keep fx from stopping what was started.
	err := r.app.Start(context.Background())
	cancel(nil)
	<-watched
	if err != nil {
		return errors.Join(append([]error{err}, r.stopErrs...)...)
	}
	if fatal != nil { // it came too late to end the start
		r.fail(fatal)
	}
	r.trace.isReady()
	return nil
}

// Stop stops everything that has started, in reverse. A start under way ends first, as when its context does. The
// error joins what could not be stopped. It may be called more than once, and before Start, which then refuses.
func (r *Runner) Stop() error {
	r.mu.Lock()
	if r.ended == nil {
		r.ended = make(chan struct{})
		close(r.ended)
	} else if r.cancel != nil {
		r.cancel(errStopped)
	}
	r.mu.Unlock()
	<-r.ended
	r.stopping.Lock()
	defer r.stopping.Unlock()
	err := r.app.Stop(context.Background())
	return errors.Join(append([]error{err}, r.stopErrs...)...)
}

func (r *Runner) startPhase(phase Phase) error {
	if r.startCtx.Err() != nil {
		return fmt.Errorf("before phase %s: %w", phase, context.Cause(r.startCtx))
	}
	ctx, cancel := context.WithCancelCause(r.startCtx)
	defer cancel(nil)
	done := map[string]chan struct{}{} // closed when the step has started; left open when it failed
	var steps []*running
	for _, info := range r.plan.Steps {
		if info.Phase == phase {
			steps = append(steps, r.steps[info.Name])
			done[info.Name] = make(chan struct{})
			r.trace.step(info.Name, func(s *Span, now time.Duration) { s.Queued = now })
		}
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var first error
	for _, s := range steps {
		group.Go(func() {
			for _, before := range r.plan.Before(s.info.Name) {
				select {
				case <-done[before]:
				case <-ctx.Done():
					return
				}
			}
			if r.before != nil {
				r.before(s.info.Name)
			}
			if ctx.Err() != nil {
				return
			}
			r.trace.step(s.info.Name, func(span *Span, now time.Duration) { span.Ready = now })
			mu.Lock()
			r.begun[phase] = append(r.begun[phase], s)
			mu.Unlock()
			failed := s.start(ctx)
			if failed == nil {
				close(done[s.info.Name])
				return
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case first != nil: // the others only fail because that one did
				if failed.Abandoned {
					r.notStopped(failed)
				}
			case failed.Abandoned || !failed.cut: // what was cut short from outside is not why the start ends
				first = failed
				cancel(failed)
			}
		})
	}
	group.Wait()
	if first == nil && ctx.Err() != nil {
		first = fmt.Errorf("in phase %s: %w", phase, context.Cause(ctx))
	}
	if first != nil {
		// fx does not call the stop hook of the phase that failed.
		r.stopPhase(phase)
	}
	return first
}

// stopPhase stops the steps of a phase that have begun, each after those that come after it.
func (r *Runner) stopPhase(phase Phase) {
	steps := r.begun[phase]
	delete(r.begun, phase)
	done := map[string]chan struct{}{}
	for _, s := range steps {
		done[s.info.Name] = make(chan struct{})
	}
	var group sync.WaitGroup
	for _, s := range steps {
		group.Go(func() {
			defer close(done[s.info.Name])
			for _, after := range steps {
				if r.plan.Precedes(s.info.Name, after.info.Name) {
					<-done[after.info.Name]
				}
			}
			if err := s.stop(); err != nil {
				r.notStopped(err)
			}
		})
	}
	group.Wait()
}

func (r *Runner) notStopped(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopErrs = append(r.stopErrs, err)
}
