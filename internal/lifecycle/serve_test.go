package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/meshd/meshd/internal/lifecycle"
)

// served runs the toy under Serve, in the bubble of the test, and checks that whatever began was stopped once, in
// the reverse of the plan.
func served(t *testing.T, j *journal, opts lifecycle.Options, signals chan os.Signal, hooks ...func(zapcore.Entry) error) error {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	r, err := lifecycle.New(toy(j), zap.New(core, zap.Hooks(hooks...)), opts)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Serve(signals, func() { t.Error("exit was called") })
	starts, stops := j.noted("start"), j.noted("stop")
	for _, s := range starts {
		if n := len(stops) - len(slices.DeleteFunc(slices.Clone(stops), func(other string) bool { return other == s })); n != 1 {
			t.Errorf("%s was stopped %d times", s, n)
		}
	}
	if len(stops) != len(starts) {
		t.Errorf("started %q, stopped %q", starts, stops)
	}
	for i, a := range stops {
		for _, b := range stops[i+1:] {
			if r.Plan().Precedes(a, b) {
				t.Errorf("%s was stopped before %s, which comes after it", a, b)
			}
		}
	}
	if message, _ := lastLine(logs); err == nil && message != "stopped" || err != nil && message != "ended" {
		t.Errorf("last line %q, error %v", message, err)
	}
	return err
}

func TestSignalStopsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j, signals := newJournal(), make(chan os.Signal, 1)
		j.start["ready.announce"] = func(context.Context) error {
			time.AfterFunc(time.Hour, func() { signals <- syscall.SIGTERM })
			return nil
		}
		if err := served(t, j, lifecycle.Options{}, signals); err != nil {
			t.Error(err)
		}
		if got := j.noted("start"); len(got) != len(toySteps) {
			t.Errorf("started only %q", got)
		}
	})
}

// A signal in the middle of any step's start leads to the same orderly stop, whether the step heeds its context or
// returns as if nothing had been.
func TestSignalDuringAnyStep(t *testing.T) {
	for _, heeds := range []bool{true, false} {
		for _, step := range toySteps {
			t.Run(fmt.Sprintf("%s/heeds=%v", step, heeds), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					j, signals := newJournal(), make(chan os.Signal, 1)
					j.start[step] = func(ctx context.Context) error {
						signals <- syscall.SIGTERM
						<-ctx.Done()
						if heeds {
							return ctx.Err()
						}
						return nil
					}
					if err := served(t, j, lifecycle.Options{}, signals); err != nil {
						t.Error(err)
					}
					if !slices.Contains(j.noted("stop"), step) {
						t.Errorf("%s was not stopped", step)
					}
				})
			})
		}
	}
}

// A signal at each line of the log of a start: while steps start, between two of them, between two phases.
func TestSignalAtEveryLine(t *testing.T) {
	for line := range len(toySteps) + 1 {
		for _, wait := range []bool{true, false} { // until it is taken, or just on
			t.Run(fmt.Sprintf("%d/wait=%v", line, wait), func(t *testing.T) {
				j, signals := newJournal(), make(chan os.Signal)
				if !wait {
					signals = make(chan os.Signal, 1)
				}
				var lines atomic.Int64
				send := func(e zapcore.Entry) error {
					if e.Message == "step started" && lines.Add(1) == int64(line) {
						signals <- syscall.SIGTERM
					}
					return nil
				}
				if line == 0 { // before anything
					if !wait {
						signals <- syscall.SIGTERM
					} else {
						go func() { signals <- syscall.SIGTERM }()
					}
				}
				if err := served(t, j, lifecycle.Options{}, signals, send); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestSecondSignalLeavesAtOnce(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for _, name := range []string{"while it starts", "while it stops"} {
		t.Run(name, func(t *testing.T) {
			begun, stopping := make(chan struct{}), make(chan struct{})
			step := lifecycle.Step{Start: func(context.Context) error {
				close(begun)
				if name == "while it starts" {
					<-release
				}
				return nil
			}, Stop: func(context.Context) error { close(stopping); <-release; return nil }}
			r, logs := build(t, lifecycle.Options{Grace: 20 * time.Millisecond}, does("a", field{`name:"a" phase:"load" budget:"1h" stop:"50ms"`, step}))
			signals := make(chan os.Signal)
			exited := make(chan struct{})
			ended := make(chan error, 1)
			go func() { ended <- r.Serve(signals, func() { close(exited) }) }()
			<-begun
			signals <- syscall.SIGTERM
			if name == "while it stops" {
				<-stopping
			}
			signals <- os.Interrupt
			<-exited
			if err := <-ended; err == nil || !strings.Contains(err.Error(), "step a (component a, phase load") {
				t.Errorf("what could not be stopped is no error: %v", err) // not reached in a process, where exit does not return
			}
			if n := logs.FilterMessage("second signal: leaving without an orderly stop").Len(); n != 1 {
				t.Errorf("%d lines", n)
			}
		})
	}
}

// A step that a signal cannot end is abandoned after the grace, and the process says so.
func TestSignalWhileAStepIgnoresItsContext(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	var h happened
	signals := make(chan os.Signal, 1)
	r, logs := build(t, lifecycle.Options{Grace: 20 * time.Millisecond},
		does("a", field{`name:"a" phase:"load"`, h.step("a")}),
		does("b", field{`name:"b" phase:"sync"`, h.step("b", func(context.Context) error { signals <- syscall.SIGTERM; <-release; return nil })}))
	err := r.Serve(signals, func() { t.Error("exit was called") })
	if !errors.Is(err, lifecycle.ErrInterrupted) || !strings.Contains(err.Error(), "step b (component b, phase sync, budget 5s), abandoned") {
		t.Errorf("got %v", err)
	}
	h.expect(t, "+a", "+b", "-a")
	if message, fields := lastLine(logs); message != "ended" || fields["step"] != "b" {
		t.Errorf("last line %s %v", message, fields)
	}
}

// What cannot be stopped after a signal is an error.
func TestStopThatFailsIsAnErrorOfServe(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGTERM
	r, _ := build(t, lifecycle.Options{}, does("a", field{`name:"a" phase:"load"`, lifecycle.Step{
		Start: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		Stop:  func(context.Context) error { return errBoom },
	}}))
	// The signal may be taken before the phase begins; then there is nothing to stop.
	if err := r.Serve(signals, nil); err != nil && !errors.Is(err, errBoom) || err == nil && status(t, r, "a").State != lifecycle.Pending {
		t.Errorf("got %v", err)
	}
}
