package push

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meshd/meshd/internal/model"
)

// metrics are about the way of changes up to the snapshot. Names that begin with pilot_ are Istio's, and so are their
// buckets.
type metrics struct {
	inbound  *prometheus.CounterVec
	debounce prometheus.Histogram
	compile  prometheus.Histogram
	age      prometheus.Collector
}

func newMetrics(j *Journal) *metrics {
	return &metrics{
		inbound: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pilot_inbound_updates", Help: "Changes that came: eds of endpoints, svc of services, config of anything else."}, []string{"type"}),
		debounce: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pilot_debounce_time", Help: "Seconds from the first change of a batch until its snapshot is published.",
			Buckets: []float64{.01, .1, 1, 3, 5, 10, 20, 30}}),
		compile: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pilot_pushcontext_init_seconds", Help: "Seconds to compile a batch of changes into a snapshot.",
			Buckets: []float64{.01, .1, .5, 1, 3, 5}}),
		age: &age{journal: j, desc: prometheus.NewDesc("meshd_snapshot_age_seconds",
			"Seconds since the newest snapshot was published; absent before the first.", nil, nil)},
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.inbound, m.debounce, m.compile, m.age}
}

func (m *metrics) changed(c model.Change) {
	typ := "config"
	switch ReasonOf(c) {
	case Endpoint:
		typ = "eds"
	case Service:
		typ = "svc"
	}
	m.inbound.WithLabelValues(typ).Inc()
}

func (m *metrics) published(p *Push) { m.debounce.Observe(p.Compiled.Sub(p.First).Seconds()) }

func (m *metrics) compiled(took time.Duration) { m.compile.Observe(took.Seconds()) }

// age is how old the newest snapshot is, at the moment that somebody asks.
type age struct {
	journal *Journal
	desc    *prometheus.Desc
}

func (a *age) Describe(ch chan<- *prometheus.Desc) { ch <- a.desc }

func (a *age) Collect(ch chan<- prometheus.Metric) {
	if p := a.journal.last(); p != nil {
		ch <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, time.Since(p.Compiled).Seconds())
	}
}
