package xds

import (
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meshd/meshd/internal/xds/resource"
)

// metrics are the counts of a server. Names that begin with pilot_ are Istio's, whose dashboards read them.
type metrics struct {
	connected *prometheus.GaugeVec
	pushes    *prometheus.CounterVec
	rejects   *prometheus.CounterVec
	pushTime  *prometheus.HistogramVec
	failures  *prometheus.CounterVec
	unknown   prometheus.Counter

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

func newMetrics(reg prometheus.Registerer, stats func() resource.Stats) (*metrics, error) {
	m := &metrics{
		versions: map[string]struct{}{},
		connected: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pilot_xds", Help: "Number of clients connected over xDS, by the version they run."}, []string{"version"}),
		pushes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pilot_xds_pushes", Help: "Responses sent, and (type with suffix _senderr) not sent because the stream broke."}, []string{"type"}),
		rejects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pilot_total_xds_rejects", Help: "Responses that clients refused."}, []string{"type"}),
		// Buckets as Istio has them.
		pushTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pilot_xds_push_time", Help: "Seconds from beginning to make a response until it is handed to the connection.",
			Buckets: []float64{.01, .1, 1, 3, 5, 10, 20, 30}}, []string{"type"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "meshd_xds_resources_failed_total", Help: "Resources that could not be made; the last good version of each stays in use."}, []string{"type"}),
		unknown: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "meshd_xds_unknown_types_total", Help: "Requests for types that are not served; they are not answered."}),
	}
	all := []prometheus.Collector{m.connected, m.pushes, m.rejects, m.pushTime, m.failures, m.unknown,
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "meshd_xds_resources_generated_total", Help: "Resources generated and serialised."},
			func() float64 { return float64(stats().Generated) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "meshd_xds_resources_reused_total", Help: "Times a resource was wanted that had been generated before."},
			func() float64 { return float64(stats().Reused) }),
	}
	for _, c := range all {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("xds server: register its metrics: %w", err)
		}
	}
	return m, nil
}
