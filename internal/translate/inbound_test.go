package translate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
)

func TestInboundPorts(t *testing.T) {
	target := func(host string, created int64, port, targetPort uint32, protocol model.Protocol) snapshot.InboundTarget {
		return snapshot.InboundTarget{
			Service:    &model.Service{Hostname: host, Created: created},
			Port:       model.Port{Number: port, Protocol: protocol},
			TargetPort: targetPort,
		}
	}
	in := &snapshot.Inbound{Targets: []snapshot.InboundTarget{
		target("young", 9, 80, 8080, model.ProtocolHTTP),
		target("old", 1, 81, 8080, model.ProtocolTCP),
		target("a", 5, 81, 8080, model.ProtocolGRPC),
		target("b", 0, 53, 53, model.ProtocolUDP),
		target("a", 0, 53, 53, model.ProtocolTCP),
	}}
	type port struct {
		Number, ServicePort uint32
		Protocol            model.Protocol
		Services            []string
	}
	var got []port
	for _, p := range translate.InboundPorts(in) {
		g := port{Number: p.Number, ServicePort: p.Port.Number, Protocol: p.Port.Protocol}
		for _, s := range p.Services {
			g.Services = append(g.Services, s.Hostname)
		}
		got = append(got, g)
	}
	want := []port{
		{53, 53, model.ProtocolTCP, []string{"a", "b"}},
		// The oldest service decides the protocol; the one that comes through another service port is not named.
		{8080, 81, model.ProtocolTCP, []string{"old", "a"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	if in.Targets[0].Service.Hostname != "young" {
		t.Error("the snapshot's record was changed")
	}
	if got := translate.InboundPorts(nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}
