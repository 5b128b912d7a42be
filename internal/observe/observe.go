// Package observe tells of the mesh and of the build as metrics, at the moment that somebody asks.
package observe

import (
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meshd/meshd/internal/snapshot"
)

// Register adds the metrics of the mesh, which are absent until there is a snapshot, and those of the build. It is an
// error if one is registered already.
func Register(reg prometheus.Registerer, live func() (*snapshot.Live, bool), version string) error {
	about := func(name, help string, labels prometheus.Labels) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return 1 })
	}
	for _, c := range []prometheus.Collector{
		newMesh(live),
		about("pilot_info", "1; the label is the version of this build.", prometheus.Labels{"version": version}),
		about("istio_build", "1; the tag is the version of this build.", prometheus.Labels{"component": "pilot", "tag": version}),
	} {
		if err := reg.Register(c); err != nil {
			return fmt.Errorf("register metrics of the mesh: %w", err)
		}
	}
	return nil
}

// Uptime gives the metric of how long the process runs, from a time.
func Uptime(began time.Time) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "istiod_uptime_seconds", Help: "Seconds since the process began to serve this page."},
		func() float64 { return time.Since(began).Seconds() })
}

// mesh counts what is in a snapshot, once for each.
type mesh struct {
	live func() (*snapshot.Live, bool)

	services, empty, endpoints, version *prometheus.Desc

	mu     sync.Mutex
	counts counts
}

type counts struct {
	of                         *snapshot.Snapshot
	services, empty, endpoints int
}

func newMesh(live func() (*snapshot.Live, bool)) *mesh {
	return &mesh{
		live:      live,
		services:  prometheus.NewDesc("pilot_services", "Services in the newest snapshot.", nil, nil),
		empty:     prometheus.NewDesc("pilot_eds_no_instances", "Ports of services without endpoints.", nil, nil),
		endpoints: prometheus.NewDesc("meshd_endpoints", "Endpoints of ports of services, whatever their health.", nil, nil),
		version:   prometheus.NewDesc("meshd_snapshot_version", "Number of the newest snapshot; each process counts its own.", nil, nil),
	}
}

// Describe is prometheus.Collector's.
func (m *mesh) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.services, m.empty, m.endpoints, m.version} {
		ch <- d
	}
}

// Collect is prometheus.Collector's.
func (m *mesh) Collect(ch chan<- prometheus.Metric) {
	live, ok := m.live()
	if !ok {
		return // not yet, which is not none
	}
	c := m.count(live.Current())
	for desc, v := range map[*prometheus.Desc]float64{
		m.services: float64(c.services), m.empty: float64(c.empty), m.endpoints: float64(c.endpoints), m.version: float64(c.of.Version()),
	} {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v)
	}
}

func (m *mesh) count(s *snapshot.Snapshot) counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts.of == s {
		return m.counts
	}
	c := counts{of: s}
	for _, svc := range s.Services() {
		c.services++
		for _, port := range svc.Ports {
			n := 0
			if e := s.Endpoints(svc.Hostname, port.Number); e != nil {
				n = len(e.All)
			}
			c.endpoints += n
			if n == 0 {
				c.empty++
			}
		}
	}
	m.counts = c
	return c
}
