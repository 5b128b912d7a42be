package push

import (
	"errors"
	"fmt"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/meshd/meshd/internal/model"
)

func traced(t testing.TB) (*Journal, *tracetest.SpanRecorder) {
	t.Helper()
	j, _ := newJournal(t)
	recorder := tracetest.NewSpanRecorder()
	j.Trace(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test"))
	return j, recorder
}

func ended(r *tracetest.SpanRecorder) map[string][]sdktrace.ReadOnlySpan {
	out := map[string][]sdktrace.ReadOnlySpan{}
	for _, s := range r.Ended() {
		out[s.Name()] = append(out[s.Name()], s)
	}
	return out
}

func attributes(s sdktrace.ReadOnlySpan) map[string]string {
	out := map[string]string{}
	for _, kv := range s.Attributes() {
		out[string(kv.Key)] = kv.Value.String()
	}
	return out
}

// A push to ten thousand clients has a handful of spans; the rest is counted.
func TestSpansAreBounded(t *testing.T) {
	const clients = 10_000
	j, recorder := traced(t)
	p := publish(j, 1)
	at := time.Now()
	for i := range clients {
		p.Generate("cds").End()
		f := Sent([]*Push{p}, Response{Node: fmt.Sprint(i), Type: "cds", Resources: 2, Bytes: 10, Began: at, Sent: at})
		f.Answered(at.Add(time.Millisecond), i == 0)
	}
	last := at.Add(time.Hour)
	f := Sent([]*Push{p}, Response{Node: "late", Type: "cds", Began: at, Sent: at})
	f.Answered(last, false)
	if n := len(ended(recorder)["push"]); n != 0 {
		t.Error("the push has ended before it settled")
	}
	j.Settle(last)
	j.Settle(last.Add(time.Nanosecond))
	spans := ended(recorder)
	if len(spans["push"]) != 1 || len(spans["generate"]) != maxGenerate || len(spans["send"]) != maxSend || len(spans["ack"]) != maxSend {
		t.Fatalf("%d push, %d generate, %d send, %d ack", len(spans["push"]), len(spans["generate"]), len(spans["send"]), len(spans["ack"]))
	}
	root := spans["push"][0]
	for key, want := range map[string]int{
		"meshd.generated": clients, "meshd.sent": clients + 1, "meshd.sent.resources": 2 * clients, "meshd.sent.bytes": 10 * clients,
		"meshd.accepted": clients, "meshd.refused": 1, "meshd.changes": 1, "meshd.changes.service": 1, "meshd.push": 1, "meshd.snapshot": 1,
	} {
		if got := attributes(root)[key]; got != fmt.Sprint(want) {
			t.Errorf("%s is %q, want %d", key, got, want)
		}
	}
	if !root.EndTime().Equal(last) {
		t.Errorf("the push ends at %v, when the last thing happened at %v", root.EndTime(), last)
	}
	// What comes after the end is no error and no span.
	p.Generate("cds").End()
	if len(ended(recorder)["generate"]) != maxGenerate {
		t.Error("a span after the end")
	}
}

// A response that answers for several pushes is in the trace of the last, with links to the others.
func TestMergedPushesAreLinked(t *testing.T) {
	j, recorder := traced(t)
	one, two := publish(j, 1), publish(j, 2)
	Sent([]*Push{one, two}, Response{Node: "a", Type: "eds"}).Answered(time.Now(), false)
	Sent(nil, Response{Node: "new", Type: "cds"}).Answered(time.Now(), false)
	j.Trace(nil) // ends what is open
	spans := ended(recorder)
	if len(spans["send"]) != 1 || len(spans["ack"]) != 1 || len(spans["push"]) != 2 {
		t.Fatalf("got %v", spans)
	}
	send, ack := spans["send"][0], spans["ack"][0]
	roots := map[string]sdktrace.ReadOnlySpan{}
	for _, s := range spans["push"] {
		roots[attributes(s)["meshd.push"]] = s
	}
	if send.Parent().SpanID() != roots["2"].SpanContext().SpanID() || ack.Parent().SpanID() != send.SpanContext().SpanID() {
		t.Error("a parent is wrong")
	}
	if len(send.Links()) != 1 || send.Links()[0].SpanContext.SpanID() != roots["1"].SpanContext().SpanID() {
		t.Errorf("links %v", send.Links())
	}
	if publish(j, 3).spans != nil {
		t.Error("a push is traced though tracing has ended")
	}
}

// A batch that becomes no snapshot has a trace too, which says so.
func TestBatchesThatComeToNothing(t *testing.T) {
	j, recorder := traced(t)
	for _, err := range []error{nil, errors.New("no mesh")} {
		j.Begin(batch(model.KindPod))
		j.End(err)
	}
	roots := ended(recorder)["push"]
	if len(roots) != 2 || attributes(roots[0])["meshd.outcome"] != "unchanged" || attributes(roots[1])["meshd.outcome"] != "failed" ||
		roots[1].Status().Description != "no mesh" {
		t.Errorf("got %v", roots)
	}
}

// Pushes that are forgotten end, so that none stays open for ever.
func TestForgottenPushesEnd(t *testing.T) {
	j, recorder := traced(t)
	for v := range uint64(kept + 3) {
		publish(j, v+1)
	}
	if n := len(ended(recorder)["push"]); n != 3 {
		t.Errorf("%d pushes have ended, want 3", n)
	}
}
