package admission

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type rig struct {
	t        *testing.T
	queue    *Queue
	registry *prometheus.Registry
	logs     *observer.ObservedLogs

	mu    sync.Mutex // turns that are given at one moment of a bubble are noted side by side
	order []string   // who had a turn, in order
}

func newRig(t *testing.T, o Options) *rig {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	r := &rig{t: t, registry: prometheus.NewRegistry(), logs: logs}
	var err error
	if r.queue, err = New(o, zap.New(core), r.registry); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) enter(source string) *Place {
	r.t.Helper()
	p, err := r.queue.Enter(source)
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// wait has a place wait in the background, until the bubble is idle. What it came to is sent on the channel.
func (r *rig) wait(ctx context.Context, name string, p *Place) <-chan error {
	done := make(chan error, 1)
	go func() {
		err := p.Wait(ctx)
		if err == nil {
			r.mu.Lock()
			r.order = append(r.order, name)
			r.mu.Unlock()
		}
		done <- err
	}()
	synctest.Wait()
	return done
}

func (r *rig) want(open, waiting, served int) {
	r.t.Helper()
	if s := r.queue.Status(); s.Open != open || s.Waiting != waiting || s.Served != served {
		r.t.Errorf("%d open, %d waiting, %d served; want %d, %d, %d", s.Open, s.Waiting, s.Served, open, waiting, served)
	}
}

// metric gives a counter, a gauge, or the count of a histogram.
func (r *rig) metric(name, label string) float64 {
	r.t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && (label == "" || m.GetLabel()[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	r.t.Fatalf("there is no %s %s", name, label)
	return 0
}

// Turns are given in the order of arrival, to those who have begun first, and never to more than there may be.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Turns: 2})
		places := map[string]*Place{}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			places[name] = r.enter(name)
			r.wait(t.Context(), name, places[name])
		}
		r.want(5, 3, 2)
		if places["c"].Begun() || !places["a"].Begun() {
			t.Error("a has begun and c has not")
		}
		places["a"].Yield() // c's turn
		synctest.Wait()
		r.wait(t.Context(), "a", places["a"]) // comes again, and goes before d and e
		r.wait(t.Context(), "b", places["b"]) // has a turn: it goes on
		places["b"].Yield()
		synctest.Wait()
		r.want(5, 2, 2)
		for _, name := range []string{"c", "a", "d", "e", "b"} {
			places[name].Leave()
			synctest.Wait()
		}
		if got := strings.Join(r.order, ""); got != "abcbade" {
			t.Errorf("served in the order %s, want abcbade", got)
		}
		r.want(0, 0, 0)
		if n := r.metric("meshd_xds_admission_wait_seconds", ""); n != 5 {
			t.Errorf("%v waits were measured, want the first of each", n)
		}
	})
}

// After its first answers a stream needs no turns, and takes none from others.
func TestSettledStreamsNeedNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Turns: 1})
		old, other := r.enter("old"), r.enter("other")
		for range needed {
			r.wait(t.Context(), "old", old)
			old.Yield()
		}
		r.wait(t.Context(), "other", other)
		r.wait(t.Context(), "old", old)
		if n := len(r.order); n != needed+2 {
			t.Errorf("%d waits were over, want %d", n, needed+2)
		}
		r.want(2, 0, 1)
		old.Yield() // not its turn that it gives back
		r.want(2, 0, 1)
		old.Leave()
		other.Leave()
		other.Leave()
		r.want(0, 0, 0)
	})
}

// Who stops waiting is out of the queue at once, and his turn goes to the next.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Turns: 1})
		first := r.enter("first")
		r.wait(t.Context(), "first", first)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		var ends []<-chan error
		var places []*Place
		for range 1000 {
			p := r.enter("many")
			places = append(places, p)
			ends = append(ends, r.wait(ctx, "many", p))
		}
		last := r.enter("last")
		r.wait(t.Context(), "last", last)
		r.want(1002, 1001, 1)
		cancel(gone)
		synctest.Wait()
		for i, end := range ends {
			if err := <-end; !errors.Is(err, gone) {
				t.Fatalf("the wait ended with %v", err)
			}
			places[i].Leave()
		}
		r.want(2, 1, 1)
		first.Leave()
		synctest.Wait()
		if !slices.Equal(r.order, []string{"first", "last"}) {
			t.Errorf("served: %v", r.order)
		}
		last.Leave()
		r.want(0, 0, 0)
		if len(r.queue.sources) != 0 || r.queue.begun.Len()+r.queue.fresh.Len() != 0 {
			t.Error("something is left of those who have gone")
		}
	})
}

// A turn ends by itself when a client does not answer, and at no other time.
func TestSlowReaderLosesItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Turns: 1, Hold: time.Second})
		slow, next := r.enter("slow"), r.enter("next")
		r.wait(t.Context(), "slow", slow)
		r.wait(t.Context(), "next", next)
		time.Sleep(time.Hour) // it is still being generated
		r.want(2, 1, 1)
		slow.Sending()
		time.Sleep(900 * time.Millisecond)
		slow.Sending() // another response
		time.Sleep(900 * time.Millisecond)
		r.want(2, 1, 1)
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		r.want(2, 0, 1) // the next has it
		slow.Sending()  // without a turn: it holds nobody up
		slow.Yield()
		time.Sleep(time.Hour)
		r.want(2, 0, 1)
		// A timer that belongs to an earlier turn does not end a later one.
		next.Sending()
		next.Yield()
		r.wait(t.Context(), "next", next)
		time.Sleep(time.Hour)
		r.want(2, 0, 1)
		slow.Leave()
		next.Leave()
		r.want(0, 0, 0)
	})
}

// A rate spaces first turns out, and nobody fails; whoever has begun does not wait for it.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Turns: 10, PerSecond: 2})
		var places []*Place
		for i := range 5 {
			p := r.enter("x")
			places = append(places, p)
			r.wait(t.Context(), fmt.Sprint(i), p)
		}
		for second := range 3 {
			if n := min(2*second+1, 5); len(r.order) != n {
				t.Errorf("%d streams after %d s, want %d", len(r.order), second, n)
			}
			places[0].Yield()
			began := time.Now()
			if err := places[0].Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(began); waited > 0 {
				t.Errorf("one that had begun waited %s", waited)
			}
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if got := strings.Join(r.order, ""); got != "01234" {
			t.Errorf("served in the order %s", got)
		}
		for _, p := range places {
			p.Leave()
		}
	})
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Options{Total: 3, PerSource: 2})
		a1, _, b1 := r.enter("10.0.0.1"), r.enter("10.0.0.1"), r.enter("10.0.0.2")
		for _, tc := range []struct{ source, text string }{
			{"10.0.0.3", "--max-streams "}, {"10.0.0.1", "--max-streams "},
		} {
			_, err := r.queue.Enter(tc.source)
			if s := status.Convert(err); s.Code() != codes.ResourceExhausted || !strings.Contains(s.Message(), tc.text) {
				t.Errorf("%s: %v", tc.source, err)
			}
		}
		b1.Leave()
		_, err := r.queue.Enter("10.0.0.1")
		s := status.Convert(err)
		for _, want := range []string{"--max-streams-per-source", "10.0.0.1", "2 streams"} {
			if s.Code() != codes.ResourceExhausted || !strings.Contains(s.Message(), want) {
				t.Errorf("%v: no %q", err, want)
			}
		}
		a1.Leave()
		r.enter("10.0.0.1")
		r.enter("10.0.0.2")
		if got := r.queue.Status().Sources; !slices.Equal(got, []SourceStatus{{"10.0.0.1", 2}, {"10.0.0.2", 1}}) {
			t.Errorf("sources: %v", got)
		}
		for name, want := range map[string]float64{"total": 2, "source": 1} {
			if got := r.metric("meshd_xds_streams_refused_total", name); got != want {
				t.Errorf("%v refused for %s, want %v", got, name, want)
			}
		}
		if got := r.metric("meshd_xds_streams_open", ""); got != 3 {
			t.Errorf("%v are open", got)
		}
		time.Sleep(2 * warnEvery)
		if _, err := r.queue.Enter("10.0.0.1"); err == nil {
			t.Error("a fourth stream")
		}
		if n := r.logs.FilterMessageSnippet("refused").Len(); n != 3 {
			t.Errorf("%d lines, want one a minute for each limit", n)
		}
	})
}

// A stream expires only after it was served for the age, each at a time of its own.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const age = 10 * time.Minute
		r := newRig(t, Options{Turns: 100, MaxAge: age})
		expired := func(p *Place) bool {
			select {
			case <-p.Expired():
				return true
			default:
				return false
			}
		}
		waiting := r.enter("not served")
		var places []*Place
		for range 100 {
			p := r.enter("x")
			places = append(places, p)
			r.wait(t.Context(), "x", p)
		}
		time.Sleep(age - age/10 - time.Second)
		if slices.ContainsFunc(places, expired) {
			t.Error("one expired too early")
		}
		times := map[time.Duration]bool{}
		for range 12 {
			time.Sleep(age / 50)
			n := 0
			for _, p := range places {
				if expired(p) {
					n++
				}
			}
			times[time.Duration(n)] = true
		}
		if slices.ContainsFunc(places, func(p *Place) bool { return !expired(p) }) {
			t.Error("one lives on")
		}
		if len(times) < 5 {
			t.Errorf("they expired in %d bursts", len(times))
		}
		if expired(waiting) {
			t.Error("one expired that was never served")
		}
	})
}

func TestForever(t *testing.T) {
	if d := spread(math.MaxInt64); d < forever/2 {
		t.Errorf("istiod's default age became %s", d)
	}
	if n := len((Connections{}).ServerOptions(math.MaxInt64)); n == 0 {
		t.Error("no options")
	}
}

func TestNewRefuses(t *testing.T) {
	reg := prometheus.NewRegistry()
	for _, o := range []Options{{Turns: -1}, {Hold: -1}, {PerSecond: -1}, {Total: -1}, {PerSource: -1}, {MaxAge: -1}} {
		if _, err := New(o, zap.NewNop(), reg); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := New(Options{}, zap.NewNop(), reg); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{}, zap.NewNop(), reg); err == nil {
		t.Error("metrics were registered twice")
	}
}
