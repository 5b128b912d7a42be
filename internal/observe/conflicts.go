package observe

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
)

// maxSaid bounds the conflicts that one snapshot brings into the log.
const maxSaid = 20

// Conflicts knows which service ports claim a port of a workload in different protocols, in the newest snapshot. Pods of
// a workload have the same conflict, and it is one: it is counted once, and logged once when the first pod has it.
type Conflicts struct {
	log  *zap.Logger
	desc *prometheus.Desc

	mu   sync.Mutex
	last *snapshot.Snapshot
	pods map[string]int // that have a conflict, by what it says
}

// NewConflicts makes one that has seen no snapshot. It is an error if its metric is registered already.
func NewConflicts(log *zap.Logger, reg prometheus.Registerer) (*Conflicts, error) {
	c := &Conflicts{
		log: log, pods: map[string]int{},
		desc: prometheus.NewDesc("pilot_conflict_inbound_listener", "Ports of workloads that services claim in different protocols, by service port that is not heard.", nil, nil),
	}
	if err := reg.Register(c); err != nil {
		return nil, fmt.Errorf("register the metric of conflicts over ports: %w", err)
	}
	return c, nil
}

// Follow goes over to a newer snapshot of the same compiler. It costs in proportion to the pods that something else leads
// to than before.
func (c *Conflicts) Follow(s *snapshot.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := map[*snapshot.Inbound][]translate.Conflict{} // pods of a workload have one Inbound
	changes, what := map[string]int{}, map[string]translate.Conflict{}
	count := func(in *snapshot.Inbound, by int) {
		if in == nil {
			return
		}
		list, ok := known[in]
		if !ok {
			list = translate.Conflicts(in)
			known[in] = list
		}
		for _, conflict := range list {
			text := conflict.String()
			changes[text] += by
			what[text] = conflict
		}
	}
	snapshot.InboundsSince(c.last, s, func(was, is *snapshot.Inbound) {
		count(was, -1)
		count(is, 1)
	})
	c.last = s
	said := 0
	for _, text := range slices.Sorted(maps.Keys(changes)) {
		before := c.pods[text]
		now := before + changes[text]
		if now == 0 {
			delete(c.pods, text)
			continue
		}
		if c.pods[text] = now; before > 0 {
			continue
		}
		if said++; said <= maxSaid {
			c.say(what[text], now)
		}
	}
	if said > maxSaid {
		c.log.Warn("more service ports disagree on protocols; /debug/push_status has those of connected clients", zap.Int("conflicts", said-maxSaid))
	}
}

func (c *Conflicts) say(conflict translate.Conflict, pods int) {
	port := func(t snapshot.InboundTarget) string { return fmt.Sprintf("%s:%d", t.Service.Hostname, t.Port.Number) }
	c.log.Warn("two service ports lead to one port of a workload in different protocols: that of the older service counts",
		zap.Uint32("port", conflict.Winner.TargetPort), zap.Int("pods", pods),
		zap.String("counts", port(conflict.Winner)), zap.String("protocol", string(conflict.Winner.Port.Protocol)),
		zap.String("not", port(conflict.Loser)), zap.String("notProtocol", string(conflict.Loser.Port.Protocol)))
}

// Describe is prometheus.Collector's.
func (c *Conflicts) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect is prometheus.Collector's.
func (c *Conflicts) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return // not yet, which is not none
	}
	ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(len(c.pods)))
}
