package lifecycle_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meshd/meshd/internal/lifecycle"
)

// ends are the ways in which a Run can end before it is asked to.
var ends = map[string]struct {
	run     func(context.Context) error
	message string
}{
	"it panics":        {func(context.Context) error { panic("oh no") }, "panic: oh no"},
	"it fails":         {func(context.Context) error { return errBoom }, "boom"},
	"it returns early": {func(context.Context) error { return nil }, "it returned before it was asked to"},
}

func TestRunThatStopsTheProcess(t *testing.T) {
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h happened
				late := func(ctx context.Context) error { time.Sleep(time.Hour); return end.run(ctx) }
				r, logs := build(t, lifecycle.Options{}, does("a", field{`name:"a" phase:"load"`, h.running("a", h.step("a"), untilDone)}),
					does("b", field{`name:"b" phase:"register"`, h.running("b", h.step("b"), late)}),
					does("c", field{`name:"c" phase:"listen"`, h.running("c", h.step("c"), untilDone)}))
				err := r.Serve(nil, func() { t.Error("exit was called") })
				if err == nil || err.Error() != "run of step b (component b) ended: "+end.message {
					t.Errorf("got %v", err)
				}
				h.expect(t, "+a", "+b", "+c", "~b", "~c", "-c", "-b", "~a", "-a")
				if message, fields := lastLine(logs); message != "ended" || !strings.Contains(fields["error"].(string), end.message) {
					t.Errorf("last line %s %v", message, fields)
				}
				stack := logs.FilterMessage("run ended").All()[0].ContextMap()["stack"]
				if panicked := name == "it panics"; panicked != (stack != nil) {
					t.Errorf("stack %v", stack)
				}
			})
		})
	}
}

// A Run that fails for good while others are still starting ends the start.
func TestRunThatFailsDuringStartEndsTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h happened
		r, _ := build(t, lifecycle.Options{},
			does("a", field{`name:"a" phase:"load"`, h.running("a", h.step("a"), func(context.Context) error { time.Sleep(time.Second); return errBoom })}),
			does("b", field{`name:"b" phase:"sync"`, h.step("b", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })}))
		if err := r.Start(t.Context()); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "run of step a (component a) ended") {
			t.Errorf("got %v", err)
		}
		h.expect(t, "+a", "+b", "~a", "-b", "-a")
	})
}

// The first one that fails for good is enough, and Fatal gives it to a caller that does not use Serve.
func TestFatalGivesTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := func(after time.Duration, err error) lifecycle.Step {
			return lifecycle.Step{Run: func(context.Context) error { time.Sleep(after); return err }}
		}
		r, _ := started(t, does("a", field{`name:"a" phase:"load"`, fails(time.Second, errBoom)}), does("b", field{`name:"b" phase:"load"`, fails(2*time.Second, errors.New("too late"))}))
		time.Sleep(3 * time.Second)
		if err := <-r.Fatal(); !errors.Is(err, errBoom) {
			t.Errorf("got %v", err)
		}
		stopped(t, r)
	})
}

func TestRunIsRestartedWithBackoff(t *testing.T) {
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Duration
				began := time.Now()
				s := lifecycle.Step{OnExit: lifecycle.Restart, Run: func(ctx context.Context) error {
					at = append(at, time.Since(began))
					if len(at) == 10 { // well for a while: the backoff begins anew
						time.Sleep(11 * time.Second)
					}
					return end.run(ctx)
				}}
				var h happened
				r, _ := started(t, does("a", field{`name:"a" phase:"load"`, s}), does("b", field{`name:"b" phase:"load"`, h.running("b", h.step("b"), untilDone)}))
				time.Sleep(time.Minute)
				if got := status(t, r, "a").State; got != lifecycle.Started {
					t.Errorf("state %v", got)
				}
				h.expect(t, "+b") // nobody else was touched
				stop := time.Now()
				stopped(t, r)
				if took := time.Since(stop); took != 0 {
					t.Errorf("stopping waited %v for a backoff", took)
				}
				var gaps []time.Duration
				for i := 1; i < len(at) && i < 12; i++ {
					gaps = append(gaps, at[i]-at[i-1])
				}
				ms := time.Millisecond
				want := []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 10000 * ms, 10000 * ms, 11100 * ms, 200 * ms}
				if !slices.Equal(gaps, want) {
					t.Errorf("restarted after %v, want %v", gaps, want)
				}
			})
		})
	}
}

func TestRunThatEndsDegradesItsStep(t *testing.T) {
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h happened
				s := h.running("a", h.step("a"), end.run)
				s.OnExit = lifecycle.Degrade
				r, _ := started(t, does("a", field{`name:"a" phase:"load" probe:"a"`, s}), does("b", field{`name:"b" phase:"load"`, lifecycle.Step{Run: untilDone}}))
				began := time.Now()
				time.Sleep(time.Minute)
				got := status(t, r, "a")
				if got.State != lifecycle.Degraded || !strings.HasSuffix(got.Error, end.message) || got.Since.After(began) {
					t.Errorf("status %+v", got)
				}
				if got := status(t, r, "b"); got.State != lifecycle.Started {
					t.Errorf("status of the other %+v", got)
				}
				stopped(t, r)
				h.expect(t, "+a", "~a", "-a")
			})
		})
	}
}

func TestEffectsHaveNames(t *testing.T) {
	got := []string{lifecycle.StopProcess.String(), lifecycle.Restart.String(), lifecycle.Degrade.String()}
	if !slices.Equal(got, []string{"stop-process", "restart", "degrade"}) {
		t.Error(got)
	}
}

// Run begins once Start has succeeded, under a context that the end of the start does not end, and that names the
// step: it may read, and report.
func TestRunOutlivesStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h happened
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := build(t, lifecycle.Options{}, does("a", field{`name:"a" phase:"load"`, h.running("a", h.step("a"), func(ctx context.Context) error {
			h.note("run")
			lifecycle.Report(ctx, "a peer")
			<-ctx.Done()
			return ctx.Err()
		})}))
		if err := r.Start(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		h.expect(t, "+a", "run")
		if got := status(t, r, "a"); got.Waits != "a peer" {
			t.Errorf("status %+v", got)
		}
		stopped(t, r)
		h.expect(t, "+a", "run", "~a", "-a")
	})
}

// A signal while a Run fails for good leads to one orderly stop, whichever comes first.
func TestSignalAndFatalAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h happened
		signals := make(chan os.Signal, 1)
		r, _ := build(t, lifecycle.Options{}, does("a", field{`name:"a" phase:"load"`, h.running("a", h.step("a"), func(context.Context) error {
			time.Sleep(time.Second)
			signals <- os.Interrupt
			return errBoom
		})}))
		if err := r.Serve(signals, func() { t.Error("exit was called") }); err != nil && !errors.Is(err, errBoom) {
			t.Errorf("got %v", err)
		}
		h.expect(t, "+a", "~a", "-a")
	})
}

// A Run that fails for good just as the start ends is not lost: Start fails, or Fatal has it.
func TestFatalAtTheEndOfStartIsNotLost(t *testing.T) {
	for range 300 {
		synctest.Test(t, func(t *testing.T) {
			r, _ := build(t, lifecycle.Options{}, does("a", field{`name:"a" phase:"announce"`, lifecycle.Step{Run: func(context.Context) error { return errBoom }}}))
			err := r.Start(t.Context())
			if err == nil {
				synctest.Wait()
				select {
				case err = <-r.Fatal():
				default:
				}
				stopped(t, r)
			}
			if !errors.Is(err, errBoom) {
				t.Fatalf("got %v", err)
			}
		})
	}
}
