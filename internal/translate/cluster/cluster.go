// Package cluster makes the clusters of a proxy: one for each service port of the mesh and, for a sidecar, one for each
// port of the workload itself and those for traffic that belongs to no service.
package cluster

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/envoy"
	"github.com/meshd/meshd/internal/translate/names"
)

// TypeURL of the resources.
const TypeURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

// New makes the generator of clusters for sidecars and gateways.
func New() translate.Generator { return translate.Typed(generator{}) }

// class is what clusters depend on of a proxy. The clusters of services depend on istioBuild alone, those of detected
// protocols and of headless services also on sidecar.
type class struct {
	// sidecar is false for proxies that stand alone: nothing is redirected to them.
	sidecar bool
	// istioBuild says that the proxy has the filters of Istio's build of Envoy.
	istioBuild bool
	families   envoy.Families
	// inbound is nil for a proxy that takes no redirected traffic.
	inbound *snapshot.Inbound
	// scope says whose clusters there are.
	scope snapshot.Scope
}

type generator struct{}

func (generator) TypeURL() string      { return TypeURL }
func (generator) Flavor() model.Flavor { return model.FlavorEnvoy }
func (generator) Wildcard() bool       { return true }

func (generator) Class(s *snapshot.Snapshot, p *model.Proxy) class {
	c := class{sidecar: p.Type == model.Sidecar, istioBuild: p.Metadata.IstioVersion != "", scope: s.Scope(p.Namespace)}
	if !c.sidecar {
		return c
	}
	c.families = envoy.FamiliesOf(p.IPs, s.Mesh().DualStack)
	if p.Metadata.InterceptionMode != "NONE" {
		c.inbound = s.Inbound(p)
	}
	return c
}

func (generator) List(c class) translate.Listing {
	shared := class{sidecar: c.sidecar, istioBuild: c.istioBuild, scope: c.scope}
	return translate.Listing{
		Scope:  c.scope,
		Shared: shared,
		Service: func(s *snapshot.Snapshot, service *snapshot.Service) []translate.Recipe {
			var out []translate.Recipe
			for _, port := range outboundPorts(service) {
				out = append(out, outbound(s.Mesh(), service, port, shared))
			}
			return out
		},
		Rest: func(s *snapshot.Snapshot) []translate.Recipe {
			var out []translate.Recipe
			for _, port := range translate.InboundPorts(c.inbound) {
				out = append(out, inbound(s.Mesh(), port, c))
			}
			for _, name := range []string{names.BlackHole, names.Passthrough, names.InboundPassthrough} {
				if r, ok := fixed(s.Mesh(), c, name); ok {
					out = append(out, r)
				}
			}
			return out
		},
	}
}

func (generator) Named(s *snapshot.Snapshot, c class, name string) (translate.Recipe, bool) {
	if hostname, number, ok := names.ParseOutbound(name); ok {
		service := s.View(c.scope).Service(hostname)
		if service == nil {
			return translate.Recipe{}, false
		}
		for _, port := range outboundPorts(service) {
			if port.Number == number {
				return outbound(s.Mesh(), service, port, c), true
			}
		}
		return translate.Recipe{}, false
	}
	if number, ok := names.ParseInbound(name); ok {
		for _, port := range translate.InboundPorts(c.inbound) {
			if port.Number == number {
				return inbound(s.Mesh(), port, c), true
			}
		}
		return translate.Recipe{}, false
	}
	return fixed(s.Mesh(), c, name)
}

// outboundPorts are the ports that get a cluster: UDP is not proxied, and a service that is an alias of another name
// has no clusters of its own.
func outboundPorts(service *snapshot.Service) []model.Port {
	if service.Resolution == model.ResolutionDNS {
		return nil
	}
	var out []model.Port
	for _, port := range service.Ports {
		if port.Protocol != model.ProtocolUDP {
			out = append(out, port)
		}
	}
	return out
}

// builder makes one cluster.
type builder struct {
	envoy.Packer
	mesh *snapshot.Mesh
}

// build finishes a recipe: make is called with a builder of its own each time.
func build(mesh *snapshot.Mesh, make func(*builder) *clusterv3.Cluster) func() (proto.Message, error) {
	return func() (proto.Message, error) {
		b := &builder{mesh: mesh}
		c := make(b)
		return c, b.Err()
	}
}
