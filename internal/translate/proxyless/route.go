package proxyless

import (
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/envoy"
	"github.com/meshd/meshd/internal/translate/names"
	"github.com/meshd/meshd/internal/translate/route"
)

// routeClass is what routes depend on of a client: which short names it may use, and whom it sees.
type routeClass struct {
	domain string
	scope  snapshot.Scope
}

type routes struct{ base }

func (routes) TypeURL() string { return route.TypeURL }

func (routes) Class(s *snapshot.Snapshot, p *model.Proxy) routeClass {
	return routeClass{p.DNSDomain, s.Scope(p.Namespace)}
}

func (r routes) List(c routeClass) translate.Listing {
	return list(c.scope, func(s *snapshot.Snapshot, service *snapshot.Service, port uint32) (translate.Recipe, bool) {
		return r.Named(s, c, names.Outbound(service.Hostname, port))
	})
}

type routeKey struct {
	mesh    *snapshot.Mesh
	service *model.Service
	domain  string
}

func (routes) Named(s *snapshot.Snapshot, c routeClass, name string) (translate.Recipe, bool) {
	hostname, port, ok := names.ParseOutbound(name)
	if !ok {
		return translate.Recipe{}, false
	}
	service, ok := find(s.View(c.scope), hostname, port, "")
	if !ok {
		return translate.Recipe{}, false
	}
	return translate.Recipe{
		Name: name,
		Key:  routeKey{s.Mesh(), service.Service, c.domain},
		Build: func() (proto.Message, error) {
			return configuration(name, s.Mesh(), service.Service, port, c.domain), nil
		},
	}, true
}

func configuration(name string, mesh *snapshot.Mesh, service *model.Service, port uint32, domain string) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{
		Name: name,
		VirtualHosts: []*routev3.VirtualHost{{
			Name:    names.HostPort(service.Hostname, port),
			Domains: domains(service, port, domain),
			Routes: []*routev3.Route{{
				Name:  "default",
				Match: anyPath(),
				Action: &routev3.Route_Route{Route: &routev3.RouteAction{
					ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: name},
					RetryPolicy:      envoy.PlainRetries(mesh.Config.GetDefaultHttpRetryPolicy()),
				}},
			}},
		}},
	}
}

// domains are the names of the service with and without the port: a client matches its target's authority, which is
// "host:port" as the user spelt it.
func domains(service *model.Service, port uint32, domain string) []string {
	hosts := append([]string{service.Hostname}, names.Aliases(service.Hostname, domain)...)
	hosts = append(hosts, service.Addresses...)
	out := make([]string, 0, 2*len(hosts))
	for _, h := range hosts {
		out = append(out, h, names.HostPort(h, port))
	}
	return out
}

func anyPath() *routev3.RouteMatch {
	return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: ""}}
}
