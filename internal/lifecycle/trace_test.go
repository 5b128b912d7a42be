package lifecycle_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/lifecycle"
)

// The trace of a real run shows the plan: every step once, with what it came after, and never before that.
func TestTraceOfARunEqualsThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		for i, name := range toySteps {
			j.start[name] = func(context.Context) error { time.Sleep(time.Duration(i+1) * time.Millisecond); return nil }
		}
		began := time.Now().Add(-time.Hour)
		r, _ := build(t, lifecycle.Options{Began: began}, toy(j)...)
		if err := r.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer stopped(t, r)
		record := r.Trace().Record()
		plan := r.Plan()
		spans := map[string]lifecycle.Span{}
		var steps []string
		for _, s := range record.Spans {
			if s.Kind != "step" {
				continue
			}
			spans[s.Name] = s
			steps = append(steps, s.Name)
		}
		for i, s := range plan.Steps {
			span := spans[s.Name]
			if i >= len(steps) || steps[i] != s.Name {
				t.Fatalf("spans %q do not follow the plan", steps)
			}
			if span.Component != s.Component || span.Phase != s.Phase.String() || span.State != lifecycle.Started || span.Waits != "" || span.Error != "" {
				t.Errorf("span %+v", span)
			}
			if !slices.Equal(span.WaitedFor, plan.Before(s.Name)) {
				t.Errorf("%s waited for %q, want %q", s.Name, span.WaitedFor, plan.Before(s.Name))
			}
			if span.Queued < time.Hour || span.Ready < span.Queued || span.Started < span.Ready || span.Ended > record.Ready {
				t.Errorf("%s: times are out of order: %+v", s.Name, span)
			}
			if want := time.Duration(slices.Index(toySteps, s.Name)+1) * time.Millisecond; span.Own() != want {
				t.Errorf("%s took %v, want %v", s.Name, span.Own(), want)
			}
			for _, other := range plan.Steps {
				if plan.Precedes(other.Name, s.Name) && spans[other.Name].Ended > span.Started {
					t.Errorf("%s started at %v, before %s had ended at %v", s.Name, span.Started, other.Name, spans[other.Name].Ended)
				}
			}
			// It starts as soon as the last that it waits for has ended, or its phase begins.
			ready := span.Queued
			for _, b := range span.WaitedFor {
				ready = max(ready, spans[b].Ended)
			}
			if span.Started != ready || span.Waited() != ready-span.Queued {
				t.Errorf("%s could start at %v and started at %v", s.Name, ready, span.Started)
			}
		}
		if !record.Began.Equal(began) || record.Ready != time.Since(began) {
			t.Errorf("began %v, ready after %v", record.Began, record.Ready)
		}
	})
}

// Every constructor that ran is there, those that are methods or generic included, after those that it took from.
func TestTraceHasTheConstructors(t *testing.T) {
	r, _ := started(t, toy(newJournal())...)
	defer stopped(t, r)
	at := map[string]int{}
	var spans []lifecycle.Span
	for i, s := range r.Trace().Record().Spans {
		if s.Kind == "constructor" {
			if i != len(spans) {
				t.Error("constructors do not come first")
			}
			at[s.Name] = i
			spans = append(spans, s)
		}
	}
	edges := map[string][]string{}
	for _, e := range r.Plan().Graph.Edges() {
		edges[e.Consumer] = append(edges[e.Consumer], e.Provider)
	}
	for _, c := range r.Plan().Graph.Constructors {
		i, ok := at[c.ID]
		if !ok {
			t.Errorf("constructor %s is not in the trace", c.ID)
			continue
		}
		span := spans[i]
		want := slices.Sorted(slices.Values(edges[c.ID]))
		if want = slices.Compact(want); !slices.Equal(span.WaitedFor, want) {
			t.Errorf("%s waited for %q, want %q", c.ID, span.WaitedFor, want)
		}
		for _, from := range span.WaitedFor {
			if at[from] > i {
				t.Errorf("%s ran before %s", c.ID, from)
			}
		}
		if span.Component != c.Component || span.State != lifecycle.Started || span.Ended < span.Started || span.Started < 0 {
			t.Errorf("span %+v", span)
		}
	}
	for _, id := range []string{"journal/(*journal).self", "config/newPage", "startup/(*startup).newTrace"} {
		if _, ok := at[id]; !ok {
			t.Errorf("%s is not in the trace", id)
		}
	}
}

func TestRecordSurvivesJSON(t *testing.T) {
	r, _ := started(t, toy(newJournal())...)
	want := r.Trace().Record()
	stopped(t, r)
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got lifecycle.Record
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Error(diff)
	}
	// What was handed out is a copy.
	for _, s := range want.Spans {
		if s.Kind == "step" && s.State != lifecycle.Started {
			t.Errorf("the record changed after it was taken: %+v", s)
		}
	}
	for _, s := range r.Trace().Steps() {
		if s.State != lifecycle.Stopped {
			t.Errorf("status %+v", s)
		}
	}
}

// The states that a step goes through, and since when.
func TestTraceFollowsAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := func(context.Context) error { time.Sleep(time.Second); return nil }
		r, _ := build(t, lifecycle.Options{}, does("z", field{`name:"first" phase:"load"`, lifecycle.Step{Start: second}}),
			does("a", field{`name:"a" phase:"sync" probe:"a-probe"`, lifecycle.Step{Start: second, Stop: second}}))
		began := time.Now()
		expect := func(after time.Duration, state lifecycle.State, since time.Duration) {
			t.Helper()
			time.Sleep(time.Until(began.Add(after)))
			synctest.Wait()
			want := lifecycle.StepStatus{Name: "a", Component: "a", Probe: "a-probe", Phase: lifecycle.Sync, State: state, Since: began.Add(since)}
			if got := status(t, r, "a"); got != want {
				t.Errorf("after %v: %+v, want %+v", after, got, want)
			}
			if ready := r.Trace().Record().Ready; (ready != 0) != (after > 2*time.Second) {
				t.Errorf("ready after %v: %v", after, ready)
			}
		}
		ms := time.Millisecond
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			if err := r.Start(t.Context()); err != nil {
				t.Error(err)
			}
			<-stop
			stopped(t, r)
		}()
		expect(500*ms, lifecycle.Pending, 0)
		expect(1500*ms, lifecycle.Starting, 1000*ms)
		expect(2500*ms, lifecycle.Started, 2000*ms)
		time.Sleep(500 * ms)
		close(stop)
		expect(3500*ms, lifecycle.Stopping, 3000*ms)
		expect(4500*ms, lifecycle.Stopped, 4000*ms)
		<-done
	})
}

// A component reads the trace of the runner that runs it.
func TestTraceReachesAComponent(t *testing.T) {
	var seen *lifecycle.Trace
	r, _ := started(t, component("a", func(trace *lifecycle.Trace) pageStepOut {
		seen = trace
		return pageStepOut{S: lifecycle.Step{Start: func(context.Context) error { return nil }}}
	}))
	stopped(t, r)
	if seen == nil || seen != r.Trace() {
		t.Error("the trace that a component takes is not the runner's")
	}
}
