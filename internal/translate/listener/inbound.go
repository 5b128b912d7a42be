package listener

import (
	"strconv"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/envoy"
	"github.com/meshd/meshd/internal/translate/names"
)

// target is a port of the workload, or everything else that reaches it.
type target struct {
	// number is the workload's port; 0 for everything else.
	number   uint32
	protocol model.Protocol
	cluster  string
	// tcpName and httpName name the chains for connections and for requests.
	tcpName, httpName string
	statPrefix        string
	// hostname and servicePort are of the service that spans name.
	hostname    string
	servicePort uint32
}

// passthrough is what reaches the workload on ports of no service.
var passthrough = target{
	protocol:   model.ProtocolAuto,
	cluster:    names.InboundPassthrough,
	tcpName:    names.VirtualInbound,
	httpName:   names.VirtualInbound + "-catchall-http",
	statPrefix: names.InboundPassthrough,
}

func targetOf(p translate.InboundPort, c class) target {
	name := names.Listener(c.families.Wildcard(), p.Number)
	return target{
		number:      p.Number,
		protocol:    p.Port.Protocol,
		cluster:     names.Inbound(p.Number),
		tcpName:     name,
		httpName:    name,
		statPrefix:  "inbound_" + name,
		hostname:    p.Services[0].Hostname,
		servicePort: p.Port.Number,
	}
}

// match is what one filter chain takes.
type match struct {
	transport string
	alpn      []string
	// requests makes a chain for HTTP; else for connections.
	requests bool
	// mutual ends mutual TLS; else bytes are taken as they are.
	mutual bool
}

// permissive are the chains that take mutual TLS from other proxies and, beside it, what clients without a proxy send:
// plain text, and TLS of the application's own.
var permissive = map[kind][]match{
	kindHTTP: {
		{transport: tlsTransport, alpn: mutualAny, requests: true, mutual: true},
		{transport: rawBuffer, requests: true},
	},
	kindTCP: {
		{transport: tlsTransport, alpn: mutualAny, mutual: true},
		{transport: tlsTransport},
		{transport: rawBuffer},
	},
	kindAuto: {
		{transport: tlsTransport, alpn: mutualHTTP, requests: true, mutual: true},
		{transport: rawBuffer, alpn: plainHTTP, requests: true},
		{transport: tlsTransport, alpn: mutualTCP, mutual: true},
		{transport: rawBuffer},
		{transport: tlsTransport},
	},
}

// chains are the filter chains of a target.
func (b *builder) chains(t target) []*listenerv3.FilterChain {
	kind := kindOf(t.protocol)
	if kind == kindNone {
		// UDP itself never gets here, but what speaks it may take TCP on the same port: DNS does.
		kind = kindTCP
	}
	var out []*listenerv3.FilterChain
	for _, m := range permissive[kind] {
		chain := &listenerv3.FilterChain{
			Name:             t.tcpName,
			FilterChainMatch: &listenerv3.FilterChainMatch{TransportProtocol: m.transport, ApplicationProtocols: m.alpn},
		}
		if t.number != 0 {
			chain.FilterChainMatch.DestinationPort = wrapperspb.UInt32(t.number)
		}
		if m.requests {
			chain.Name = t.httpName
			chain.Filters = append(b.exchange(), b.inboundRequests(t.statPrefix, t.protocol, b.inboundRoute(t)))
		} else {
			chain.Filters = b.connection(true, t.protocol, t.cluster)
		}
		if m.mutual {
			chain.TransportSocket = b.serverTLS(m.requests)
		}
		out = append(out, chain)
	}
	return out
}

// serverTLS is the workload's side of mutual TLS.
func (b *builder) serverTLS(requests bool) *corev3.TransportSocket {
	alpn := []string{envoy.ALPNHTTP2, envoy.ALPNHTTP11}
	if !requests && b.istioBuild {
		alpn = append([]string{envoy.ALPNPeerExchange}, alpn...)
	}
	config := b.mesh.Config
	return b.DownstreamMutualTLS(append([]string{config.GetTrustDomain()}, config.GetTrustDomainAliases()...), alpn)
}

// inboundRoute sends every request to the workload, without a timeout of the proxy's own: the client has one.
func (b *builder) inboundRoute(t target) *routev3.RouteConfiguration {
	servicePort := strconv.FormatUint(uint64(t.servicePort), 10)
	action := &routev3.RouteAction{
		ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: t.cluster},
		Timeout:          durationpb.New(0),
		MaxStreamDuration: &routev3.RouteAction_MaxStreamDuration{
			MaxStreamDuration:    durationpb.New(0),
			GrpcTimeoutHeaderMax: durationpb.New(0),
		},
	}
	if t.protocol != model.ProtocolGRPC && t.protocol != model.ProtocolGRPCWeb {
		// A stream cannot be sent again.
		action.RetryPolicy = envoy.InboundRetries(b.mesh.Config.GetDefaultInboundHttpRetryPolicy())
	}
	return &routev3.RouteConfiguration{
		Name:             t.cluster,
		ValidateClusters: wrapperspb.Bool(false),
		VirtualHosts: []*routev3.VirtualHost{{
			Name:    "inbound|http|" + servicePort,
			Domains: []string{"*"},
			Routes: []*routev3.Route{{
				Name:      "default",
				Match:     &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
				Decorator: &routev3.Decorator{Operation: t.hostname + ":" + servicePort + "/*"},
				Action:    &routev3.Route_Route{Route: action},
			}},
		}},
	}
}
