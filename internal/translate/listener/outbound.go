package listener

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/envoy"
	"github.com/meshd/meshd/internal/translate/names"
)

// handshakeTimeout bounds the seconds until a connection's transport is ready, against clients that only occupy memory.
const handshakeTimeout = 15

type outboundKey struct {
	mesh       *snapshot.Mesh
	plan       plan
	istioBuild bool
	tags       tags
}

// outbound is a listener for calls to others. It does not listen on a port: the virtual outbound listener hands it
// connections by their original destination.
func outbound(mesh *snapshot.Mesh, p plan, c class) translate.Recipe {
	key := outboundKey{mesh: mesh, plan: p, istioBuild: c.istioBuild}
	if p.route != "" {
		key.tags = c.tags // only requests are traced
	}
	return translate.Recipe{
		Name: names.Listener(p.address, p.port),
		Key:  key,
		Build: build(mesh, c.istioBuild, key.tags, func(b *builder) *listenerv3.Listener {
			return b.outbound(p)
		}),
	}
}

func (b *builder) outbound(p plan) *listenerv3.Listener {
	name := names.Listener(p.address, p.port)
	l := &listenerv3.Listener{
		Name:                             name,
		Address:                          envoy.Address(p.address, p.port),
		TrafficDirection:                 corev3.TrafficDirection_OUTBOUND,
		BindToPort:                       wrapperspb.Bool(false),
		ContinueOnListenerFiltersTimeout: true,
		ListenerFiltersTimeout:           durationpb.New(0),
	}
	if p.extra != "" {
		l.AdditionalAddresses = []*listenerv3.AdditionalAddress{{Address: envoy.Address(p.extra, p.port)}}
	}
	connections := &listenerv3.FilterChain{Name: "PassthroughFilterChain", FilterChainMatch: &listenerv3.FilterChainMatch{}}
	if p.host == "" {
		connections.Filters = b.anywhere()
	} else {
		cluster := names.Outbound(p.host, p.port)
		connections = &listenerv3.FilterChain{
			Filters:                       b.connection(false, p.protocol, cluster),
			TransportSocketConnectTimeout: &durationpb.Duration{Seconds: handshakeTimeout},
		}
	}
	if p.route == "" {
		l.FilterChains = []*listenerv3.FilterChain{connections}
		return l
	}
	// A connection without a request has no name to be routed by: it goes where the fallback says.
	l.DefaultFilterChain = connections
	l.FilterChains = []*listenerv3.FilterChain{{
		FilterChainMatch:              &listenerv3.FilterChainMatch{TransportProtocol: rawBuffer, ApplicationProtocols: plainHTTP},
		Filters:                       []*listenerv3.Filter{b.outboundRequests("outbound_"+name, p)},
		TransportSocketConnectTimeout: &durationpb.Duration{Seconds: handshakeTimeout},
	}}
	l.ListenerFilters = []*listenerv3.ListenerFilter{b.httpInspector(nil)}
	l.ListenerFiltersTimeout = b.mesh.Config.GetProtocolDetectionTimeout()
	return l
}

// anywhere forwards connections to unknown places as the mesh's policy says.
func (b *builder) anywhere() []*listenerv3.Filter {
	cluster := names.Passthrough
	if b.mesh.Config.GetOutboundTrafficPolicy().GetMode() == meshv1alpha1.MeshConfig_OutboundTrafficPolicy_REGISTRY_ONLY {
		cluster = names.BlackHole
	}
	return append(b.stats(false), b.tcpProxy(cluster, b.AccessLog(b.mesh.Config)))
}
