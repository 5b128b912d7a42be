package xds

import (
	"sync/atomic"
	"time"

	"github.com/meshd/meshd/internal/xds/push"
	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// lag is how far a stream is behind the mesh.
type lag struct {
	// queued is since when the stream has not looked at a new snapshot that it was told of; 0 if it has.
	// In nanoseconds since 1970.
	queued atomic.Int64

	// Only the deciding goroutine uses what follows.
	pushes []*push.Push           // not all of them is sent yet
	sent   bool                   // but something is
	flying map[string]push.Flight // what is not answered, by type URL
}

// wake books that there is something to look at.
func (l *lag) wake(now time.Time) { l.queued.CompareAndSwap(0, now.UnixNano()) }

// look books that the stream looks at the newest snapshot, and gives since when it was told to; the zero time if it was
// not. It comes before the look, so that what is told after it counts as not seen.
func (l *lag) look() (woken time.Time) {
	if at := l.queued.Swap(0); at != 0 {
		woken = time.Unix(0, at)
	}
	return woken
}

// maxBehind bounds the pushes that a stream is behind by and remembers. One is behind by more if it never answers.
const maxBehind = 64

// follow books that the stream goes over from one generation to another. Of a new stream there is no one before.
func (st *stream) follow(from, to *generation, woken, now time.Time) {
	if from == nil || from.push == nil || to.push == nil {
		return
	}
	m := st.server.metrics
	if !woken.IsZero() {
		m.queueTime.Observe(now.Sub(woken).Seconds())
	}
	for _, p := range st.server.deps.Pushes.Between(from.push, to.push) {
		m.triggered(p)
		if len(st.lag.pushes) < maxBehind {
			st.lag.pushes = append(st.lag.pushes, p)
		}
	}
}

// looked books that there is nothing to send now.
func (st *stream) looked() {
	l := &st.lag
	if len(l.pushes) == 0 || st.machine.Waits() {
		return
	}
	if l.sent {
		st.server.metrics.convergence.Observe(time.Since(l.pushes[0].First).Seconds())
	}
	l.pushes, l.sent = nil, false
}

// sent books a response: when making it began, when it was made, and how sending it ended.
func (st *stream) sent(r subscription.Response, began, made time.Time, err error) {
	m := st.server.metrics
	if err != nil {
		if st.wire.Context().Err() == nil {
			m.pushes.WithLabelValues(r.Type.Short + "_senderr").Inc()
		}
		return
	}
	now := time.Now()
	size := m.sent(r, now.Sub(began), now.Sub(made))
	st.lag.sent = len(st.lag.pushes) > 0
	if st.lag.flying == nil {
		st.lag.flying = map[string]push.Flight{}
	}
	st.lag.flying[r.Type.URL] = push.Sent(st.lag.pushes, push.Response{
		Node: st.proxy.ID, Type: r.Type.Short, Resources: len(r.Resources), Bytes: size, Began: began, Sent: now,
	})
}

// answered books a request.
func (st *stream) answered(typ resource.Type, outcome subscription.Outcome) {
	m := st.server.metrics
	m.requests.WithLabelValues(typ.Short, outcome.String()).Inc()
	switch outcome {
	case subscription.Refused:
		m.rejects.WithLabelValues(typ.Short).Inc()
	case subscription.Stale:
		m.expired.WithLabelValues(typ.Short).Inc()
		return
	case subscription.Acknowledged:
	default:
		return
	}
	flight, now := st.lag.flying[typ.URL], time.Now()
	m.ackTime.WithLabelValues(typ.Short).Observe(now.Sub(flight.Sent).Seconds())
	flight.Answered(now, outcome == subscription.Refused)
	delete(st.lag.flying, typ.URL)
}
