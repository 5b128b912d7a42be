// Package admission decides when a stream is served, and whether at all.
//
// After a restart thousands of streams arrive at once. Whoever serves them all at the same time serves everybody late,
// and whoever refuses some has them come back. So a stream takes turns: only so many are given out at a time, and the
// others wait in the order in which they came, for as long as it takes. What bounds the rate is how fast turns are
// given back, which is how fast the machine serves.
//
// A stream needs turns only until it has had its first answers. Those who have begun go before those who have not, so
// that the first who came are the first who are complete.
package admission

import (
	"container/list"
	"context"
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Options are the limits. The zero value has none but those of the machine.
type Options struct {
	// Turns is how many are given out at the same time; 0 means turnsPerCore for each core.
	Turns int
	// Hold is how long a turn lasts after a response was handed to the connection and is not answered; 0 means
	// defaultHold. So a client that reads slowly, or not at all, holds nobody up for long.
	Hold time.Duration
	// PerSecond bounds how many streams are given their first turn in a second; 0 means as many as the machine serves.
	PerSecond float64
	// Total is how many streams there may be, and PerSource from one address, those that wait included; 0 is no limit.
	Total, PerSource int
	// MaxAge is how long a stream is served, give or take a tenth at random; 0 is no limit.
	MaxAge time.Duration
}

const (
	// turnsPerCore keeps a core busy while most of those who have a turn wait for their client.
	turnsPerCore = 16
	// defaultHold is more than a client needs to answer in the same region. With it, two cores take in 32 streams a
	// second even if every client is slower and needs five turns; istiod takes 25 on such a machine.
	defaultHold = 200 * time.Millisecond
	// needed is how many turns a stream takes before it goes without: a proxy needs four to eight for its clusters,
	// endpoints, listeners and routes, depending on how its answers and its next questions arrive.
	needed = 8
	// warnEvery is how often it is logged that a limit is reached.
	warnEvery = time.Minute
)

// The limits that a stream can be refused for, as the metric names them.
const (
	limitTotal  = "total"
	limitSource = "source"
)

// Queue is everybody who is served or waits. It is safe for concurrent use.
type Queue struct {
	opts    Options
	log     *zap.Logger
	metrics *metrics

	mu           sync.Mutex
	turns        int       // given out
	begun, fresh list.List // those who wait, by whether they had a turn before
	open         int
	sources      map[string]int
	due          time.Time   // when the next stream may have its first turn
	alarm        *time.Timer // set for due, while somebody waits for it
	warned       map[string]time.Time
}

// New makes an empty queue. It is an error if an option is negative or a metric is registered already.
func New(o Options, log *zap.Logger, reg prometheus.Registerer) (*Queue, error) {
	if o.Turns < 0 || o.Hold < 0 || o.PerSecond < 0 || o.Total < 0 || o.PerSource < 0 || o.MaxAge < 0 {
		return nil, fmt.Errorf("admission of streams: no limit can be negative: %+v", o)
	}
	if o.Turns == 0 {
		o.Turns = turnsPerCore * runtime.GOMAXPROCS(0)
	}
	if o.Hold == 0 {
		o.Hold = defaultHold
	}
	q := &Queue{opts: o, log: log, sources: map[string]int{}, warned: map[string]time.Time{}}
	var err error
	q.metrics, err = newMetrics(reg, q.count)
	return q, err
}

// Source is what a stream is counted by: the address of its client, without the port.
func Source(ctx context.Context) string {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return "unknown"
	}
	addr := from.Addr.String()
	if host, _, err := net.SplitHostPort(addr); err == nil {
		return host
	}
	return addr
}

// Enter counts a stream in. Its error is a gRPC status, ResourceExhausted, if there are too many of them. Who was let in
// must Leave.
func (q *Queue) Enter(source string) (*Place, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if most := q.opts.Total; most > 0 && q.open >= most {
		return nil, q.refuse(limitTotal, fmt.Sprintf("there are %d streams, as many as --max-streams allows: connect to another replica", most))
	}
	if most := q.opts.PerSource; most > 0 && q.sources[source] >= most {
		return nil, q.refuse(limitSource, fmt.Sprintf("there are %d streams from %s, as many as --max-streams-per-source allows", most, source))
	}
	q.open++
	q.sources[source]++
	return &Place{q: q, source: source, needs: needed, expired: make(chan struct{})}, nil
}

// refuse counts a refusal and logs it now and then. The lock is held.
func (q *Queue) refuse(limit, text string) error {
	q.metrics.refused.WithLabelValues(limit).Inc()
	if now := time.Now(); now.Sub(q.warned[limit]) >= warnEvery {
		q.warned[limit] = now
		q.log.Warn("a stream is refused; said once a minute", zap.String("limit", limit), zap.String("reason", text))
	}
	return status.Error(codes.ResourceExhausted, text)
}

// give hands out turns as long as there are any. The lock is held.
func (q *Queue) give() {
	for q.turns < q.opts.Turns {
		from := &q.begun
		if from.Len() == 0 {
			if from = &q.fresh; from.Len() == 0 || !q.onTime() {
				return
			}
		}
		from.Remove(from.Front()).(*Place).take()
	}
}

// onTime reports whether another stream may have its first turn now, and books it; if not, it sees to it that give is
// called when it may. The lock is held.
func (q *Queue) onTime() bool {
	if q.opts.PerSecond == 0 {
		return true
	}
	now := time.Now()
	if wait := q.due.Sub(now); wait > 0 {
		if q.alarm == nil {
			q.alarm = time.AfterFunc(wait, func() {
				q.mu.Lock()
				defer q.mu.Unlock()
				q.alarm = nil
				q.give()
			})
		}
		return false
	}
	q.due = now.Add(time.Duration(float64(time.Second) / q.opts.PerSecond))
	return true
}
