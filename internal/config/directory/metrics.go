package directory

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

type metrics struct {
	files, degraded    prometheus.Gauge
	objects, problems  *prometheus.GaugeVec
	skipped, documents prometheus.Gauge
	scans              prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "meshd_directory_" + name, Help: help})
	}
	vector := func(name, help, label string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "meshd_directory_" + name, Help: help}, []string{label})
	}
	m := &metrics{
		files:     gauge("files", "Manifest files in use."),
		documents: gauge("documents", "Documents in the manifest files in use."),
		objects:   vector("objects", "Objects in the stores, by kind.", "kind"),
		skipped:   gauge("skipped_documents", "Documents of kinds that are not read."),
		problems:  vector("problems", "Bad or unreadable files and duplicate objects, by kind of problem.", "problem"),
		degraded:  gauge("degraded", "1 while something in the directory cannot be read and its last good state is in use."),
		scans: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "meshd_directory_scans_total", Help: "Looks at the whole directory.",
		}),
	}
	for _, c := range []prometheus.Collector{m.files, m.documents, m.objects, m.skipped, m.problems, m.degraded, m.scans} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("directory source: register metrics: %w", err)
		}
	}
	return m, nil
}

func (m *metrics) publish(s *Status) {
	m.files.Set(float64(s.Files))
	m.documents.Set(float64(s.Documents))
	for _, kind := range order {
		m.objects.WithLabelValues(string(kind)).Set(float64(s.Objects[kind]))
	}
	skipped := 0
	for _, n := range s.Skipped {
		skipped += n
	}
	m.skipped.Set(float64(skipped))
	problems := map[ProblemKind]int{}
	for _, p := range s.Problems {
		problems[p.Kind]++
	}
	for _, kind := range []ProblemKind{BadFile, Unreadable, Duplicate} {
		m.problems.WithLabelValues(string(kind)).Set(float64(problems[kind]))
	}
	m.degraded.Set(0)
	if s.Degraded != "" {
		m.degraded.Set(1)
	}
	m.scans.Inc()
}
