package push

import (
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/xds/debounce"
)

// kept is how many pushes are remembered. Who has not caught up with an older one is behind by more than can be told.
const kept = 64

// Journal keeps the latest pushes. It is safe for concurrent use.
type Journal struct {
	metrics *metrics

	mu     sync.Mutex
	tracer trace.Tracer // nil while nothing is traced
	number uint64
	next   *Push   // is being compiled
	pushes []*Push // by number
}

// New makes an empty journal. It is an error if a metric is registered already.
func New(reg prometheus.Registerer) (*Journal, error) {
	j := &Journal{}
	j.metrics = newMetrics(j)
	for _, c := range j.metrics.all() {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("journal of pushes: register its metrics: %w", err)
		}
	}
	return j, nil
}

// Changed counts a change that came. It is a config.Sink.
func (j *Journal) Changed(c model.Change) { j.metrics.changed(c) }

// Begin books that a batch is going to be compiled. Batches are compiled one after another.
func (j *Journal) Begin(b debounce.Batch) {
	p := &Push{
		First: b.First, Last: b.Last, Taken: time.Now(), Reasons: map[Reason]int{}, EndpointsOnly: b.EndpointsOnly,
	}
	for c := range b.Changes {
		p.Reasons[ReasonOf(c)]++
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.next = p
}

// Publish books that the batch became a snapshot of that version. It is called before anybody can read the snapshot, so
// that whoever does finds the push that it comes from.
func (j *Journal) Publish(version uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.next
	if p == nil {
		return // nobody began
	}
	j.number++
	p.Number, p.version, p.Compiled = j.number, version, time.Now()
	if j.tracer != nil {
		p.spans = newSpans(j.tracer, p, p.Compiled)
		p.spans.published(p)
	}
	if len(j.pushes) == kept {
		j.pushes[0].spans.end()
		j.pushes = append(j.pushes[:0:0], j.pushes[1:]...)
	}
	j.pushes = append(j.pushes, p)
	j.metrics.published(p)
}

// End books that compiling the batch has ended. Without Publish before, it came to nothing: it failed, or nothing that
// anybody reads was different.
func (j *Journal) End(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.next
	if p == nil {
		return
	}
	j.next = nil
	now := time.Now()
	j.metrics.compiled(now.Sub(p.Taken))
	if p.Number == 0 && j.tracer != nil {
		newSpans(j.tracer, p, now).nothing(err)
	}
}

// Trace sends a trace of every push from now on to a tracer; nil ends that, and all traces that are open.
func (j *Journal) Trace(tracer trace.Tracer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tracer = tracer
	if tracer == nil {
		for _, p := range j.pushes {
			p.spans.end()
		}
	}
}

// Settle ends the traces of the pushes with which nothing happened since a time.
func (j *Journal) Settle(since time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, p := range j.pushes {
		if p.spans != nil && p.spans.idle(since) {
			p.spans.end()
		}
	}
}

// Of gives the push that the snapshot of a version comes from, or nil if it is not known.
func (j *Journal) Of(version uint64) *Push {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := len(j.pushes) - 1; i >= 0 && j.pushes[i].version >= version; i-- {
		if j.pushes[i].version == version {
			return j.pushes[i]
		}
	}
	return nil
}

// Between lists the pushes after one up to another, in order: what somebody missed who had the one and now has the
// other. Those that are too old to be remembered are missing.
func (j *Journal) Between(after, upTo *Push) []*Push {
	j.mu.Lock()
	defer j.mu.Unlock()
	from, to := 0, len(j.pushes)
	for from < to && after != nil && j.pushes[from].Number <= after.Number {
		from++
	}
	for to > from && upTo != nil && j.pushes[to-1].Number > upTo.Number {
		to--
	}
	return j.pushes[from:to:to]
}

// last gives the newest push, or nil.
func (j *Journal) last() *Push {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.pushes) == 0 {
		return nil
	}
	return j.pushes[len(j.pushes)-1]
}
