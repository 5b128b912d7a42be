package lifecycle_test

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"

	"go.uber.org/fx"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/meshd/meshd/internal/lifecycle"
)

func nop() *zap.Logger { return zap.NewNop() }

// field is a step with its tags.
type field struct {
	tags string
	step lifecycle.Step
}

// does makes a component of one constructor that gives the steps, in this order.
func does(name string, fields ...field) lifecycle.Component {
	out := []reflect.StructField{{Name: "Out", Type: reflect.TypeFor[fx.Out](), Anonymous: true}}
	for i, f := range fields {
		out = append(out, reflect.StructField{Name: "F" + strconv.Itoa(i), Type: reflect.TypeFor[lifecycle.Step](), Tag: reflect.StructTag(f.tags)})
	}
	typ := reflect.StructOf(out)
	return component(name, reflect.MakeFunc(reflect.FuncOf(nil, []reflect.Type{typ}, false), func([]reflect.Value) []reflect.Value {
		v := reflect.New(typ).Elem()
		for i, f := range fields {
			v.Field(i + 1).Set(reflect.ValueOf(f.step))
		}
		return []reflect.Value{v}
	}).Interface())
}

// happened collects what happened, in order.
type happened struct {
	mu     sync.Mutex
	events []string
}

func (h *happened) note(event string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, event)
}

func (h *happened) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

func (h *happened) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := h.all(); !slices.Equal(got, want) {
		t.Errorf("happened\n%q, want\n%q", got, want)
	}
}

// step notes "+name" when it starts, "-name" when it is stopped, and does more in Start.
func (h *happened) step(name string, more ...func(context.Context) error) lifecycle.Step {
	return lifecycle.Step{
		Start: func(ctx context.Context) error {
			h.note("+" + name)
			for _, f := range more {
				if err := f(ctx); err != nil {
					return err
				}
			}
			return nil
		},
		Stop: func(ctx context.Context) error {
			h.note("-" + name)
			return ctx.Err() // the context of a stop is fresh
		},
	}
}

// running adds a Run to a step, which notes "~name" when it has ended.
func (h *happened) running(name string, s lifecycle.Step, run func(context.Context) error) lifecycle.Step {
	s.Run = func(ctx context.Context) error {
		defer h.note("~" + name)
		return run(ctx)
	}
	return s
}

func untilDone(ctx context.Context) error { <-ctx.Done(); return nil }

// build makes the application of the components, and gives what it logs.
func build(t testing.TB, opts lifecycle.Options, cs ...lifecycle.Component) (*lifecycle.Runner, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	r, err := lifecycle.New(cs, zap.New(core), opts)
	if err != nil {
		t.Fatal(err)
	}
	return r, logs
}

// started builds and starts; the test has to stop it.
func started(t testing.TB, cs ...lifecycle.Component) (*lifecycle.Runner, *observer.ObservedLogs) {
	t.Helper()
	r, logs := build(t, lifecycle.Options{}, cs...)
	if err := r.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	return r, logs
}

func stopped(t testing.TB, r *lifecycle.Runner) {
	t.Helper()
	if err := r.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// lastLine is the last thing that was logged.
func lastLine(logs *observer.ObservedLogs) (message string, fields map[string]any) {
	all := logs.All()
	if len(all) == 0 {
		return "", nil
	}
	return all[len(all)-1].Message, all[len(all)-1].ContextMap()
}

// status finds a step in the trace.
func status(t testing.TB, r *lifecycle.Runner, step string) lifecycle.StepStatus {
	t.Helper()
	for _, s := range r.Trace().Steps() {
		if s.Name == step {
			return s
		}
	}
	t.Fatalf("no step %s in the trace", step)
	return lifecycle.StepStatus{}
}
