package xds

import (
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meshd/meshd/internal/xds/push"
	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// metrics are what a server counts and measures while it serves. Names that begin with pilot_ are Istio's, whose
// dashboards read them, and so are their labels and buckets. docs/metrics.md lists all.
type metrics struct {
	connected *prometheus.GaugeVec
	requests  *prometheus.CounterVec
	pushes    *prometheus.CounterVec
	empty     *prometheus.CounterVec
	rejects   *prometheus.CounterVec
	expired   *prometheus.CounterVec
	triggers  *prometheus.CounterVec
	failures  *prometheus.CounterVec
	unknown   prometheus.Counter
	internal  prometheus.Counter

	pushTime    *prometheus.HistogramVec
	configSize  *prometheus.HistogramVec
	ackTime     *prometheus.HistogramVec
	sendTime    prometheus.Histogram
	queueTime   prometheus.Histogram
	convergence prometheus.Histogram

	mu       sync.Mutex
	versions map[string]struct{}
}

// maxVersions bounds the versions that are counted apart. A mesh has a handful, but clients say themselves what they run.
const maxVersions = 100

// version is the label that a client is counted by.
func (m *metrics) version(said string) string {
	if said == "" {
		return "unknown"
	}
	said = fmt.Sprintf("%.40s", said)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.versions[said]; !ok {
		if len(m.versions) >= maxVersions {
			return "other"
		}
		m.versions[said] = struct{}{}
	}
	return said
}

// Istio's buckets for times of clients, in seconds.
var (
	workBuckets = []float64{.01, .1, 1, 3, 5, 10, 20, 30}
	waitBuckets = []float64{.1, .5, 1, 3, 5, 10, 20, 30}
)

func newMetrics(reg prometheus.Registerer, stats func() resource.Stats) (*metrics, error) {
	counters := func(name, help string, label ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, label)
	}
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	histograms := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"type"})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	total := func(name, help string, of func(resource.Stats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(of(stats())) })
	}
	m := &metrics{
		versions: map[string]struct{}{},
		connected: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pilot_xds", Help: "Number of clients connected over xDS, by the version they run."}, []string{"version"}),
		requests: counters("meshd_xds_requests_total", "Requests for types that are served, by what they came to.", "type", "outcome"),
		pushes:   counters("pilot_xds_pushes", "Responses sent, and (type with suffix _senderr) not sent because the stream broke.", "type"),
		empty:    counters("meshd_xds_empty_responses_total", "Responses that leave a client with nothing of the type: what it asked for does not exist.", "type"),
		rejects:  counters("pilot_total_xds_rejects", "Responses that clients refused.", "type"),
		expired:  counters("pilot_xds_expired_nonce", "Requests with a nonce that is not that of the last response.", "type"),
		triggers: counters("pilot_push_triggers", "Changes that streams were told of, by what changed.", "type"),
		failures: counters("meshd_xds_resources_failed_total", "Resources that could not be made; the last good version of each stays in use.", "type"),
		unknown:  counter("meshd_xds_unknown_types_total", "Requests for types that are not served; they are not answered."),
		internal: counter("pilot_total_xds_internal_errors", "Streams that were ended and resources that could not be made by a fault of the control plane."),

		pushTime:    histograms("pilot_xds_push_time", "Seconds from beginning to make a response until it is handed to the connection.", workBuckets),
		sendTime:    histogram("pilot_xds_send_time", "Seconds to hand a response to the connection.", workBuckets),
		configSize:  histograms("pilot_xds_config_size_bytes", "Bytes of the resources of a response, by type URL.", []float64{1, 10e3, 1e6, 4e6, 10e6, 40e6}),
		queueTime:   histogram("pilot_proxy_queue_time", "Seconds from a new snapshot until a stream looks at it.", waitBuckets),
		convergence: histogram("pilot_proxy_convergence_time", "Seconds from a change until everything that comes of it is sent to a client.", waitBuckets),
		ackTime:     histograms("meshd_xds_answer_time_seconds", "Seconds from sending a response until the client accepts or refuses it.", waitBuckets),
	}
	for _, c := range []prometheus.Collector{
		m.connected, m.requests, m.pushes, m.empty, m.rejects, m.expired, m.triggers, m.failures, m.unknown, m.internal,
		m.pushTime, m.sendTime, m.configSize, m.queueTime, m.convergence, m.ackTime,
		total("meshd_xds_resources_generated_total", "Resources generated and serialised.", func(s resource.Stats) uint64 { return s.Generated }),
		total("meshd_xds_resources_reused_total", "Times a resource was wanted that had been generated before.", func(s resource.Stats) uint64 { return s.Reused }),
	} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("xds server: register its metrics: %w", err)
		}
	}
	return m, nil
}

// sent counts a response: how long it took in all, and how long of that it took to send. It gives the size of its
// resources, in bytes.
func (m *metrics) sent(r subscription.Response, all, sending time.Duration) (size int) {
	m.pushes.WithLabelValues(r.Type.Short).Inc()
	m.pushTime.WithLabelValues(r.Type.Short).Observe(all.Seconds())
	m.sendTime.Observe(sending.Seconds())
	for _, res := range r.Resources {
		size += res.Size()
	}
	m.configSize.WithLabelValues(r.Type.URL).Observe(float64(size))
	return size
}

// triggered counts the reasons of a push for one stream.
func (m *metrics) triggered(p *push.Push) {
	for reason, n := range p.Reasons {
		m.triggers.WithLabelValues(string(reason)).Add(float64(n))
	}
}
