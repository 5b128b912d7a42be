package envoy

import (
	"slices"

	"google.golang.org/protobuf/types/known/anypb"
	alpnv2alpha1 "istio.io/api/envoy/config/filter/http/alpn/v2alpha1"
	statsv1 "istio.io/api/envoy/extensions/stats"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
)

// The filters here exist in Istio's build of Envoy only: stock Envoy refuses a whole listener or cluster for them.

// MetadataExchangeName is the name of the filter by which two proxies tell each other who they are: one per TCP
// connection (between network filters) or per request (between HTTP filters).
const MetadataExchangeName = "istio.metadata_exchange"

// MetadataExchangeTCP tells and asks at the start of a connection whose ALPN is ALPNPeerExchange.
func (p *Packer) MetadataExchangeTCP() *anypb.Any {
	return p.TypedStruct("type.googleapis.com/envoy.tcp.metadataexchange.config.MetadataExchange", map[string]any{
		"protocol":         ALPNPeerExchange,
		"enable_discovery": true,
	})
}

// MetadataExchangeHTTP tells and asks in request and response headers, and falls back to the workload metadata of the
// endpoint. The peer of an inbound listener is downstream, that of an outbound listener upstream.
func (p *Packer) MetadataExchangeHTTP(inbound bool) *anypb.Any {
	peer := "upstream"
	if inbound {
		peer = "downstream"
	}
	headers := map[string]any{"istio_headers": map[string]any{}}
	return p.TypedStruct("type.googleapis.com/io.istio.http.peer_metadata.Config", map[string]any{
		peer + "_discovery":   []any{headers, map[string]any{"workload_discovery": map[string]any{}}},
		peer + "_propagation": []any{headers},
	})
}

// ALPN makes the upstream connection of a request announce what the request is, so that the peer can pick HTTP
// processing for a port whose protocol it has to detect.
func (p *Packer) ALPN() *anypb.Any {
	override := func(of alpnv2alpha1.FilterConfig_Protocol, by ...string) *alpnv2alpha1.FilterConfig_AlpnOverride {
		return &alpnv2alpha1.FilterConfig_AlpnOverride{UpstreamProtocol: of, AlpnOverride: by}
	}
	// The last name of each is for peers outside of the mesh.
	return p.Any(&alpnv2alpha1.FilterConfig{AlpnOverride: []*alpnv2alpha1.FilterConfig_AlpnOverride{
		override(alpnv2alpha1.FilterConfig_HTTP10, "istio-http/1.0", ALPNIstio, "http/1.0"),
		override(alpnv2alpha1.FilterConfig_HTTP11, "istio-http/1.1", ALPNIstio, ALPNHTTP11),
		override(alpnv2alpha1.FilterConfig_HTTP2, "istio-h2", ALPNIstio, ALPNHTTP2),
	}})
}

// StatsName is the name of the filter that keeps Istio's standard metrics.
const StatsName = "istio.stats"

// Stats is the filter behind Istio's standard metrics. A server does not believe the Host header in its labels: it
// is what a client writes, without bound.
func (p *Packer) Stats(inbound bool) *anypb.Any {
	return p.Any(&statsv1.PluginConfig{DisableHostHeaderFallback: inbound})
}

// StatsWanted reports whether the mesh config names a Prometheus provider as a default for metrics.
func StatsWanted(mesh *meshv1alpha1.MeshConfig) bool {
	return slices.ContainsFunc(mesh.GetDefaultProviders().GetMetrics(), func(name string) bool {
		i := slices.IndexFunc(mesh.GetExtensionProviders(), func(e *meshv1alpha1.MeshConfig_ExtensionProvider) bool {
			return e.GetName() == name
		})
		if i < 0 {
			return name == "prometheus" // built in unless redefined
		}
		return mesh.GetExtensionProviders()[i].GetPrometheus() != nil
	})
}
