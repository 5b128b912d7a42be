package translate

import (
	"cmp"
	"slices"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
)

// InboundPort is one of the workload's own ports, as services lead to it.
type InboundPort struct {
	// Number is the port that the workload listens on.
	Number uint32
	// Port is the service port that decides the protocol: that of the oldest service.
	Port model.Port
	// Services lead to the workload's port through the same service port as the oldest, which comes first.
	Services []*model.Service
}

// InboundPorts groups what leads to a workload by the workload's ports, sorted by number. Where services disagree on
// the protocol of a port, the oldest is right; of services of one age, the first by hostname.
func InboundPorts(inbound *snapshot.Inbound) []InboundPort {
	if inbound == nil {
		return nil
	}
	targets := slices.Clone(inbound.Targets)
	slices.SortStableFunc(targets, func(a, b snapshot.InboundTarget) int {
		return cmp.Or(cmp.Compare(a.TargetPort, b.TargetPort), Older(a.Service, b.Service))
	})
	var out []InboundPort
	for _, t := range targets {
		if n := len(out); n == 0 || out[n-1].Number != t.TargetPort {
			out = append(out, InboundPort{Number: t.TargetPort, Port: t.Port, Services: []*model.Service{t.Service}})
		} else if p := &out[n-1]; p.Port.Number == t.Port.Number && !slices.Contains(p.Services, t.Service) {
			p.Services = append(p.Services, t.Service)
		}
	}
	return out
}

// Older compares services for conflicts: who was there first keeps what both claim.
func Older(a, b *model.Service) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Hostname, b.Hostname))
}
