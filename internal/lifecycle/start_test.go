package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/fx"

	"github.com/meshd/meshd/internal/lifecycle"
)

func TestUnorderedStepsRunAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := make(chan struct{}), make(chan struct{})
		meet := func(mine, other chan struct{}) lifecycle.Step {
			return lifecycle.Step{Start: func(ctx context.Context) error {
				close(mine)
				select {
				case <-other:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}}
		}
		r, _ := started(t, does("a", field{`name:"a" phase:"load"`, meet(here, there)}), does("b", field{`name:"b" phase:"load"`, meet(there, here)}))
		stopped(t, r)
	})
}

func TestOrderedStepsWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h happened
		slow := func(context.Context) error { time.Sleep(time.Second); h.note("a is done"); return nil }
		r, _ := started(t,
			does("a", field{`name:"a.1" phase:"load"`, h.step("a.1", slow)}, field{`name:"a.2" phase:"load"`, h.step("a.2")}),
			does("b", field{`name:"b" phase:"preflight"`, h.step("b")}), does("c", field{`name:"c" phase:"lead"`, h.step("c")}))
		h.expect(t, "+b", "+a.1", "a is done", "+a.2", "+c")
		stopped(t, r)
		h.expect(t, "+b", "+a.1", "a is done", "+a.2", "+c", "-c", "-a.2", "-a.1", "-b")
	})
}

// A step that fails, in whatever way, ends the start: everything that had started is stopped once, in reverse; it is
// itself stopped too, unless it ignored the end of its context; the error and the last log line name it.
func TestFailingStartIsRolledBack(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	type settingOut struct {
		fx.Out
		Lazy lifecycle.Published[lazy]
		B    lifecycle.Step `name:"b.fail" phase:"load" budget:"50ms" sets:"Lazy"`
	}
	for name, tc := range map[string]struct {
		start     func(ctx context.Context, slot *lifecycle.Slot[lazy]) error
		abandoned bool
		is        error
		message   string
		state     lifecycle.State
	}{
		"an error": {start: func(context.Context, *lifecycle.Slot[lazy]) error { return errBoom }, is: errBoom,
			message: "step b.fail (component b, phase load, budget 50ms): boom", state: lifecycle.Failed},
		"a panic": {start: func(context.Context, *lifecycle.Slot[lazy]) error { panic(errBoom) }, is: errBoom,
			message: "step b.fail (component b, phase load, budget 50ms): panic: boom", state: lifecycle.Failed},
		"a panic after setting its slot": {start: func(ctx context.Context, s *lifecycle.Slot[lazy]) error { _ = s.Set(ctx, lazy{}); panic("late") },
			message: "step b.fail (component b, phase load, budget 50ms): panic: late", state: lifecycle.Failed},
		"over budget": {start: func(ctx context.Context, _ *lifecycle.Slot[lazy]) error { <-ctx.Done(); return ctx.Err() }, is: lifecycle.ErrBudget,
			message: "step b.fail (component b, phase load, budget 50ms): over budget: not started within 50ms", state: lifecycle.Failed},
		"over budget, and then a success": {start: func(ctx context.Context, s *lifecycle.Slot[lazy]) error { <-ctx.Done(); return s.Set(ctx, lazy{}) }, is: lifecycle.ErrBudget,
			message: "step b.fail (component b, phase load, budget 50ms): over budget: not started within 50ms", state: lifecycle.Failed},
		"over budget, and it says at what": {start: func(ctx context.Context, _ *lifecycle.Slot[lazy]) error {
			lifecycle.Report(ctx, "the disk")
			<-ctx.Done()
			return errors.New("reading block 7")
		}, is: lifecycle.ErrBudget,
			message: "step b.fail (component b, phase load, budget 50ms) waiting for the disk: over budget: not started within 50ms: reading block 7", state: lifecycle.Failed},
		"over budget, ignoring its context": {start: func(context.Context, *lifecycle.Slot[lazy]) error { <-release; return nil }, is: lifecycle.ErrBudget, abandoned: true,
			message: "step b.fail (component b, phase load, budget 50ms), abandoned because it ignores the end of its context: over budget: not started within 50ms", state: lifecycle.Abandoned},
		"ends without setting its slot": {start: func(context.Context, *lifecycle.Slot[lazy]) error { return nil },
			message: "it ended without setting github.com/meshd/meshd/internal/lifecycle_test.lazy (tag sets)", state: lifecycle.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			var h happened
			fail := func() settingOut {
				slot := lifecycle.NewSlot[lazy]()
				return settingOut{Lazy: slot.Publish(), B: h.step("b", func(ctx context.Context) error { return tc.start(ctx, slot) })}
			}
			r, logs := build(t, lifecycle.Options{Grace: 50 * time.Millisecond}, component("b", fail),
				does("a", field{`name:"a.1" phase:"preflight"`, h.step("a.1")}, field{`name:"a.2" phase:"admin"`, h.running("a.2", h.step("a.2"), untilDone)}),
				does("c", field{`name:"c" phase:"listen"`, h.step("c")}))
			err := r.Serve(make(chan os.Signal), func() { t.Error("exit was called") })
			want := []string{"+a.1", "+a.2", "+b", "-b", "~a.2", "-a.2", "-a.1"}
			state := lifecycle.Stopped
			if tc.abandoned {
				want, state = slices.DeleteFunc(want, func(e string) bool { return e == "-b" }), tc.state
			}
			h.expect(t, want...)
			if err == nil || !strings.HasPrefix(err.Error(), "start failed: ") || !strings.Contains(err.Error(), tc.message) {
				t.Fatalf("error %v, want %q", err, tc.message)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%v is not %v", err, tc.is)
			}
			var step *lifecycle.StepError
			if !errors.As(err, &step) || step.Step != "b.fail" || step.Abandoned != tc.abandoned {
				t.Errorf("step error %+v", step)
			}
			if message, fields := lastLine(logs); message != "ended" || fields["step"] != "b.fail" || fields["component"] != "b" || fields["budget"] != 50*time.Millisecond ||
				fields["waited_for"] == "" || !strings.Contains(fmt.Sprint(fields["error"]), tc.message) {
				t.Errorf("last line %s %v", message, fields)
			}
			if got := status(t, r, "b.fail"); got.State != state || !tc.abandoned && got.Error == "" {
				t.Errorf("state %+v", got)
			}
			if got := status(t, r, "c"); got.State != lifecycle.Pending {
				t.Errorf("state of what never started: %+v", got)
			}
			if err := r.Stop(); err != nil { // nothing is left to stop
				t.Error(err)
			}
			h.expect(t, want...)
		})
	}
}

// A step that fails cuts short those that run beside it; they are stopped too, and the error is the first one's.
func TestFailureCutsOthersShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h happened
		r, logs := build(t, lifecycle.Options{},
			does("a", field{`name:"a" phase:"load"`, h.step("a", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })}),
			does("b", field{`name:"b" phase:"load"`, h.step("b", func(context.Context) error { time.Sleep(time.Second); return errBoom })},
				field{`name:"b.after" phase:"load"`, h.step("b.after")}))
		err := r.Start(t.Context())
		if err == nil || err.Error() != "step b (component b, phase load, budget 5s): boom" {
			t.Errorf("got %v", err)
		}
		events := h.all()
		slices.Sort(events)
		if want := []string{"+a", "+b", "-a", "-b"}; !slices.Equal(events, want) {
			t.Errorf("happened %q, want %q", events, want)
		}
		if n := logs.FilterMessage("step failed").Len(); n != 1 {
			t.Errorf("%d lines say that a step failed, want the one that did", n)
		}
		if n := logs.FilterMessage("step cut short").Len(); n != 1 {
			t.Errorf("%d lines say that a step was cut short", n)
		}
	})
}

// A step that waits for something outside goes on as long as it says so: its budget bounds silence.
func TestReportsRenewTheBudget(t *testing.T) {
	reporting := func(times int, every time.Duration) func(context.Context) error {
		return func(ctx context.Context) error {
			for range times {
				select {
				case <-time.After(every):
				case <-ctx.Done():
					return ctx.Err()
				}
				lifecycle.Report(ctx, "the API server at 10.0.0.1")
			}
			<-ctx.Done()
			return ctx.Err()
		}
	}
	for name, tc := range map[string]struct {
		tags    string
		after   time.Duration
		message string
	}{
		"in a step that waits": {`name:"a" phase:"load" budget:"5s" waits:"the API server"`, 45 * time.Second,
			"step a (component a, phase load, budget 5s) waiting for the API server at 10.0.0.1: over budget: not reported within 5s"},
		"in no other step": {`name:"a" phase:"load" budget:"5s"`, 5 * time.Second,
			"step a (component a, phase load, budget 5s) waiting for the API server at 10.0.0.1: over budget: not started within 5s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				r, logs := build(t, lifecycle.Options{}, does("a", field{tc.tags, lifecycle.Step{Start: reporting(10, 4*time.Second)}}))
				err := r.Start(t.Context())
				if took := time.Since(began); took != tc.after {
					t.Errorf("failed after %v, want %v", took, tc.after)
				}
				if !errors.Is(err, lifecycle.ErrBudget) || err.Error() != tc.message {
					t.Errorf("got %v", err)
				}
				if n := logs.FilterMessage("step waits").Len(); n != 1 {
					t.Errorf("%d lines say for what it waits, want one as it never changed", n)
				}
			})
		})
	}
}

// A step that declares what it waits for is named with it, also before it has reported.
func TestDeclaredWaitIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := build(t, lifecycle.Options{}, does("a", field{`name:"a" phase:"load" budget:"3s" waits:"the signer" probe:"certs"`, lifecycle.Step{Start: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}}))
		ended := make(chan error)
		go func() { ended <- r.Start(t.Context()) }()
		synctest.Wait()
		if got := status(t, r, "a"); got.Waits != "the signer" || got.State != lifecycle.Starting || got.Probe != "certs" {
			t.Errorf("status %+v", got)
		}
		if err := <-ended; err == nil || err.Error() != "step a (component a, phase load, budget 3s) waiting for the signer: over budget: not reported within 3s" {
			t.Errorf("got %v", err)
		}
	})
}

func TestSlowStepIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(d time.Duration) lifecycle.Step {
			return lifecycle.Step{Start: func(context.Context) error { time.Sleep(d); return nil }}
		}
		r, logs := started(t, does("a", field{`name:"slow" phase:"load"`, after(1001 * time.Millisecond)}, field{`name:"quick" phase:"load"`, after(time.Second)}))
		stopped(t, r)
		slow := logs.FilterMessage("slow step").All()
		if len(slow) != 1 || slow[0].ContextMap()["step"] != "slow" || slow[0].ContextMap()["took"] != 1001*time.Millisecond {
			t.Errorf("slow steps: %v", slow)
		}
		for _, line := range logs.FilterMessage("step started").All() { // one line a step, with all that is needed
			if f := line.ContextMap(); f["component"] != "a" || f["phase"] != "load" || f["step"] == nil || f["took"] == nil {
				t.Errorf("line %v", f)
			}
		}
		if n := logs.FilterMessage("step started").Len(); n != 2 {
			t.Errorf("%d steps started", n)
		}
	})
}

func TestRunnerStartsOnce(t *testing.T) {
	r, _ := started(t)
	stopped(t, r)
	if err := r.Start(t.Context()); err == nil {
		t.Error("it started again")
	}
}

// A context that ends between two phases, or before the first, ends the start like a failure.
func TestStartEndsWithItsContext(t *testing.T) {
	var h happened
	ctx, cancel := context.WithCancelCause(t.Context())
	r, _ := build(t, lifecycle.Options{}, does("a", field{`name:"a" phase:"load"`, h.step("a", func(context.Context) error { cancel(errBoom); return nil })},
		field{`name:"b" phase:"load"`, h.step("b")}))
	if err := r.Start(ctx); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "in phase load") {
		t.Errorf("got %v", err)
	}
	h.expect(t, "+a", "-a")
	r, _ = build(t, lifecycle.Options{}, does("a", field{`name:"a" phase:"load"`, h.step("a")}))
	if err := r.Start(ctx); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "before phase preflight") {
		t.Errorf("got %v", err)
	}
	h.expect(t, "+a", "-a")
}

// A step whose turn comes when the start has failed already does not begin.
func TestNothingBeginsAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h happened
		r, _ := build(t, lifecycle.Options{Before: func(step string) {
			if step == "late" {
				time.Sleep(time.Second)
			}
		}}, does("a", field{`name:"late" phase:"load"`, h.step("late")}), does("b", field{`name:"b" phase:"load"`, h.step("b", func(context.Context) error { return errBoom })}))
		if err := r.Start(t.Context()); !errors.Is(err, errBoom) {
			t.Errorf("got %v", err)
		}
		h.expect(t, "+b", "-b")
	})
}

// A step that is abandoned beside the one that failed is named as well: it could not be stopped.
func TestAbandonedSiblingIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r, _ := build(t, lifecycle.Options{}, does("a", field{`name:"a" phase:"load"`, lifecycle.Step{Start: func(context.Context) error { <-release; return nil }}}),
			does("b", field{`name:"b" phase:"load"`, lifecycle.Step{Start: func(context.Context) error { time.Sleep(time.Second); return errBoom }}}))
		err := r.Start(t.Context())
		if !errors.Is(err, errBoom) || !strings.HasPrefix(err.Error(), "step b (") || !strings.Contains(err.Error(), "\nstep a (component a, phase load, budget 5s), abandoned") {
			t.Errorf("got %v", err)
		}
		close(release)
	})
}
