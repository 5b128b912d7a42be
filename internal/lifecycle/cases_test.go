package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/fx"
	"go.uber.org/goleak"

	"github.com/meshd/meshd/internal/lifecycle"
)

// holder is a step that holds a port and a lease while it is started.
type holder struct {
	lease    string
	addr     string
	listener net.Listener
	stops    atomic.Int32
}

func (h *holder) step() lifecycle.Step {
	return lifecycle.Step{
		Start: func(context.Context) (err error) {
			if h.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
				return err
			}
			h.addr = h.listener.Addr().String()
			return take(h.lease)
		},
		Stop: func(context.Context) error {
			h.stops.Add(1)
			return errors.Join(h.listener.Close(), os.Remove(h.lease))
		},
	}
}

// take creates a lease file, which must not exist.
func take(lease string) error {
	f, err := os.OpenFile(lease, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// A start that runs into its limit stops what had started: once, whatever the step that blocks does.
func TestCaseA21(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	h := &holder{lease: filepath.Join(t.TempDir(), "lease")}
	r, logs := build(t, lifecycle.Options{Grace: 20 * time.Millisecond},
		does("component-1", field{`name:"one.hold" phase:"load"`, h.step()}),
		does("component-2", field{`name:"two.block" phase:"sync" budget:"50ms"`, lifecycle.Step{
			Start: func(context.Context) error { <-release; return nil },
			Stop: func(context.Context) error {
				t.Error("a step that was abandoned is stopped: it would race")
				return nil
			},
		}}))
	err := r.Serve(make(chan os.Signal), func() { t.Error("exit was called") })
	if !errors.Is(err, lifecycle.ErrBudget) || !strings.Contains(err.Error(), "component-2") || !strings.Contains(err.Error(), "50ms") {
		t.Errorf("the error does not name the component and the budget: %v", err)
	}
	if message, fields := lastLine(logs); message != "ended" || fields["component"] != "component-2" || fields["step"] != "two.block" || fields["budget"] != 50*time.Millisecond {
		t.Errorf("last line %s %v", message, fields)
	}
	if n := h.stops.Load(); n != 1 {
		t.Errorf("component 1 was stopped %d times", n)
	}
	if err := r.Stop(); err != nil || h.stops.Load() != 1 {
		t.Errorf("a later stop: %v, %d stops", err, h.stops.Load())
	}
	again, err := net.Listen("tcp", h.addr)
	if err != nil {
		t.Fatalf("the port is still taken: %v", err)
	}
	if err := errors.Join(again.Close(), take(h.lease)); err != nil {
		t.Errorf("the lease is still held: %v", err)
	}
}

// A serve loop in a start step cannot hide those after it: the start fails at its limit with the step's name. In
// Run, where it belongs, nothing of it is left after a stop.
func TestCaseA23(t *testing.T) {
	for name, ignores := range map[string]bool{"it heeds its context": false, "it ignores its context": true} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var h happened
			loop := func(ctx context.Context) error {
				if !ignores {
					defer context.AfterFunc(ctx, func() { l.Close() })()
				}
				return http.Serve(l, http.NotFoundHandler()) // for ever
			}
			r, _ := build(t, lifecycle.Options{Grace: 20 * time.Millisecond},
				does("a", field{`name:"a" phase:"load"`, h.step("a")}), does("c", field{`name:"c" phase:"lead"`, h.step("c")}),
				does("b", field{`name:"b.serve" phase:"sync" budget:"50ms"`, lifecycle.Step{Start: loop}}))
			if err := r.Start(t.Context()); !errors.Is(err, lifecycle.ErrBudget) || !strings.Contains(err.Error(), "step b.serve (component b, phase sync, budget 50ms)") {
				t.Errorf("got %v", err)
			}
			h.expect(t, "+a", "-a")
			l.Close() // lets go the one that ignores its context
			goleak.VerifyNone(t)
		})
	}
	t.Run("in Run", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		srv := &http.Server{Handler: http.NotFoundHandler()}
		var h happened
		r, _ := started(t, does("a", field{`name:"a" phase:"load"`, h.running("a", h.step("a"), untilDone)}),
			does("b", field{`name:"b.serve" phase:"sync"`, lifecycle.Step{Run: func(ctx context.Context) error {
				defer context.AfterFunc(ctx, func() { srv.Close() })()
				if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
					return err
				}
				return nil
			}}}), does("c", field{`name:"c" phase:"lead"`, h.step("c")}))
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		stopped(t, r)
		h.expect(t, "+a", "+c", "-c", "~a", "-a")
		goleak.VerifyNone(t)
	})
}

// A stop never waits for work that itself waits for the stop: the work is asked to end first, and what it holds is
// given up on purpose, well within a second.
func TestCaseA24(t *testing.T) {
	t.Run("the leader leaves and another takes over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			lease := filepath.Join(t.TempDir(), "lease")
			campaign := func(who string, h *happened) lifecycle.Step {
				return h.running(who, h.step(who), func(ctx context.Context) error {
					for take(lease) != nil {
						select {
						case <-time.After(100 * time.Millisecond):
						case <-ctx.Done():
							return nil
						}
					}
					h.note(who + " leads")
					<-ctx.Done()
					return os.Remove(lease)
				})
			}
			var one, two happened
			signals := make(chan os.Signal)
			leader, _ := build(t, lifecycle.Options{}, does("leader", field{`name:"leader.campaign" phase:"lead"`, campaign("one", &one)}), does("ready", field{`name:"ready.announce" phase:"announce"`, one.step("ready")}))
			ended := make(chan error)
			go func() { ended <- leader.Serve(signals, func() { t.Error("exit was called") }) }()
			synctest.Wait()
			next, _ := started(t, does("leader", field{`name:"leader.campaign" phase:"lead"`, campaign("two", &two)}))
			time.Sleep(10 * time.Second)
			two.expect(t, "+two")

			began := time.Now()
			signals <- syscall.SIGTERM
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("leaving took %v", took)
			}
			if !slices.Contains(one.all(), "one leads") {
				t.Error("it never led")
			}
			if got := slices.DeleteFunc(one.all(), func(e string) bool { return e == "one leads" }); !slices.Equal(got, []string{"+one", "+ready", "-ready", "~one", "-one"}) {
				t.Errorf("happened %q", got)
			}
			time.Sleep(time.Second)
			two.expect(t, "+two", "two leads")
			stopped(t, next)
		})
	})
	t.Run("work that ends only after Stop is cut off at the budget, and the rest is stopped", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			lease := filepath.Join(t.TempDir(), "lease")
			ended := make(chan struct{})
			h := &holder{lease: lease}
			r, _ := started(t, does("a", field{`name:"a.hold" phase:"load"`, h.step()}),
				does("b", field{`name:"b.work" phase:"sync" stop:"1s"`, lifecycle.Step{
					Run:  func(context.Context) error { <-ended; return nil },
					Stop: func(context.Context) error { close(ended); return nil },
				}}))
			began := time.Now()
			err := r.Stop()
			if took := time.Since(began); took != time.Second {
				t.Errorf("stopping took %v, want the budget of b.work", took)
			}
			if err == nil || !strings.Contains(err.Error(), "step b.work (component b, phase sync, budget 1s): its run ignores the end of its context") {
				t.Errorf("got %v", err)
			}
			if h.stops.Load() != 1 || take(lease) != nil {
				t.Error("the lease is still held")
			}
			close(ended)
		})
	})
}

type tableOut struct {
	fx.Out
	Table lifecycle.Published[map[string]string]
	Load  lifecycle.Step `name:"networks.load" phase:"load" sets:"Table"`
}

// networks is a controller whose initial load begins with a pause; where says in which function the load stands.
func networks(where string) func() tableOut {
	return func() tableOut {
		slot := lifecycle.NewSlot[map[string]string]()
		load := func(ctx context.Context) error {
			time.Sleep(time.Second)
			table := map[string]string{}
			for i := range 50 {
				table[fmt.Sprint("network-", i)] = "gateway"
			}
			return slot.Set(ctx, table)
		}
		s := lifecycle.Step{Start: load}
		if where == "Run" {
			s = lifecycle.Step{Run: load}
		}
		return tableOut{Table: slot.Publish(), Load: s}
	}
}

// A token that says "synced" cannot be had before the initial load is done: it is the loaded value itself. A step
// whose load has moved into its Run, so that it seems started at once, is refused.
func TestCaseA4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, polls := time.Now(), 0
		type pollOut struct {
			fx.Out
			Poll lifecycle.Step `name:"poll.run" phase:"preflight"`
		}
		type readOut struct {
			fx.Out
			Read lifecycle.Step `name:"read.all" phase:"load"`
		}
		poll := func(peek lifecycle.Peek[map[string]string], gate lifecycle.Gate[map[string]string]) pollOut {
			return pollOut{Poll: lifecycle.Step{Run: func(ctx context.Context) error {
				for {
					switch table, ok := peek.TryGet(); {
					case !ok && table != nil:
						t.Error("a table that is not there")
					case !ok:
						polls++
					case time.Since(began) < time.Second || len(table) != 50:
						t.Errorf("synced after %v, with %d entries", time.Since(began), len(table))
					default:
						if waited, err := gate.Wait(ctx); err != nil || len(waited) != 50 {
							t.Errorf("the gate gives %v, %v", waited, err)
						}
						<-ctx.Done()
						return nil
					}
					time.Sleep(9 * time.Millisecond)
				}
			}}}
		}
		read := func(table lifecycle.Loaded[map[string]string]) readOut {
			return readOut{Read: lifecycle.Step{Start: func(ctx context.Context) error {
				got, err := table.Get(ctx)
				if len(got) != 50 {
					t.Errorf("read %d entries", len(got))
				}
				return err
			}}}
		}
		r, _ := started(t, component("networks", networks("Start")), component("poll", poll), component("read", read))
		time.Sleep(time.Second)
		stopped(t, r)
		if polls < 100 {
			t.Errorf("only %d polls saw that it is not there yet", polls)
		}
	})
	r, _ := build(t, lifecycle.Options{}, component("networks", networks("Run")))
	if err := r.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "it ended without setting map[string]string (tag sets)") {
		t.Errorf("a load in Run: %v", err)
	}
}
