package listener

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/envoy"
	"github.com/meshd/meshd/internal/translate/names"
)

// acceptAtOnce makes a worker take one connection per event, so that connections spread over the workers.
const acceptAtOnce = 1

type virtualKey struct {
	mesh       *snapshot.Mesh
	istioBuild bool
	families   envoy.Families
	redirect   redirection
	inbound    *snapshot.Inbound
	tags       tags
	reserved   [2]uint32
}

// virtual are the listeners that the pod's traffic is redirected to.
func virtual(mesh *snapshot.Mesh, c class, name string) (translate.Recipe, bool) {
	if c.redirect == redirectNONE {
		return translate.Recipe{}, false
	}
	key := virtualKey{mesh: mesh, istioBuild: c.istioBuild, families: c.families, redirect: c.redirect}
	var make func(*builder) *listenerv3.Listener
	switch name {
	case names.VirtualOutbound:
		make = func(b *builder) *listenerv3.Listener { return b.virtualOutbound(c) }
	case names.VirtualInbound:
		key.inbound, key.tags, key.reserved = c.inbound, c.tags, c.reserved
		make = func(b *builder) *listenerv3.Listener { return b.virtualInbound(c) }
	default:
		return translate.Recipe{}, false
	}
	return translate.Recipe{Name: name, Key: key, Build: build(mesh, c.istioBuild, key.tags, make)}, true
}

// virtualOutbound hands connections to the listener of their original destination, and keeps those that have none.
func (b *builder) virtualOutbound(c class) *listenerv3.Listener {
	port := uint32(b.mesh.Config.GetProxyListenPort())
	return &listenerv3.Listener{
		Name:                                 names.VirtualOutbound,
		Address:                              envoy.Address(c.families.Wildcard(), port),
		AdditionalAddresses:                  otherFamily(c, port),
		TrafficDirection:                     corev3.TrafficDirection_OUTBOUND,
		UseOriginalDst:                       wrapperspb.Bool(true),
		Transparent:                          transparent(c.redirect),
		MaxConnectionsToAcceptPerSocketEvent: wrapperspb.UInt32(acceptAtOnce),
		AccessLog:                            b.ListenerAccessLog(b.mesh.Config),
		FilterChains: []*listenerv3.FilterChain{
			b.blackhole("virtualOutbound-blackhole", port, b.stats(false)),
			{Name: "virtualOutbound-catchall-tcp", Filters: b.anywhere()},
		},
	}
}

// virtualInbound takes all connections to the workload.
func (b *builder) virtualInbound(c class) *listenerv3.Listener {
	port := uint32(b.mesh.Config.GetProxyInboundListenPort())
	chains := []*listenerv3.FilterChain{
		b.blackhole("virtualInbound-blackhole", port, append(b.exchange(), b.stats(true)...)),
	}
	chains = append(chains, b.chains(passthrough)...)
	for _, p := range translate.InboundPorts(c.inbound) {
		if !c.isReserved(b.mesh, p.Number) {
			chains = append(chains, b.chains(targetOf(p, c))...)
		}
	}
	return &listenerv3.Listener{
		Name:                                 names.VirtualInbound,
		Address:                              envoy.Address(c.families.Wildcard(), port),
		AdditionalAddresses:                  otherFamily(c, port),
		TrafficDirection:                     corev3.TrafficDirection_INBOUND,
		Transparent:                          transparent(c.redirect),
		ContinueOnListenerFiltersTimeout:     true,
		MaxConnectionsToAcceptPerSocketEvent: wrapperspb.UInt32(acceptAtOnce),
		AccessLog:                            b.ListenerAccessLog(b.mesh.Config),
		FilterChains:                         chains,
		ListenerFilters:                      b.inspectors(chains, c.redirect),
		ListenerFiltersTimeout:               b.mesh.Config.GetProtocolDetectionTimeout(),
	}
}

// blackhole ends connections that were made to the virtual listener's own port: passing them on would be a loop.
func (b *builder) blackhole(name string, port uint32, before []*listenerv3.Filter) *listenerv3.FilterChain {
	return &listenerv3.FilterChain{
		Name:             name,
		FilterChainMatch: &listenerv3.FilterChainMatch{DestinationPort: wrapperspb.UInt32(port)},
		Filters:          append(before, b.tcpProxy(names.BlackHole, nil)),
	}
}

// otherFamily is the wildcard address of the family that the listener's own is not of, for a proxy that uses both.
func otherFamily(c class, port uint32) []*listenerv3.AdditionalAddress {
	if extra := c.families.ExtraWildcard(); c.families.Dual() {
		return []*listenerv3.AdditionalAddress{{Address: envoy.Address(extra, port)}}
	}
	return nil
}

func transparent(r redirection) *wrapperspb.BoolValue {
	if r == redirectTPROXY {
		return wrapperspb.Bool(true)
	}
	return nil
}
