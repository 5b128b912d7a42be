package readiness

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/meshd/meshd/internal/lifecycle"
)

// steps stand in for the trace of a start.
type steps []lifecycle.StepStatus

func (s steps) Steps() []lifecycle.StepStatus { return s }

func checker(t *testing.T, s Steps, log *zap.Logger, probes ...Probe) *Checker {
	t.Helper()
	c, err := New(s, probes, log)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(h http.Handler, target string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	return w.Code, w.Body.String()
}

var started = lifecycle.StepStatus{Name: "a.do", Component: "a", Probe: "a", State: lifecycle.Started}

func TestEmptySetIsNotReady(t *testing.T) {
	c := checker(t, steps{{Name: "no.probe", State: lifecycle.Started}}, zap.NewNop())
	c.Announce(true)
	if code, body := get(c.ReadyHandler(), "/ready"); code != http.StatusServiceUnavailable || !strings.Contains(body, "no readiness probe is known") {
		t.Errorf("%d %s", code, body)
	}
}

func TestNotReadyBeforeAndAfterTheAnnouncement(t *testing.T) {
	c := checker(t, steps{started}, zap.NewNop())
	if c.Report().Ready {
		t.Error("ready before the start has reached its end")
	}
	c.Announce(true)
	if r := c.Report(); !r.Ready {
		t.Errorf("not ready: %v", r.Unwell())
	}
	c.Announce(false)
	if c.Report().Ready {
		t.Error("still ready when the stop has begun")
	}
}

func TestEveryStateButStartedIsNotReady(t *testing.T) {
	for _, state := range []lifecycle.State{lifecycle.Pending, lifecycle.Starting, lifecycle.Degraded, lifecycle.Failed, lifecycle.Abandoned, lifecycle.Stopping, lifecycle.Stopped} {
		since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		c := checker(t, steps{started, {Name: "b.sync", Component: "b", Probe: "b-synced", State: state, Since: since, Waits: "the API server", Error: "refused"}}, zap.NewNop())
		c.Announce(true)
		code, body := get(c.ReadyHandler(), "/ready")
		if code != http.StatusServiceUnavailable {
			t.Errorf("%s: %d", state, code)
		}
		for _, want := range []string{"b-synced", "(b)", "b.sync", string(state), "the API server", "refused", "2026-01-02T03:04:05Z"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: %q lacks %q", state, body, want)
			}
		}
		if strings.Contains(body, "a.do") {
			t.Errorf("%s: the body names what is ready: %q", state, body)
		}
	}
}

func TestProbeOfComponent(t *testing.T) {
	var err error
	c := checker(t, steps{started}, zap.NewNop(), Probe{Name: "directory", Component: "source", Check: func() error { return err }})
	c.Announce(true)
	if !c.Report().Ready {
		t.Fatal("not ready")
	}
	err = errors.New("the directory is gone")
	if code, body := get(c.ReadyHandler(), "/ready"); code != http.StatusServiceUnavailable || !strings.Contains(body, "the directory is gone") {
		t.Errorf("%d %s", code, body)
	}
}

// A component that cannot renew what it serves says so, and does not take ready away.
func TestDegradedProbe(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	var err error
	c := checker(t, steps{started}, zap.New(core), Probe{Name: "directory", Component: "source", Degrades: true, Check: func() error { return err }})
	c.Announce(true)
	err = errors.New("the directory is gone")
	for range 3 {
		if code, body := get(c.ReadyHandler(), "/ready"); code != http.StatusOK || !strings.Contains(body, "[~] directory (source)") || !strings.Contains(body, "the directory is gone") {
			t.Errorf("%d %s", code, body)
		}
	}
	if n := logs.FilterMessage("probe degraded").Len(); n != 1 {
		t.Errorf("it was logged %d times, want once", n)
	}
	err = nil
	if code, body := get(c.ReadyHandler(), "/ready"); code != http.StatusOK || strings.Contains(body, "directory") {
		t.Errorf("%d %s", code, body)
	}
}

func TestProbeThatPanicsIsNotReady(t *testing.T) {
	c := checker(t, steps{started}, zap.NewNop(), Probe{Name: "p", Component: "x", Check: func() error { panic("boom") }})
	c.Announce(true)
	if code, body := get(c.ReadyHandler(), "/ready"); code != http.StatusServiceUnavailable || !strings.Contains(body, "boom") {
		t.Errorf("%d %s", code, body)
	}
}

func TestNamesAreUnique(t *testing.T) {
	ok := func() error { return nil }
	for name, probes := range map[string][]Probe{
		"two of components":     {{Name: "x", Check: ok}, {Name: "x", Check: ok}},
		"component and step":    {{Name: "a", Check: ok}},
		"without name":          {{Check: ok}},
		"without function":      {{Name: "x"}},
		"the name of the start": {{Name: announcement, Check: ok}},
	} {
		if _, err := New(steps{started}, probes, zap.NewNop()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A probe is named once per change in the log, however often it is asked.
func TestLogOncePerChange(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	err := errors.New("first reason")
	c := checker(t, steps{started}, zap.New(core), Probe{Name: "p", Component: "x", Check: func() error { return err }})
	about := func() (n int) {
		for range 5 {
			c.Report()
		}
		for _, e := range logs.TakeAll() {
			if e.ContextMap()["probe"] == "p" {
				n++
			}
		}
		return n
	}
	if n := about(); n != 1 {
		t.Errorf("not ready: %d lines, want 1", n)
	}
	if n := about(); n != 0 {
		t.Errorf("unchanged: %d lines, want 0", n)
	}
	err = nil
	if n := about(); n != 1 {
		t.Errorf("ready again: %d lines, want 1", n)
	}
}

func TestVerbose(t *testing.T) {
	c := checker(t, steps{started}, zap.NewNop(), Probe{Name: "bad", Component: "x", Check: func() error { return errors.New("why") }})
	c.Announce(true)
	code, body := get(c.VerboseHandler(), "/readyz?verbose")
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "[+] a (a)") || !strings.Contains(body, "[-] bad (x)") {
		t.Errorf("%d %s", code, body)
	}
	code, body = get(c.VerboseHandler(), "/readyz?format=json")
	if code != http.StatusServiceUnavailable || !strings.Contains(body, `"reason":"why"`) {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := get(LiveHandler(), "/livez"); code != http.StatusOK {
		t.Errorf("/livez %d", code)
	}
}

// slowSteps give an old answer late, the first time after New.
type slowSteps struct {
	calls        atomic.Int32
	asked, letGo chan struct{}
}

func (s *slowSteps) Steps() []lifecycle.StepStatus {
	answer := started
	if s.calls.Add(1) == 2 {
		answer.State = lifecycle.Starting
		close(s.asked)
		<-s.letGo
	}
	return []lifecycle.StepStatus{answer}
}

// An answer that was gathered before another, and comes after it, is not taken for a change.
func TestOlderAnswerIsNoChange(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	s := &slowSteps{asked: make(chan struct{}), letGo: make(chan struct{})}
	c := checker(t, s, zap.New(core))
	first, second := make(chan struct{}), make(chan struct{})
	go func() { defer close(first); c.Report() }()
	<-s.asked
	go func() { defer close(second); c.Report() }()
	select {
	case <-second: // it has overtaken the first
	case <-time.After(50 * time.Millisecond): // it waits for the first
	}
	close(s.letGo)
	<-first
	<-second
	if r := c.Report(); !r.Checks[0].Ready {
		t.Errorf("the older answer stands: %+v", r.Checks[0])
	}
	var said []string
	for _, e := range logs.All() {
		if e.ContextMap()["probe"] == "a" {
			said = append(said, e.Message)
		}
	}
	if want := []string{"probe not ready", "probe ready"}; !slices.Equal(said, want) {
		t.Errorf("the log said %q, want %q", said, want)
	}
}
