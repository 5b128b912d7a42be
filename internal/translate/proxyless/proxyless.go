// Package proxyless makes what gRPC's own xDS clients and servers need to be members of the mesh without a proxy.
//
// They read little of what Envoy reads, each implementation a different part of it, and refuse some of the rest. So
// the resources here are the least that all of them accept: an api_listener by the name that was asked for, routes and
// clusters by the names of its service port, round robin, and for servers an inbound listener with its routes inside.
// Connections are plain text: without a policy that says otherwise a mesh is permissive, and these clients cannot
// offer mutual TLS and fall back.
package proxyless

import (
	"net"
	"strings"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/endpoint"
	"github.com/meshd/meshd/internal/translate/names"
)

// Generators makes the generators for all types that proxyless clients ask for.
func Generators() []translate.Generator {
	return []translate.Generator{
		translate.Typed(listeners{}),
		translate.Typed(routes{}),
		translate.Typed(clusters{}),
		endpoint.New(model.FlavorGRPC),
	}
}

// base is what the generators have in common. gRPC clients name what they want: a request without names is one that
// wants nothing any more, not one for everything.
type base struct{}

func (base) Flavor() model.Flavor { return model.FlavorGRPC }
func (base) Wildcard() bool       { return false }

// find gives the service port that requests can be sent to, or false. The caller's spelling may be a short name if
// domain is not empty.
func find(view snapshot.View, name string, number uint32, domain string) (*snapshot.Service, bool) {
	for _, hostname := range []string{name, names.Expand(name, domain)} {
		service := view.Service(strings.ToLower(hostname))
		if service == nil {
			continue
		}
		port, ok := service.Port(number)
		return service, ok && routable(service, port)
	}
	return nil, false
}

// routable reports whether gRPC may be spoken on a port. Undeclared protocols may be anything, gRPC too.
func routable(service *snapshot.Service, port model.Port) bool {
	return service.Resolution != model.ResolutionDNS && (port.Protocol.IsHTTP() || port.Protocol == model.ProtocolAuto)
}

// list enumerates what there is for each service port that requests can be sent to.
func list(scope snapshot.Scope, named func(s *snapshot.Snapshot, service *snapshot.Service, port uint32) (translate.Recipe, bool)) translate.Listing {
	return translate.Listing{Scope: scope, Service: func(s *snapshot.Snapshot, service *snapshot.Service) []translate.Recipe {
		var out []translate.Recipe
		for _, port := range service.Ports {
			if !routable(service, port) {
				continue
			}
			if r, ok := named(s, service, port.Number); ok {
				out = append(out, r)
			}
		}
		return out
	}}
}

// splitHostPort reads "host:port".
func splitHostPort(name string) (host string, port uint32, ok bool) {
	host, digits, err := net.SplitHostPort(name)
	if err != nil || host == "" {
		return "", 0, false
	}
	port, ok = names.ParsePort(digits)
	return host, port, ok
}
