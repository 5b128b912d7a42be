package cluster

import (
	"math"
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/envoy"
	"github.com/meshd/meshd/internal/translate/names"
)

type outboundKey struct {
	mesh       *snapshot.Mesh
	service    *snapshot.Service
	port       model.Port
	istioBuild bool
	// asClient says that the protocol is what the client speaks, asDialled that the address is what it dialled.
	asClient, asDialled bool
}

// outbound is the cluster of a service port: one for the whole mesh.
func outbound(mesh *snapshot.Mesh, service *snapshot.Service, port model.Port, c class) translate.Recipe {
	key := outboundKey{
		mesh: mesh, service: service, port: port, istioBuild: c.istioBuild,
		// A sidecar's listener detects the protocol, so it knows what the client speaks. A gateway does not detect.
		asClient: port.Protocol == model.ProtocolAuto && c.sidecar,
		// A gateway's clients dial the gateway, so it needs endpoints for headless services too.
		asDialled: service.Resolution == model.ResolutionPassthrough && c.sidecar,
	}
	return translate.Recipe{
		Name:  names.Outbound(service.Hostname, port.Number),
		Key:   key,
		Build: build(mesh, func(b *builder) *clusterv3.Cluster { return b.outbound(key) }),
	}
}

func (b *builder) outbound(key outboundKey) *clusterv3.Cluster {
	service, port := key.service, key.port
	name := names.Outbound(service.Hostname, port.Number)
	config := b.mesh.Config
	cluster := &clusterv3.Cluster{
		Name:            name,
		AltStatName:     names.StatPrefix(name),
		ConnectTimeout:  config.GetConnectTimeout(),
		CircuitBreakers: unlimited(),
		// With fewer healthy endpoints than the threshold Envoy would send to all of them, healthy or not.
		CommonLbConfig: &clusterv3.Cluster_CommonLbConfig{HealthyPanicThreshold: &typev3.Percent{}},
		Metadata:       serviceMetadata([]*model.Service{service.Service}),
	}
	http2 := port.Protocol.IsHTTP2() ||
		port.Protocol.IsHTTP() && config.GetH2UpgradePolicy() == meshv1alpha1.MeshConfig_UPGRADE
	if service.Sticky {
		// Envoy drops what drains unless it is told to keep it, and then uses it for nothing but the sessions bound to it.
		cluster.CommonLbConfig.OverrideHostStatus = &corev3.HealthStatusSet{Statuses: []corev3.HealthStatus{
			corev3.HealthStatus_HEALTHY, corev3.HealthStatus_DRAINING, corev3.HealthStatus_UNKNOWN, corev3.HealthStatus_DEGRADED,
		}}
	}
	if envoy.PlacesWeighted(config, service.Service) {
		cluster.CommonLbConfig.LocalityConfigSpecifier = &clusterv3.Cluster_CommonLbConfig_LocalityWeightedLbConfig_{
			LocalityWeightedLbConfig: &clusterv3.Cluster_CommonLbConfig_LocalityWeightedLbConfig{},
		}
	}
	b.protocol(cluster, http2, key.asClient)
	if key.istioBuild {
		cluster.Filters = []*clusterv3.Filter{{Name: envoy.MetadataExchangeName, TypedConfig: b.MetadataExchangeTCP()}}
	}

	var tls *corev3.TransportSocket
	if config.GetEnableAutoMtls().GetValue() &&
		(service.Resolution != model.ResolutionPassthrough || slices.Contains(service.Mutual, port.Number)) {
		tls = b.UpstreamMutualTLS(names.SNI(service.Hostname, port.Number), service.Identities, alpn(http2, key.istioBuild))
	}
	if key.asDialled {
		// The address is the one the client dialled, so nothing says for each endpoint whether it takes TLS.
		cluster.ClusterDiscoveryType = discovery(clusterv3.Cluster_ORIGINAL_DST)
		cluster.LbPolicy = clusterv3.Cluster_CLUSTER_PROVIDED
		cluster.TransportSocket = tls
		return cluster
	}
	cluster.ClusterDiscoveryType = discovery(clusterv3.Cluster_EDS)
	cluster.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{ServiceName: name, EdsConfig: envoy.OverADS()}
	cluster.LbPolicy = clusterv3.Cluster_LEAST_REQUEST
	if tls != nil {
		cluster.TransportSocketMatches = []*clusterv3.Cluster_TransportSocketMatch{
			{
				Name: "tlsMode-istio",
				Match: &structpb.Struct{Fields: map[string]*structpb.Value{
					"tlsMode": structpb.NewStringValue("istio"),
				}},
				TransportSocket: tls,
			},
			{Name: "tlsMode-disabled", Match: &structpb.Struct{}, TransportSocket: b.RawBuffer()},
		}
	}
	return cluster
}

// alpn is what a connection announces before anything is known of its content. Without the exchange filter the
// exchange must not be announced: the peer would wait for it.
func alpn(http2, istioBuild bool) []string {
	var out []string
	if istioBuild {
		out = append(out, envoy.ALPNPeerExchange)
	}
	out = append(out, envoy.ALPNIstio)
	if http2 {
		out = append(out, envoy.ALPNHTTP2)
	}
	return out
}

// protocol sets what HTTP to speak upstream: HTTP/1.1 if nothing is set, HTTP/2, or for a detected protocol what the
// client spoke.
func (b *builder) protocol(cluster *clusterv3.Cluster, http2, asClient bool) {
	options := &httpv3.HttpProtocolOptions{}
	switch {
	case http2:
		options.UpstreamProtocolOptions = &httpv3.HttpProtocolOptions_ExplicitHttpConfig_{
			ExplicitHttpConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig{
				ProtocolConfig: &httpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
					Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
				},
			},
		}
	case asClient:
		options.UpstreamProtocolOptions = clientProtocol()
	default:
		return
	}
	b.httpOptions(cluster, options)
}

func clientProtocol() *httpv3.HttpProtocolOptions_UseDownstreamProtocolConfig {
	return &httpv3.HttpProtocolOptions_UseDownstreamProtocolConfig{
		UseDownstreamProtocolConfig: &httpv3.HttpProtocolOptions_UseDownstreamHttpConfig{
			HttpProtocolOptions:  &corev3.Http1ProtocolOptions{},
			Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
		},
	}
}

func (b *builder) httpOptions(cluster *clusterv3.Cluster, options *httpv3.HttpProtocolOptions) {
	cluster.TypedExtensionProtocolOptions = map[string]*anypb.Any{
		"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": b.Any(options),
	}
}

func discovery(t clusterv3.Cluster_DiscoveryType) *clusterv3.Cluster_Type {
	return &clusterv3.Cluster_Type{Type: t}
}

// unlimited turns Envoy's circuit breakers off: its defaults (1024 connections and requests) would be limits that
// nobody configured.
func unlimited() *clusterv3.CircuitBreakers {
	no := wrapperspb.UInt32(math.MaxUint32)
	return &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxConnections: no, MaxPendingRequests: no, MaxRequests: no, MaxRetries: no,
	}}}
}

// serviceMetadata names the services behind a cluster; the metrics of Istio's proxies take their labels from it.
func serviceMetadata(services []*model.Service) *corev3.Metadata {
	list := &structpb.ListValue{}
	for _, s := range services {
		list.Values = append(list.Values, structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"host":      structpb.NewStringValue(s.Hostname),
			"name":      structpb.NewStringValue(s.Name),
			"namespace": structpb.NewStringValue(s.Namespace),
		}}))
	}
	return &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
		"istio": {Fields: map[string]*structpb.Value{"services": structpb.NewListValue(list)}},
	}}
}
