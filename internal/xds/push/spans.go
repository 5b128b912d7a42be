package push

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// The spans that one push has at the most, of each kind; the rest is counted. Ten thousand clients are one change.
const (
	maxGenerate = 64
	maxSend     = 16
)

// spans are the trace of one push. All methods are for nil too, which is a push that is not traced.
//
//	push                  from the first change until nothing happens any more
//	├─ change             from the first change to the last
//	├─ debounce           until they are given out
//	├─ snapshot           until they are compiled
//	├─ generate, …        resources of one class
//	└─ send, …            one response to one client
//	   └─ ack             until it is answered
type spans struct {
	tracer trace.Tracer
	ctx    context.Context // of the root

	mu     sync.Mutex
	root   trace.Span // nil once it has ended
	active time.Time  // when something happened last
	counts struct{ generate, send, resources, bytes, accepted, refused int }
}

func newSpans(tracer trace.Tracer, p *Push, ended time.Time) *spans {
	changes := 0
	attributes := []attribute.KeyValue{attribute.Bool("meshd.endpoints_only", p.EndpointsOnly)}
	for reason, n := range p.Reasons {
		changes += n
		attributes = append(attributes, attribute.Int("meshd.changes."+string(reason), n))
	}
	attributes = append(attributes, attribute.Int("meshd.changes", changes))
	s := &spans{tracer: tracer, active: ended}
	s.ctx, s.root = tracer.Start(context.Background(), "push", trace.WithNewRoot(), trace.WithTimestamp(p.First), trace.WithAttributes(attributes...))
	for _, part := range []struct {
		name     string
		from, to time.Time
	}{{"change", p.First, p.Last}, {"debounce", p.Last, p.Taken}, {"snapshot", p.Taken, ended}} {
		_, span := tracer.Start(s.ctx, part.name, trace.WithTimestamp(part.from))
		span.End(trace.WithTimestamp(part.to))
	}
	return s
}

// published names what the push became.
func (s *spans) published(p *Push) {
	s.root.SetAttributes(attribute.Int64("meshd.push", int64(p.Number)), attribute.Int64("meshd.snapshot", int64(p.version)))
}

// nothing ends the trace of a push that became no snapshot.
func (s *spans) nothing(err error) {
	outcome := "unchanged"
	if err != nil {
		outcome = "failed"
		s.root.SetStatus(codes.Error, err.Error())
	}
	s.root.SetAttributes(attribute.String("meshd.outcome", outcome))
	s.end()
}

// begin makes a span if there may be one more of its kind. at is when its work ended.
func (s *spans) begin(count *int, most int, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	*count++
	if at.After(s.active) {
		s.active = at
	}
	return *count <= most && s.root != nil
}

// end closes the root, at the time when something happened last.
func (s *spans) end() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.root == nil {
		return
	}
	c := s.counts
	s.root.SetAttributes(
		attribute.Int("meshd.generated", c.generate), attribute.Int("meshd.sent", c.send),
		attribute.Int("meshd.sent.resources", c.resources), attribute.Int("meshd.sent.bytes", c.bytes),
		attribute.Int("meshd.accepted", c.accepted), attribute.Int("meshd.refused", c.refused))
	s.root.End(trace.WithTimestamp(s.active))
	s.root = nil
}

// idle reports whether nothing happened since a time.
func (s *spans) idle(since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.root != nil && s.active.Before(since)
}

// Work is something that is being done for a push. The zero value is for no push.
type Work struct {
	spans *spans
	typ   string
	began time.Time
}

// Generate books that resources of a type are being made. The push may be nil.
func (p *Push) Generate(typ string) Work {
	if p == nil || p.spans == nil {
		return Work{}
	}
	return Work{p.spans, typ, time.Now()}
}

// End books that they are made.
func (w Work) End() {
	if w.spans == nil {
		return
	}
	now := time.Now()
	if !w.spans.begin(&w.spans.counts.generate, maxGenerate, now) {
		return
	}
	_, span := w.spans.tracer.Start(w.spans.ctx, "generate", trace.WithTimestamp(w.began), trace.WithAttributes(attribute.String("meshd.type", w.typ)))
	span.End(trace.WithTimestamp(now))
}

// Response is what was sent to a client.
type Response struct {
	// Node is the client, Type what the response is of, as metrics have it.
	Node, Type string
	// Resources and Bytes are how many and how large.
	Resources, Bytes int
	// Began is when making it began, Sent when it was handed to the connection.
	Began, Sent time.Time
}

// Flight is a response that is not answered.
type Flight struct {
	Sent  time.Time
	spans *spans
	ctx   context.Context // of its span; nil if it has none
}

// Sent books a response that comes of some pushes, of which the last is the one whose trace it belongs to. Without any
// it is of none, for example what a new client is sent first.
func Sent(pushes []*Push, r Response) Flight {
	f := Flight{Sent: r.Sent}
	if len(pushes) == 0 {
		return f
	}
	s := pushes[len(pushes)-1].spans
	if s == nil {
		return f
	}
	f.spans = s
	s.mu.Lock()
	s.counts.resources += r.Resources
	s.counts.bytes += r.Bytes
	s.mu.Unlock()
	if !s.begin(&s.counts.send, maxSend, r.Sent) {
		return f
	}
	var links []trace.Link
	for _, p := range pushes[:len(pushes)-1] {
		if p.spans != nil {
			links = append(links, trace.LinkFromContext(p.spans.ctx))
		}
	}
	ctx, span := s.tracer.Start(s.ctx, "send", trace.WithTimestamp(r.Began), trace.WithLinks(links...), trace.WithAttributes(
		attribute.String("meshd.node", r.Node), attribute.String("meshd.type", r.Type),
		attribute.Int("meshd.resources", r.Resources), attribute.Int("meshd.bytes", r.Bytes)))
	span.End(trace.WithTimestamp(r.Sent))
	f.ctx = ctx
	return f
}

// Answered books that the client accepted or refused it.
func (f Flight) Answered(at time.Time, refused bool) {
	if f.spans == nil {
		return
	}
	if refused {
		f.spans.begin(&f.spans.counts.refused, 0, at)
	} else {
		f.spans.begin(&f.spans.counts.accepted, 0, at)
	}
	if f.ctx == nil {
		return
	}
	_, span := f.spans.tracer.Start(f.ctx, "ack", trace.WithTimestamp(f.Sent), trace.WithAttributes(attribute.Bool("meshd.refused", refused)))
	if refused {
		span.SetStatus(codes.Error, "the client refused the response")
	}
	span.End(trace.WithTimestamp(at))
}
