package lifecycle

import (
	"slices"
	"sync"
	"time"
)

// State of a step.
type State string

// The states of a step, in the order in which it goes through them.
const (
	Pending   State = "pending"   // its turn has not come
	Starting  State = "starting"  // Start runs
	Started   State = "started"   // Start succeeded
	Degraded  State = "degraded"  // its Run ended, and its probe is "not ready"
	Failed    State = "failed"    // Start failed, panicked or ran over its budget
	Abandoned State = "abandoned" // Start or Run ignored the end of its context
	Stopping  State = "stopping"
	Stopped   State = "stopped"
)

// Span is what is known of one constructor or step. Times are nanoseconds since the trace began; 0 is "not yet".
type Span struct {
	// Kind is "constructor" or "step".
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Component string `json:"component"`
	Phase     string `json:"phase,omitempty"`
	// Queued is when its phase began, Ready when everything it waits for had ended.
	Queued  time.Duration `json:"queued"`
	Ready   time.Duration `json:"ready"`
	Started time.Duration `json:"started"`
	Ended   time.Duration `json:"ended"`
	// WaitedFor are the steps or constructors that come directly before it.
	WaitedFor []string `json:"waited_for,omitempty"`
	State     State    `json:"state"`
	// Waits is what it last said it waits for, outside the process.
	Waits string `json:"waits,omitempty"`
	Error string `json:"error,omitempty"`
}

// Own is the time that the span itself took.
func (s Span) Own() time.Duration { return max(0, s.Ended-s.Started) }

// Waited is the time from the beginning of its phase until it could start.
func (s Span) Waited() time.Duration { return max(0, s.Started-s.Queued) }

// Record is a trace as it is shown and saved.
type Record struct {
	// Began is when the trace began, in wall-clock time.
	Began time.Time `json:"began"`
	// Ready is when the last step of the start had ended; 0 while the start is under way.
	Ready time.Duration `json:"ready"`
	// Taken is when the record was taken: how long what has not ended had been running by then.
	Taken time.Duration `json:"taken"`
	Spans []Span        `json:"spans"`
}

// StepStatus is what a probe or debug page may know of a step.
type StepStatus struct {
	Name, Component, Probe string
	Phase                  Phase
	State                  State
	// Since is when it entered the state.
	Since time.Time
	// Waits is what it waits for outside the process, while it starts.
	Waits string
	Error string
}

// Trace records when each constructor and step was queued, started and ended, and what it waited for. It is a
// component of its own: the runner writes it and the admin server reads it, and neither takes the other.
type Trace struct {
	mu    sync.Mutex
	now   func() time.Time
	began time.Time
	ready time.Duration
	spans []*Span
	steps map[string]*traced
}

type traced struct {
	info  *StepInfo
	span  *Span
	since time.Time
}

// newTrace makes a trace with every step of the plan pending.
func newTrace(p *Plan, began time.Time, now func() time.Time) *Trace {
	t := &Trace{now: now, began: began, steps: map[string]*traced{}}
	for _, s := range p.Steps {
		span := &Span{Kind: "step", Name: s.Name, Component: s.Component, Phase: s.Phase.String(), State: Pending, WaitedFor: p.Before(s.Name)}
		t.steps[s.Name] = &traced{info: s, span: span, since: began}
		t.spans = append(t.spans, span)
	}
	return t
}

// Steps gives the status of every step, in the order of the plan.
func (t *Trace) Steps() []StepStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]StepStatus, 0, len(t.steps))
	for _, span := range t.spans {
		if s := t.steps[span.Name]; s != nil && span.Kind == "step" {
			out = append(out, StepStatus{Name: span.Name, Component: span.Component, Probe: s.info.Probe, Phase: s.info.Phase,
				State: span.State, Since: s.since, Waits: span.Waits, Error: span.Error})
		}
	}
	return out
}

// Record gives a copy of the whole trace: constructors in the order in which they ran, then steps in plan order.
func (t *Trace) Record() Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Record{Began: t.began, Ready: t.ready, Taken: t.since()}
	for _, s := range t.spans {
		span := *s
		span.WaitedFor = slices.Clone(s.WaitedFor)
		r.Spans = append(r.Spans, span)
	}
	slices.SortStableFunc(r.Spans, func(a, b Span) int {
		switch {
		case a.Kind == b.Kind:
			return 0
		case a.Kind == "constructor":
			return -1
		}
		return 1
	})
	return r
}

func (t *Trace) since() time.Duration { return t.now().Sub(t.began) }

// constructed notes that a constructor has just returned after running for took.
func (t *Trace) constructed(c *Constructor, waitedFor []string, took time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.since()
	s := &Span{Kind: "constructor", Name: c.ID, Component: c.Component, Queued: end - took, Ready: end - took,
		Started: end - took, Ended: end, WaitedFor: waitedFor, State: Started}
	if err != nil {
		s.State, s.Error = Failed, err.Error()
	}
	t.spans = append(t.spans, s)
}

// step changes the span of a step under the lock.
func (t *Trace) step(name string, change func(s *Span, now time.Duration)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.steps[name]
	was := s.span.State
	change(s.span, t.since())
	if s.span.State != was {
		s.since = t.now()
	}
}

func (t *Trace) isReady() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ready = t.since()
}
