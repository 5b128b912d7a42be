package proxyless

import (
	"net/netip"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/envoy"
	"github.com/meshd/meshd/internal/translate/listener"
	"github.com/meshd/meshd/internal/translate/names"
)

// inboundPrefix begins the names by which servers ask for their own listeners; Istio's agent puts it into the gRPC
// bootstrap as server_listener_resource_name_template.
const inboundPrefix = "xds.istio.io/grpc/lds/inbound/"

// listenerClass is what listeners depend on of a client: which short names it may use, what leads to it, and whom it
// sees.
type listenerClass struct {
	domain  string
	inbound *snapshot.Inbound
	scope   snapshot.Scope
}

type listeners struct{ base }

func (listeners) TypeURL() string { return listener.TypeURL }

func (listeners) Class(s *snapshot.Snapshot, p *model.Proxy) listenerClass {
	return listenerClass{domain: p.DNSDomain, inbound: s.Inbound(p), scope: s.Scope(p.Namespace)}
}

// List lists the outbound listeners by full name; short names and inbound listeners are answered when they are asked for.
func (l listeners) List(c listenerClass) translate.Listing {
	return list(c.scope, func(s *snapshot.Snapshot, service *snapshot.Service, port uint32) (translate.Recipe, bool) {
		return l.Named(s, c, names.HostPort(service.Hostname, port))
	})
}

type outboundListenerKey struct {
	hostname string
	address  string
}

type inboundListenerKey struct{}

func (listeners) Named(s *snapshot.Snapshot, c listenerClass, name string) (translate.Recipe, bool) {
	if socket, ok := strings.CutPrefix(name, inboundPrefix); ok {
		host, port, ok := splitHostPort(socket)
		if _, err := netip.ParseAddr(host); err != nil || !ok || !accepts(c.inbound, port) {
			return translate.Recipe{}, false
		}
		return translate.Recipe{Name: name, Key: inboundListenerKey{}, Build: func() (proto.Message, error) {
			return inboundListener(name, host, port)
		}}, true
	}
	host, port, ok := splitHostPort(name)
	if !ok {
		return translate.Recipe{}, false
	}
	service, ok := find(s.View(c.scope), host, port, c.domain)
	if !ok {
		return translate.Recipe{}, false
	}
	key := outboundListenerKey{hostname: service.Hostname, address: "0.0.0.0"}
	if len(service.Addresses) > 0 {
		key.address = service.Addresses[0]
	}
	return translate.Recipe{Name: name, Key: key, Build: func() (proto.Message, error) {
		return outboundListener(name, key.hostname, key.address, port)
	}}, true
}

// accepts reports whether a service leads to the port of the workload.
func accepts(inbound *snapshot.Inbound, port uint32) bool {
	for _, t := range inbound.Targets {
		if t.TargetPort == port {
			return true
		}
	}
	return false
}

func outboundListener(name, hostname, address string, port uint32) (proto.Message, error) {
	p := &envoy.Packer{}
	out := &listenerv3.Listener{
		Name:    name,
		Address: envoy.Address(address, port),
		ApiListener: &listenerv3.ApiListener{ApiListener: p.Any(&hcmv3.HttpConnectionManager{
			StatPrefix: names.StatPrefix(name),
			RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
				ConfigSource: envoy.OverADS(), RouteConfigName: names.Outbound(hostname, port),
			}},
			HttpFilters: router(p),
		})},
	}
	return out, p.Err()
}

// inboundListener accepts everything on the server's socket. Its routes are inside: one client in three asks for
// routes of servers only by chance. It must not have listener filters, which servers refuse.
func inboundListener(name, host string, port uint32) (proto.Message, error) {
	p := &envoy.Packer{}
	out := &listenerv3.Listener{
		Name:    name,
		Address: envoy.Address(host, port),
		FilterChains: []*listenerv3.FilterChain{{
			Name: "inbound-plaintext",
			Filters: []*listenerv3.Filter{{
				Name: "envoy.filters.network.http_connection_manager",
				ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: p.Any(&hcmv3.HttpConnectionManager{
					StatPrefix: names.StatPrefix("inbound"),
					RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
						Name: "inbound",
						VirtualHosts: []*routev3.VirtualHost{{
							Name:    "inbound",
							Domains: []string{"*"},
							Routes: []*routev3.Route{{
								Match:  anyPath(),
								Action: &routev3.Route_NonForwardingAction{NonForwardingAction: &routev3.NonForwardingAction{}},
							}},
						}},
					}},
					HttpFilters: router(p),
				})},
			}},
		}},
	}
	return out, p.Err()
}

// router ends the list of HTTP filters, as it must.
func router(p *envoy.Packer) []*hcmv3.HttpFilter {
	return []*hcmv3.HttpFilter{{
		Name:       "envoy.filters.http.router",
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: p.Any(&routerv3.Router{})},
	}}
}
