package translate

import (
	"cmp"
	"fmt"
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
// the protocol of a port, the oldest is right; of services of one age, the first by hostname; of the ports of one service,
// the first that it lists.
func InboundPorts(inbound *snapshot.Inbound) []InboundPort {
	var out []InboundPort
	for _, t := range byPort(inbound) {
		if n := len(out); n == 0 || out[n-1].Number != t.TargetPort {
			out = append(out, InboundPort{Number: t.TargetPort, Port: t.Port, Services: []*model.Service{t.Service}})
		} else if p := &out[n-1]; p.Port.Number == t.Port.Number && !slices.Contains(p.Services, t.Service) {
			p.Services = append(p.Services, t.Service)
		}
	}
	return out
}

// byPort sorts what leads to a workload by the workload's port, what decides on its protocol first.
func byPort(inbound *snapshot.Inbound) []snapshot.InboundTarget {
	if inbound == nil {
		return nil
	}
	targets := slices.Clone(inbound.Targets)
	slices.SortStableFunc(targets, func(a, b snapshot.InboundTarget) int {
		return cmp.Or(cmp.Compare(a.TargetPort, b.TargetPort), Older(a.Service, b.Service))
	})
	return targets
}

// Conflict is a service port that leads to a port of a workload in another protocol than the one that decides. The
// workload's proxy takes what the latter says.
type Conflict struct{ Winner, Loser snapshot.InboundTarget }

// String names both, "port 9000: x.shop.svc:81 says TCP, y.shop.svc:80 says HTTP".
func (c Conflict) String() string {
	says := func(t snapshot.InboundTarget) string {
		return fmt.Sprintf("%s:%d says %s", t.Service.Hostname, t.Port.Number, t.Port.Protocol)
	}
	return fmt.Sprintf("port %d: %s, %s", c.Winner.TargetPort, says(c.Winner), says(c.Loser))
}

// Conflicts lists the service ports that are not heard about the protocol of a workload's port. UDP is none: it is not
// proxied, so it may share a port with anything.
func Conflicts(inbound *snapshot.Inbound) []Conflict {
	var out []Conflict
	var winner snapshot.InboundTarget
	for _, t := range byPort(inbound) {
		switch {
		case t.Port.Protocol == model.ProtocolUDP:
		case winner.TargetPort != t.TargetPort:
			winner = t
		case t.Port.Protocol != winner.Port.Protocol:
			out = append(out, Conflict{winner, t})
		}
	}
	return out
}

// Older compares services for conflicts: who was there first keeps what both claim.
func Older(a, b *model.Service) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Hostname, b.Hostname))
}
