package xds

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// collector tells of the state of a server at the moment that somebody asks: what there is of resources, classes and
// streams. Its labels are those of the table of generators, so there are only so many.
type collector struct {
	server *Server

	resources, bytes, references, sharing, classes *prometheus.Desc // by type
	streams                                        *prometheus.Desc // by protocol and flavor
	unanswered, pending                            *prometheus.Desc // by type
	queue, oldest                                  *prometheus.Desc
}

func newCollector(s *Server) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("meshd_xds_"+name, help, labels, nil)
	}
	return &collector{
		server:     s,
		resources:  desc("resources", "Distinct resources that somebody refers to.", "type"),
		bytes:      desc("resource_bytes", "Bytes of those, serialised.", "type"),
		references: desc("references", "Resources that streams are subscribed to, summed over all streams.", "type"),
		sharing:    desc("sharing_ratio", "Streams that share one resource on average: references for each distinct one.", "type"),
		classes:    desc("classes", "Classes of clients that are alike in what resources of the type depend on.", "type"),
		streams:    desc("streams", "Open streams.", "protocol", "flavor"),
		unanswered: desc("unanswered_responses", "Responses that clients have neither accepted nor refused yet.", "type"),
		pending:    desc("pending_responses", "Streams for which something of the type waits until an answer comes.", "type"),
		queue:      desc("queue_length", "Streams that have not looked at a snapshot that they were told of."),
		oldest:     desc("queue_oldest_seconds", "How long the one has waited that has waited longest; 0 if none waits."),
	}
}

// Describe is prometheus.Collector's.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.resources, c.bytes, c.references, c.sharing, c.classes, c.streams, c.unanswered, c.pending, c.queue, c.oldest,
	} {
		ch <- d
	}
}

// byType is what is known of one type.
type byType struct{ resources, bytes, references, classes, unanswered, pending int }

// Collect is prometheus.Collector's.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	types := map[string]*byType{}
	for _, g := range c.server.generators {
		t := types[g.typ.Short]
		if t == nil {
			t = &byType{}
			types[g.typ.Short] = t
		}
		resources, bytes := g.pool.Live()
		t.resources += resources
		t.bytes += bytes
	}
	type who struct{ protocol, flavor string }
	streams := map[who]int{}
	for _, conn := range c.server.deps.Connections.List() {
		streams[who{conn.Protocol.String(), string(conn.Proxy.Flavor)}]++
		for _, s := range conn.Types {
			t := types[s.Type.Short]
			if t == nil {
				continue // a type that no generator makes
			}
			t.references += s.Resources
			if s.Unacknowledged {
				t.unanswered++
			}
			if s.Pending {
				t.pending++
			}
		}
	}
	queue, oldest := c.server.waiting(types)
	for short, t := range types {
		gauge(c.resources, float64(t.resources), short)
		gauge(c.bytes, float64(t.bytes), short)
		gauge(c.references, float64(t.references), short)
		gauge(c.classes, float64(t.classes), short)
		gauge(c.unanswered, float64(t.unanswered), short)
		gauge(c.pending, float64(t.pending), short)
		if t.resources > 0 {
			gauge(c.sharing, float64(t.references)/float64(t.resources), short)
		}
	}
	for w, n := range streams {
		gauge(c.streams, float64(n), w.protocol, w.flavor)
	}
	gauge(c.queue, float64(queue))
	gauge(c.oldest, oldest.Seconds())
}

// waiting counts classes, and the streams that have not looked at the newest snapshot.
func (s *Server) waiting(types map[string]*byType) (queue int, oldest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for st := range s.streams {
		if since := st.lag.queued.Load(); since != 0 {
			queue++
			oldest = max(oldest, now.Sub(time.Unix(0, since)))
		}
	}
	if g := s.generation; g != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		for k := range g.classes {
			types[k.generator.typ.Short].classes++
		}
	}
	return queue, oldest
}
