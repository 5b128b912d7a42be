package lifecycle_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meshd/meshd/internal/lifecycle"
)

// Stop means: end Run, await it, and only then call Stop.
func TestRunIsAwaitedBeforeStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h happened
		r, logs := started(t, does("a", field{`name:"a" phase:"load"`, h.running("a", h.step("a"), func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second) // what it has in hand
			return nil
		})}))
		stopped(t, r)
		h.expect(t, "+a", "~a", "-a")
		if n := logs.FilterMessage("run ended").Len(); n != 0 {
			t.Errorf("%d lines complain of a run that ended when it was asked to", n)
		}
		select {
		case err := <-r.Fatal():
			t.Errorf("fatal: %v", err)
		default:
		}
		stopped(t, r) // a second time does nothing
		h.expect(t, "+a", "~a", "-a")
	})
}

func TestStopWithoutStart(t *testing.T) {
	var h happened
	r, _ := build(t, lifecycle.Options{}, does("a", field{`name:"a" phase:"load"`, h.step("a")}))
	stopped(t, r)
	h.expect(t)
}

// A stop that fails, panics or hangs is named, and does not keep those after it from being stopped.
func TestStopGoesOn(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	within := "over budget: not stopped within 50ms"
	for name, tc := range map[string]struct {
		stop, run func(context.Context) error
		message   string
	}{
		"a failure":          {stop: func(context.Context) error { return errBoom }, message: "boom"},
		"a panic":            {stop: func(context.Context) error { panic("oh no") }, message: "panic: oh no"},
		"a stop over budget": {stop: func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, message: within},
		"a stop that hangs":  {stop: func(context.Context) error { <-release; return nil }, message: within},
		"a run that goes on": {run: func(context.Context) error { <-release; return nil }, stop: func(context.Context) error { t.Error("stopped while it runs"); return nil }, message: "its run ignores the end of its context: " + within},
	} {
		t.Run(name, func(t *testing.T) {
			var h happened
			r, logs := build(t, lifecycle.Options{Grace: 10 * time.Millisecond},
				does("a", field{`name:"a" phase:"load"`, h.step("a")}), does("c", field{`name:"c" phase:"listen"`, h.step("c")}),
				does("b", field{`name:"b.1" phase:"sync"`, h.step("b.1")}, field{`name:"b.2" phase:"sync" stop:"50ms"`, lifecycle.Step{Run: tc.run, Stop: tc.stop}}))
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			err := r.Stop()
			if want := "step b.2 (component b, phase sync, budget 50ms): " + tc.message; err == nil || err.Error() != want {
				t.Errorf("got %v, want %v", err, want)
			}
			h.expect(t, "+a", "+b.1", "+c", "-c", "-b.1", "-a")
			if got := status(t, r, "b.2"); got.State != lifecycle.Abandoned || !strings.Contains(got.Error, tc.message) {
				t.Errorf("status %+v", got)
			}
			if n := logs.FilterMessage("step not stopped").Len(); n != 1 {
				t.Errorf("%d lines say that a step was not stopped", n)
			}
		})
	}
}

// Each stop has a context of its own, with its own budget, and time for those that heed it to say what was wrong.
func TestStopsHaveFreshContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := map[string]time.Duration{}
		watch := func(name string, err error) lifecycle.Step {
			return lifecycle.Step{Stop: func(ctx context.Context) error {
				deadline, _ := ctx.Deadline()
				left[name] = time.Until(deadline)
				if err != nil {
					<-ctx.Done()
				}
				return err
			}}
		}
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := build(t, lifecycle.Options{}, does("a", field{`name:"a" phase:"load"`, watch("a", nil)}, field{`name:"b" phase:"load" stop:"40s"`, watch("b", errBoom)}),
			does("c", field{`name:"c" phase:"sync"`, lifecycle.Step{Start: func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() }}}))
		err := r.Start(ctx)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "step b (component a, phase load, budget 40s): boom") {
			t.Errorf("got %v", err)
		}
		if left["a"] != lifecycle.DefaultBudget || left["b"] != 40*time.Second {
			t.Errorf("the stops had %v", left)
		}
	})
}

// Stops that are not ordered run at the same time, and the others exactly in reverse.
func TestStopIsTheReverse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		for _, name := range toySteps {
			j.stop[name] = func(context.Context) error { time.Sleep(time.Second); j.note("gone " + name); return nil }
		}
		r, _ := started(t, toy(j)...)
		began := time.Now()
		stopped(t, r)
		if took := time.Since(began); took != 14*time.Second {
			t.Errorf("stopping took %v, want as long as the longest chain of the plan", took)
		}
		stops, gone := j.noted("stop"), j.noted("gone")
		if len(stops) != len(toySteps) {
			t.Fatalf("%d stops of %d steps", len(stops), len(toySteps))
		}
		for _, a := range toySteps {
			for _, b := range toySteps {
				if r.Plan().Precedes(a, b) && !before(j, "gone "+b, "stop "+a) {
					t.Errorf("%s stops before %s has, which comes after it: %q %q", a, b, stops, gone)
				}
			}
		}
	})
}

// before tells whether one event was noted before another, and both were noted once.
func before(j *journal, first, second string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	count := func(e string) (n int) {
		for _, other := range j.events {
			if other == e {
				n++
			}
		}
		return n
	}
	return count(first) == 1 && count(second) == 1 && slices.Index(j.events, first) < slices.Index(j.events, second)
}
