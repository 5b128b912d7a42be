// Package route makes the route configurations of a sidecar's outbound listeners: one for each port number that HTTP
// services have, and one for each service port whose protocol has to be detected.
package route

import (
	"cmp"
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/envoy"
	"github.com/meshd/meshd/internal/translate/names"
)

// TypeURL of the resources.
const TypeURL = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"

// maxDirectResponse bounds a direct response's body, in bytes. Envoy's default of 4096 is less than a usual error page.
const maxDirectResponse = 1 << 20

// New makes the generator of route configurations for sidecars.
func New() translate.Generator { return translate.Typed(generator{newTables()}) }

// class is what routes depend on of a proxy: which short names it may use for services, and which addresses. It is
// zero for proxies that stand alone: their routes are said by objects that are not read yet.
type class struct {
	sidecar  bool
	domain   string
	families envoy.Families
	// scope says whom there are routes to.
	scope snapshot.Scope
}

type generator struct{ tables *tables }

func (generator) TypeURL() string      { return TypeURL }
func (generator) Flavor() model.Flavor { return model.FlavorEnvoy }
func (generator) Wildcard() bool       { return false }

func (generator) Class(s *snapshot.Snapshot, p *model.Proxy) class {
	if p.Type != model.Sidecar {
		return class{}
	}
	return class{sidecar: true, domain: p.DNSDomain, families: envoy.FamiliesOf(p.IPs, s.Mesh().DualStack), scope: s.Scope(p.Namespace)}
}

func (g generator) List(c class) translate.Listing {
	return translate.Listing{Scope: c.scope, Port: func(s *snapshot.Snapshot, ps *snapshot.PortServices) []translate.Recipe {
		var out []translate.Recipe
		if r, ok := g.Named(s, c, names.PortRoute(ps.Number)); ok {
			out = append(out, r)
		}
		for _, service := range ps.Services {
			if r, ok := g.Named(s, c, names.ServiceRoute(service.Hostname, ps.Number)); ok {
				out = append(out, r)
			}
		}
		return out
	}}
}

type portKey struct {
	mesh     *snapshot.Mesh
	port     *snapshot.PortServices
	domain   string
	families envoy.Families
}

type serviceKey struct {
	mesh    *snapshot.Mesh
	service *snapshot.Service
}

func (g generator) Named(s *snapshot.Snapshot, c class, name string) (translate.Recipe, bool) {
	hostname, number, ok := names.ParseRoute(name)
	if !ok || !c.sidecar {
		return translate.Recipe{}, false
	}
	view := s.View(c.scope)
	if hostname == "" {
		ps := view.Port(number)
		if ps == nil || !hasHTTP(ps) {
			return translate.Recipe{}, false
		}
		return translate.Recipe{
			Name: name,
			Key:  portKey{s.Mesh(), ps, c.domain, c.families},
			Build: func() (proto.Message, error) {
				b := newBuilder(s.Mesh())
				out := b.forPort(name, ps, c)
				return out, b.Err()
			},
			Pieces: func() *translate.Pieces { return g.pieces(s.Mesh(), ps, c) },
		}, true
	}
	service := view.Service(hostname)
	if service == nil || service.Resolution == model.ResolutionDNS {
		return translate.Recipe{}, false
	}
	if port, ok := service.Port(number); !ok || port.Protocol != model.ProtocolAuto {
		return translate.Recipe{}, false
	}
	return translate.Recipe{
		Name: name,
		Key:  serviceKey{s.Mesh(), service},
		Build: func() (proto.Message, error) {
			b := newBuilder(s.Mesh())
			out := b.forService(name, service, number)
			return out, b.Err()
		},
	}, true
}

// hasHTTP reports whether there is a listener that all services of the port share.
func hasHTTP(ps *snapshot.PortServices) bool {
	return slices.ContainsFunc(ps.Services, func(s *snapshot.Service) bool {
		port, _ := s.Port(ps.Number)
		return port.Protocol.IsHTTP() && s.Resolution != model.ResolutionDNS
	})
}

// builder makes one route configuration.
type builder struct {
	envoy.Packer
	mesh *snapshot.Mesh
	// retries are those of all routes, which share them: a table has thousands.
	retries *routev3.RetryPolicy
}

func newBuilder(mesh *snapshot.Mesh) *builder {
	b := &builder{mesh: mesh}
	b.retries = b.Retries(mesh.Config.GetDefaultHttpRetryPolicy())
	return b
}

func configuration(name string, hosts []*routev3.VirtualHost) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{
		Name:         name,
		VirtualHosts: hosts,
		// Clusters arrive on their own; a route to one that is not there yet must not make the whole table invalid.
		ValidateClusters:               wrapperspb.Bool(false),
		MaxDirectResponseBodySizeBytes: wrapperspb.UInt32(maxDirectResponse),
		IgnorePortInHostMatching:       true,
	}
}

// forPort has a virtual host for each service that may speak HTTP on the port, and one for every other name.
func (b *builder) forPort(name string, ps *snapshot.PortServices, c class) *routev3.RouteConfiguration {
	seen := taken{}
	var hosts []*routev3.VirtualHost
	for _, service := range ps.Services {
		if !hasHost(service, ps.Number) {
			continue
		}
		if domains := seen.claim(domains(service, c)); len(domains) > 0 {
			hosts = append(hosts, b.virtualHost(service.Service, ps.Number, domains))
		}
	}
	slices.SortStableFunc(hosts, func(a, b *routev3.VirtualHost) int { return cmp.Compare(a.Name, b.Name) })
	return configuration(name, append(hosts, b.anythingElse()))
}

// hasHost reports whether a service may be spoken to in HTTP on a port.
func hasHost(service *snapshot.Service, number uint32) bool {
	port, _ := service.Port(number)
	return service.Resolution != model.ResolutionDNS && (port.Protocol.IsHTTP() || port.Protocol == model.ProtocolAuto)
}

// forService takes every host name: the listener has told by the address which service is meant.
func (b *builder) forService(name string, service *snapshot.Service, port uint32) *routev3.RouteConfiguration {
	return configuration(name, []*routev3.VirtualHost{b.virtualHost(service.Service, port, []string{"*"})})
}
