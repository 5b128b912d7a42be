package lifecycle_test

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/dig"
	"go.uber.org/fx"
	"go.uber.org/fx/fxevent"
	"go.uber.org/goleak"
)

// These tests pin what fx does and the runner relies on, or works around. When one fails after an upgrade, its name
// says what to look at in New, startPhase or constructorLog.

type hooksApp struct {
	events []string
	app    *fx.App
}

// hooked makes an application with three hooks; the functions may be nil.
func hooked(start, stop func(ctx context.Context, hook string) error) *hooksApp {
	h := &hooksApp{}
	h.app = fx.New(fx.NopLogger, fx.StartTimeout(math.MaxInt64), fx.StopTimeout(math.MaxInt64), fx.Invoke(func(l fx.Lifecycle) {
		for _, name := range []string{"a", "b", "c"} {
			l.Append(fx.Hook{
				OnStart: func(ctx context.Context) error {
					h.events = append(h.events, "start "+name)
					if start != nil {
						return start(ctx, name)
					}
					return nil
				},
				OnStop: func(ctx context.Context) error {
					h.events = append(h.events, "stop "+name)
					if stop != nil {
						return stop(ctx, name)
					}
					return nil
				},
			})
		}
	}))
	return h
}

func (h *hooksApp) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(h.events, want) {
		t.Errorf("events %q, want %q", h.events, want)
	}
}

func TestFxContract_HooksRunOneAfterAnotherAndStopInReverse(t *testing.T) {
	h := hooked(nil, nil)
	if err := errors.Join(h.app.Err(), h.app.Start(t.Context()), h.app.Stop(t.Context())); err != nil {
		t.Fatal(err)
	}
	h.expect(t, "start a", "start b", "start c", "stop c", "stop b", "stop a")
}

// The runner therefore stops the phase that failed itself.
func TestFxContract_FailedHookIsNotStoppedAndThoseBeforeItAre(t *testing.T) {
	h := hooked(func(_ context.Context, hook string) error {
		if hook == "b" {
			return errBoom
		}
		return nil
	}, nil)
	if err := h.app.Start(t.Context()); !errors.Is(err, errBoom) {
		t.Fatal(err)
	}
	h.expect(t, "start a", "start b", "stop a")
	if err := h.app.Stop(t.Context()); err != nil { // a later stop does nothing
		t.Error(err)
	}
	h.expect(t, "start a", "start b", "stop a")
}

// The runner therefore starts fx under a context that never ends.
func TestFxContract_RollBackUnderAnEndedContextStopsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan struct{})
	h := hooked(func(ctx context.Context, hook string) error {
		if hook == "b" {
			defer close(returned)
			cancel()
			return ctx.Err()
		}
		return nil
	}, nil)
	if err := h.app.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	<-returned
	goleak.VerifyNone(t) // fx's own goroutine has ended too
	if err := h.app.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if slices.Contains(h.events, "stop a") {
		t.Error("fx stops what had started after all: the work-around may go")
	}
}

func TestFxContract_StopGoesOnAfterAnError(t *testing.T) {
	h := hooked(nil, func(_ context.Context, hook string) error { return errors.New(hook + " does not stop") })
	if err := h.app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.app.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "a does not stop") || !strings.Contains(err.Error(), "c does not stop") {
		t.Error(err)
	}
	h.expect(t, "start a", "start b", "start c", "stop c", "stop b", "stop a")
}

// The runner's own budgets are the only ones: fx bounds a start only by the context that it is given.
func TestFxContract_TimeoutsDoNotBoundStart(t *testing.T) {
	var deadline bool
	app := fx.New(fx.NopLogger, fx.StartTimeout(time.Nanosecond), fx.Invoke(func(l fx.Lifecycle) {
		l.Append(fx.StartHook(func(ctx context.Context) { _, deadline = ctx.Deadline() }))
	}))
	if err := app.Start(context.Background()); err != nil || deadline {
		t.Errorf("deadline %v, error %v", deadline, err)
	}
	if err := app.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestFxContract_HookAppendedDuringStartIsIgnored(t *testing.T) {
	ran := false
	app := fx.New(fx.NopLogger, fx.Invoke(func(l fx.Lifecycle) {
		l.Append(fx.StartHook(func() { l.Append(fx.StartHook(func() { ran = true })) }))
	}))
	if err := errors.Join(app.Start(t.Context()), app.Stop(t.Context())); err != nil || ran {
		t.Errorf("ran %v, error %v", ran, err)
	}
}

// Start and Stop leave signals alone, and no goroutine behind: Serve takes the signals itself.
func TestFxContract_StartTakesNoSignals(t *testing.T) {
	before := goleak.IgnoreCurrent()
	app := fx.New(fx.NopLogger)
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, before)
	if err := app.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	goleak.VerifyNone(t, before)
}

// A panic in a hook ends the process, so every step is guarded by the runner.
func TestFxContract_PanicInAHookIsNotRecovered(t *testing.T) {
	if os.Getenv("PANIC_IN_HOOK") != "" {
		_ = hooked(func(context.Context, string) error { panic("in a hook") }, nil).app.Start(t.Context())
		t.Skip("recovered")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "PANIC_IN_HOOK=1")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "panic: in a hook") {
		t.Errorf("error %v\n%s", err, out)
	}
}

func TestFxContract_PanicInAConstructorIsAPanicError(t *testing.T) {
	err := fx.New(fx.NopLogger, fx.RecoverFromPanics(), fx.Provide(func() *value { panic("oh no") }), fx.Invoke(func(*value) {})).Err()
	if p := (dig.PanicError{}); !errors.As(err, &p) || p.Panic != "oh no" {
		t.Errorf("got %v", err)
	}
	err = fx.New(fx.NopLogger, fx.Provide(failing), fx.Invoke(func(*value) {})).Err()
	if dig.RootCause(err) != errBoom {
		t.Errorf("root cause %v of %v", dig.RootCause(err), err)
	}
}

// The parameter struct of the runner's one invoke is made by reflection, and tags other than fx's mean nothing to fx.
func TestFxContract_StepsReachAnInvokeMadeByReflection(t *testing.T) {
	type out struct {
		fx.Out
		A int `name:"a" phase:"load" budget:"5s" sets:"X" anything:"else"`
		B int `name:"b"`
	}
	in := reflect.StructOf([]reflect.StructField{
		{Name: "In", Type: reflect.TypeFor[fx.In](), Anonymous: true},
		{Name: "F1", Type: reflect.TypeFor[int](), Tag: `name:"b"`}, {Name: "F2", Type: reflect.TypeFor[int](), Tag: `name:"a"`},
	})
	var got []int64
	fn := reflect.MakeFunc(reflect.FuncOf([]reflect.Type{in}, nil, false), func(args []reflect.Value) []reflect.Value {
		got = append(got, args[0].Field(1).Int(), args[0].Field(2).Int())
		return nil
	}).Interface()
	err := fx.New(fx.NopLogger, fx.Provide(func() out { return out{A: 1, B: 2} }), fx.Invoke(fn)).Err()
	if err != nil || !slices.Equal(got, []int64{2, 1}) {
		t.Errorf("got %v, error %v", got, err)
	}
}

func TestFxContract_ANameGivenTwiceIsAnError(t *testing.T) {
	type out struct {
		fx.Out
		A int `name:"a"`
	}
	err := fx.New(fx.NopLogger, fx.Module("x", fx.Provide(func() (o out) { return o })), fx.Module("y", fx.Provide(func() (o out) { return o }))).Err()
	if err == nil || !strings.Contains(err.Error(), "already provided") {
		t.Errorf("got %v", err)
	}
}

// A nested result struct gives its fields as if they stood in the outer one: Published is one.
func TestFxContract_NestedResultsAreGiven(t *testing.T) {
	type inner[T any] struct {
		fx.Out
		V T
	}
	type outer struct {
		fx.Out
		Inner inner[int]
		Also  inner[string]
	}
	got := ""
	err := fx.New(fx.NopLogger, fx.Provide(func() outer { return outer{Inner: inner[int]{V: 1}, Also: inner[string]{V: "x"}} }),
		fx.Invoke(func(i int, s string) { got = strings.Repeat(s, i) })).Err()
	if err != nil || got != "x" {
		t.Errorf("got %q, error %v", got, err)
	}
}

func TestFxContract_ConstructorsRunOnceInOrderOfNeedAndOnlyIfNeeded(t *testing.T) {
	var ran []string
	note := func(s string) int { ran = append(ran, s); return 0 }
	type (
		a int
		b int
		c int
		d int
	)
	err := fx.New(fx.NopLogger, fx.Provide(
		func(a) b { return b(note("b")) }, func() a { return a(note("a")) }, func(a) c { return c(note("c")) }, func() d { return d(note("d")) },
	), fx.Invoke(func(c, b) {}), fx.Invoke(func(a) {})).Err()
	if err != nil || !slices.Equal(ran, []string{"a", "c", "b"}) {
		t.Errorf("ran %q, error %v", ran, err)
	}
}

// Order never comes from a group: what fx hands out is shuffled at every read.
func TestFxContract_GroupsAreShuffled(t *testing.T) {
	type out struct {
		fx.Out
		Members []int `group:"members,flatten"`
	}
	type in struct {
		fx.In
		Members []int `group:"members"`
	}
	members := make([]int, 50)
	for i := range members {
		members[i] = i
	}
	var one, two []int
	err := fx.New(fx.NopLogger, fx.Provide(func() out { return out{Members: members} }),
		fx.Invoke(func(i in) { one = i.Members }, func(i in) { two = i.Members })).Err()
	if err != nil || len(one) != 50 || slices.Equal(one, two) || slices.IsSorted(one) {
		t.Errorf("one %v, two %v, error %v", one, two, err)
	}
}

// What fx leaves unsaid, so that Check has to say it.
func TestFxContract_SilentAboutWhatNobodyNeeds(t *testing.T) {
	type out struct {
		fx.Out
		V value `group:"membres"`
	}
	type in struct {
		fx.In
		V []value `group:"members"`
		O *other  `optional:"true"`
	}
	err := fx.ValidateApp(fx.NopLogger, fx.Provide(func() (o out) { return o }, func(*lazy) *value { panic("ran") }, func(*value) *other { panic("ran") }), fx.Invoke(func(in) {}))
	if err != nil {
		t.Errorf("fx finds it by itself now: %v", err)
	}
}

type eventLog []fxevent.Event

func (l *eventLog) LogEvent(e fxevent.Event) { *l = append(*l, e) }

// The trace finds constructors by the module and function that fx's events name.
func TestFxContract_RunEventsNameModuleAndFunction(t *testing.T) {
	var log eventLog
	j := newJournal()
	err := fx.New(fx.WithLogger(func() fxevent.Logger { return &log }), fx.RecoverFromPanics(),
		fx.Module("one", fx.Provide(j.self, newConfig)), fx.Module("two", fx.Provide(newPage[*toyConfig], failing, func() *other { panic("oh no") })),
		fx.Invoke(func(struct {
			fx.In
			Pages []toyPage `group:"pages"`
		}) {
		}), fx.Invoke(func(*value) {})).Err()
	if err == nil {
		t.Error("the failing constructor did not fail")
	}
	var got []string
	for _, e := range log {
		if run, ok := e.(*fxevent.Run); ok {
			text := run.ModuleName + " " + strings.ReplaceAll(run.Name, "github.com/meshd/meshd/internal/", "")
			if run.Err != nil {
				text += " failed"
			}
			got = append(got, text)
		}
	}
	want := []string{"one lifecycle_test.(*journal).self-fm()", "one lifecycle_test.newConfig()", "two lifecycle_test.newPage[...]()", "two lifecycle_test.failing() failed"}
	got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, " ") })
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFxContract_PanickingConstructorHasARunEvent(t *testing.T) {
	var log eventLog
	_ = fx.New(fx.WithLogger(func() fxevent.Logger { return &log }), fx.RecoverFromPanics(),
		fx.Module("m", fx.Provide(func() *other { panic("oh no") })), fx.Invoke(func(*other) {}))
	for _, e := range log {
		if run, ok := e.(*fxevent.Run); ok && run.ModuleName == "m" {
			if p := (dig.PanicError{}); !errors.As(run.Err, &p) {
				t.Errorf("the event's error is %v", run.Err)
			}
			return
		}
	}
	t.Error("no event")
}

// Only the graph that fx draws before anything runs is comparable with the derived one.
func TestFxContract_TheGraphIsThereBeforeAnyConstructorRuns(t *testing.T) {
	seen := errors.New("seen")
	var dot fx.DotGraph
	err := fx.New(fx.NopLogger, fx.Module("first", fx.Invoke(func(g fx.DotGraph) error { dot = g; return seen })),
		fx.Module("m", fx.Provide(func() *other { panic("ran") }), fx.Invoke(func(*other) {}))).Err()
	if !errors.Is(err, seen) || !strings.Contains(string(dot), "*lifecycle_test.other") {
		t.Errorf("error %v, graph\n%s", err, dot)
	}
}
