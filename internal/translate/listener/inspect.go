package listener

import (
	"cmp"
	"slices"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	httpinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/http_inspector/v3"
	originaldstv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/original_dst/v3"
	originalsrcv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/original_src/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Transport protocols as listener filters detect them.
const (
	rawBuffer    = "raw_buffer"
	tlsTransport = "tls"
)

// Application protocols as listener filters detect them, or as proxies announce them to each other.
var (
	plainHTTP  = []string{"http/1.1", "h2c"}
	mutualHTTP = []string{"istio-http/1.0", "istio-http/1.1", "istio-h2"}
	mutualTCP  = []string{"istio-peer-exchange", "istio"}
	mutualAny  = []string{"istio", "istio-peer-exchange", "istio-http/1.0", "istio-http/1.1", "istio-h2"}
)

// tproxyMark marks packets that the proxy sends in the name of the client, so that the pod's rules let them pass.
const tproxyMark = 1337

// tlsReadBuffer is how much of a connection the TLS inspector asks for at first, in bytes: most client hellos fit.
const tlsReadBuffer = 512

// inspectors are the listener filters that the filter chains' matches need. An inspector is off for ports where no
// chain asks for it: it waits for the client's first bytes, and some protocols begin with the server's.
func (b *builder) inspectors(chains []*listenerv3.FilterChain, redirect redirection) []*listenerv3.ListenerFilter {
	out := []*listenerv3.ListenerFilter{
		listenerFilter("envoy.filters.listener.original_dst", b.Any(&originaldstv3.OriginalDst{}), nil),
	}
	if redirect == redirectTPROXY {
		out = append(out, listenerFilter("envoy.filters.listener.original_src", b.Any(&originalsrcv3.OriginalSrc{Mark: tproxyMark}), nil))
	}
	noTLS := without(chains, func(m *listenerv3.FilterChainMatch) bool { return m.GetTransportProtocol() == tlsTransport })
	noHTTP := without(chains, func(m *listenerv3.FilterChainMatch) bool {
		return slices.Equal(m.GetApplicationProtocols(), plainHTTP)
	})
	return append(out, b.tlsInspector(noTLS), b.httpInspector(noHTTP))
}

func (b *builder) tlsInspector(except []uint32) *listenerv3.ListenerFilter {
	config := b.Any(&tlsinspectorv3.TlsInspector{InitialReadBufferSize: wrapperspb.UInt32(tlsReadBuffer)})
	return listenerFilter("envoy.filters.listener.tls_inspector", config, except)
}

func (b *builder) httpInspector(except []uint32) *listenerv3.ListenerFilter {
	return listenerFilter("envoy.filters.listener.http_inspector", b.Any(&httpinspectorv3.HttpInspector{}), except)
}

// without lists the ports for which chains exist and none of them needs something, sorted.
func without(chains []*listenerv3.FilterChain, needs func(*listenerv3.FilterChainMatch) bool) []uint32 {
	needed := map[uint32]bool{}
	for _, c := range chains {
		port := c.GetFilterChainMatch().GetDestinationPort().GetValue()
		needed[port] = needed[port] || needs(c.GetFilterChainMatch())
	}
	var out []uint32
	for port, yes := range needed {
		if !yes {
			out = append(out, port)
		}
	}
	slices.SortFunc(out, cmp.Compare[uint32])
	return out
}

func listenerFilter(name string, config *anypb.Any, exceptPorts []uint32) *listenerv3.ListenerFilter {
	out := &listenerv3.ListenerFilter{Name: name, ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: config}}
	var rules []*listenerv3.ListenerFilterChainMatchPredicate
	for _, port := range exceptPorts {
		rules = append(rules, &listenerv3.ListenerFilterChainMatchPredicate{
			Rule: &listenerv3.ListenerFilterChainMatchPredicate_DestinationPortRange{
				DestinationPortRange: &typev3.Int32Range{Start: int32(port), End: int32(port) + 1},
			},
		})
	}
	switch len(rules) {
	case 0:
	case 1:
		out.FilterDisabled = rules[0]
	default:
		out.FilterDisabled = &listenerv3.ListenerFilterChainMatchPredicate{
			Rule: &listenerv3.ListenerFilterChainMatchPredicate_OrMatch{
				OrMatch: &listenerv3.ListenerFilterChainMatchPredicate_MatchSet{Rules: rules},
			},
		}
	}
	return out
}
