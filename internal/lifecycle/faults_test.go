package lifecycle_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/lifecycle"
)

type setsLazyOut struct {
	fx.Out
	Lazy lifecycle.Published[lazy]
	S    lifecycle.Step `name:"a.set" phase:"sync" sets:"Lazy"`
}

// setting is a component that publishes a value, and a step that sets it.
func setting(readers *lifecycle.Published[lazy], start func(context.Context, *lifecycle.Slot[lazy]) error) lifecycle.Component {
	return component("a", func() setsLazyOut {
		slot := lifecycle.NewSlot[lazy]()
		*readers = slot.Publish()
		return setsLazyOut{Lazy: *readers, S: lifecycle.Step{Start: func(ctx context.Context) error { return start(ctx, slot) }}}
	})
}

// A value that is set while its step still works is not there for others before the step has started.
func TestValueIsThereWhenItsStepHasStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var readers lifecycle.Published[lazy]
		var waited time.Duration
		began := time.Now()
		r, _ := started(t, setting(&readers, func(ctx context.Context, slot *lifecycle.Slot[lazy]) error {
			if err := slot.Set(ctx, lazy{}); err != nil {
				return err
			}
			time.Sleep(time.Second)
			if _, ok := readers.Peek.TryGet(); ok {
				t.Error("a peek sees the value of a step that has not started")
			}
			return nil
		}), does("b", field{`name:"b" phase:"register"`, lifecycle.Step{Run: func(ctx context.Context) error {
			_, err := readers.Gate.Wait(ctx)
			waited = time.Since(began)
			<-ctx.Done()
			return err
		}}}))
		synctest.Wait()
		if waited != time.Second {
			t.Errorf("the gate opened after %v, before the step had started", waited)
		}
		stopped(t, r)
	})
}

// What a step that fails has set is never seen.
func TestValueOfAFailedStepIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var readers lifecycle.Published[lazy]
		r, _ := build(t, lifecycle.Options{}, setting(&readers, func(ctx context.Context, slot *lifecycle.Slot[lazy]) error {
			return errors.Join(slot.Set(ctx, lazy{}), errBoom)
		}), does("b", field{`name:"b" phase:"register"`, lifecycle.Step{Run: func(ctx context.Context) error {
			if _, err := readers.Gate.Wait(ctx); err == nil {
				t.Error("the gate opened for a step that failed")
			}
			return nil
		}}}))
		if err := r.Start(t.Context()); !errors.Is(err, errBoom) {
			t.Errorf("got %v", err)
		}
		if _, err := readers.Loaded.Get(t.Context()); !errors.Is(err, lifecycle.ErrNotLoaded) {
			t.Errorf("the value of a step that failed is read: %v", err)
		}
	})
}

// A start that waits at a gate which only a later step opens would use up its budget: it is told at once.
func TestStartDoesNotWaitForALaterStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var readers lifecycle.Published[lazy]
		began := time.Now()
		r, _ := build(t, lifecycle.Options{}, setting(&readers, func(ctx context.Context, slot *lifecycle.Slot[lazy]) error { return slot.Set(ctx, lazy{}) }),
			does("b", field{`name:"b" phase:"register" budget:"1h"`, lifecycle.Step{Start: func(ctx context.Context) error {
				_, err := readers.Gate.Wait(ctx)
				return err
			}}}))
		err := r.Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), "the start of step b must not wait for step a.set") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v to say so", took)
		}
	})
}

// A step whose end is unordered, or earlier, may be waited for.
func TestStartWaitsForAnEarlierStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var readers lifecycle.Published[lazy]
		wait := func(ctx context.Context) error { _, err := readers.Gate.Wait(ctx); return err }
		r, _ := started(t, setting(&readers, func(ctx context.Context, slot *lifecycle.Slot[lazy]) error {
			time.Sleep(time.Second)
			return slot.Set(ctx, lazy{})
		}), does("b", field{`name:"b.beside" phase:"sync"`, lifecycle.Step{Start: wait}}), does("c", field{`name:"c.after" phase:"listen"`, lifecycle.Step{Start: wait}}))
		stopped(t, r)
	})
}

// The log tells what a step waits for now: once a second at the most, and not never.
func TestLogTellsTheLatestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := started(t, does("a", field{`name:"a" phase:"load" waits:"peers"`, lifecycle.Step{Start: func(ctx context.Context) error {
			for _, what := range []string{"one", "two", "two", "two", "two"} {
				lifecycle.Report(ctx, what)
				time.Sleep(600 * time.Millisecond)
			}
			return nil
		}}}))
		stopped(t, r)
		var said []string
		for _, line := range logs.FilterMessage("step waits").All() {
			said = append(said, line.ContextMap()["for"].(string))
		}
		if want := []string{"one", "two"}; !slices.Equal(said, want) {
			t.Errorf("the log said %q, want %q", said, want)
		}
	})
}

// When a Run ends the start, the last word is about it, and not about a step that was cut short by that.
func TestLastWordIsAboutTheRunThatEndedTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := build(t, lifecycle.Options{},
			does("a", field{`name:"a" phase:"load"`, lifecycle.Step{Run: func(context.Context) error { time.Sleep(time.Second); return errBoom }}}),
			does("b", field{`name:"b" phase:"sync"`, lifecycle.Step{Start: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}}))
		err := r.Serve(nil, func() { t.Error("exit was called") })
		if want := "start failed: in phase sync: run of step a (component a) ended: boom"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		if message, fields := lastLine(logs); message != "ended" || fields["step"] != nil {
			t.Errorf("last line %s %v", message, fields)
		}
	})
}

// What goes wrong in a Run while it is being stopped is said, and Stop is called all the same.
func TestRunThatFailsWhileItIsStopped(t *testing.T) {
	for name, tc := range map[string]struct {
		run     func(context.Context) error
		message string
	}{
		"a panic":                      {func(context.Context) error { panic("late") }, "its run ended with: panic: late"},
		"a failure":                    {func(context.Context) error { return errBoom }, "its run ended with: boom"},
		"the end of its context":       {func(ctx context.Context) error { return ctx.Err() }, ""},
		"why its context has ended":    {func(ctx context.Context) error { return context.Cause(ctx) }, ""},
		"nothing, as it was asked for": {func(context.Context) error { return nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h happened
				r, _ := started(t, does("a", field{`name:"a" phase:"load"`, h.running("a", h.step("a"), func(ctx context.Context) error { <-ctx.Done(); return tc.run(ctx) })}))
				err := r.Stop()
				if tc.message == "" && err != nil || tc.message != "" && (err == nil || !strings.HasSuffix(err.Error(), tc.message)) {
					t.Errorf("got %v, want %q", err, tc.message)
				}
				h.expect(t, "+a", "~a", "-a")
			})
		})
	}
}

// Stop while the start is under way ends it, and everything that began is stopped once; so do many at once.
func TestStopDuringStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h happened
		r, _ := build(t, lifecycle.Options{}, does("a", field{`name:"a" phase:"load"`, h.running("a", h.step("a"), untilDone)}),
			does("b", field{`name:"b" phase:"sync"`, h.step("b", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })}),
			does("c", field{`name:"c" phase:"listen"`, h.step("c")}))
		ended := make(chan error)
		go func() { ended <- r.Start(t.Context()) }()
		synctest.Wait()
		stops := make(chan error)
		for range 3 {
			go func() { stops <- r.Stop() }()
		}
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "is being stopped") {
			t.Errorf("start: %v", err)
		}
		for range 3 {
			if err := <-stops; err != nil {
				t.Errorf("stop: %v", err)
			}
		}
		h.expect(t, "+a", "+b", "-b", "~a", "-a")
	})
}

func TestNoStartAfterStop(t *testing.T) {
	var h happened
	r, _ := build(t, lifecycle.Options{}, does("a", field{`name:"a" phase:"load"`, h.step("a")}))
	stopped(t, r)
	if err := r.Start(t.Context()); err == nil {
		t.Error("it started after it was stopped")
	}
	h.expect(t)
}

// A step that would turn its probe to "not ready" and has none would end without anybody noticing.
func TestDegradeNeedsAProbe(t *testing.T) {
	_, err := lifecycle.New([]lifecycle.Component{does("a", field{`name:"a" phase:"load"`, lifecycle.Step{Run: untilDone, OnExit: lifecycle.Degrade}})}, zap.NewNop(), lifecycle.Options{})
	if err == nil || !strings.Contains(err.Error(), "step a (component a) degrades its probe") {
		t.Errorf("got %v", err)
	}
}
