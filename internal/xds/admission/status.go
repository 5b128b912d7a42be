package admission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Status is how things stand at one moment, for debug pages.
type Status struct {
	// Open counts all streams. Of them, Waiting wait for a turn, the Unbegun ones of those for their first, and Served
	// have a turn.
	Open    int `json:"open"`
	Waiting int `json:"waiting"`
	Unbegun int `json:"unbegun"`
	Served  int `json:"served"`
	// Sources are those with the most streams, most first.
	Sources []SourceStatus `json:"sources"`
}

// SourceStatus is one source of streams.
type SourceStatus struct {
	Source  string `json:"source"`
	Streams int    `json:"streams"`
}

// shown is how many sources a status lists.
const shown = 20

// Status gives how things stand.
func (q *Queue) Status() Status {
	q.mu.Lock()
	sources := maps.Clone(q.sources)
	s := Status{Open: q.open, Waiting: q.begun.Len() + q.fresh.Len(), Unbegun: q.fresh.Len(), Served: q.turns, Sources: []SourceStatus{}}
	q.mu.Unlock()
	for source, n := range sources {
		s.Sources = append(s.Sources, SourceStatus{source, n})
	}
	slices.SortFunc(s.Sources, func(a, b SourceStatus) int {
		return cmp.Or(cmp.Compare(b.Streams, a.Streams), cmp.Compare(a.Source, b.Source))
	})
	s.Sources = s.Sources[:min(len(s.Sources), shown)]
	return s
}

// count gives how many streams there are, and how many of them wait.
func (q *Queue) count() (open, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open, q.begun.Len() + q.fresh.Len()
}

// metrics are the counts of a queue.
type metrics struct {
	waited  prometheus.Histogram
	refused *prometheus.CounterVec
}

func newMetrics(reg prometheus.Registerer, count func() (open, waiting int)) (*metrics, error) {
	m := &metrics{
		waited: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "meshd_xds_admission_wait_seconds", Help: "Seconds from a stream's first request until it is served.",
			Buckets: []float64{.001, .01, .1, .5, 1, 5, 10, 30, 60, 120}}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "meshd_xds_streams_refused_total", Help: "Streams refused because there are too many, by the limit: total, source."}, []string{"limit"}),
	}
	for _, limit := range []string{limitTotal, limitSource} {
		m.refused.WithLabelValues(limit) // there from the beginning, so that a rate over it sees the first one
	}
	for _, c := range []prometheus.Collector{m.waited, m.refused,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "meshd_xds_streams_open", Help: "Streams that are open, those that wait included."},
			func() float64 { open, _ := count(); return float64(open) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "meshd_xds_streams_waiting", Help: "Streams that wait for a turn to be served."},
			func() float64 { _, waiting := count(); return float64(waiting) }),
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("admission of streams: register its metrics: %w", err)
		}
	}
	return m, nil
}
