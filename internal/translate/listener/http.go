package listener

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	grpcstatsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/grpc_stats/v3"
	grpcwebv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/grpc_web/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	uuidv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/request_id/uuid/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/translate/envoy"
	"github.com/meshd/meshd/internal/translate/names"
)

// outboundRequests routes requests by a configuration that comes on its own.
func (b *builder) outboundRequests(statPrefix string, p plan) *listenerv3.Filter {
	manager := b.manager(statPrefix)
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
		ConfigSource: envoy.OverADS(), RouteConfigName: p.route,
	}}
	manager.HttpFilters = b.httpFilters(false, p.protocol)
	return filter("envoy.filters.network.http_connection_manager", b.Any(manager))
}

// inboundRequests hands requests to the workload, with the client's identity in a header.
func (b *builder) inboundRequests(statPrefix string, protocol model.Protocol, route *routev3.RouteConfiguration) *listenerv3.Filter {
	manager := b.manager(statPrefix)
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: route}
	manager.HttpFilters = b.httpFilters(true, protocol)
	manager.ServerName = "istio-envoy"
	manager.ForwardClientCertDetails = hcmv3.HttpConnectionManager_APPEND_FORWARD
	manager.SetCurrentClientCertDetails = &hcmv3.HttpConnectionManager_SetCurrentClientCertDetails{
		Subject: wrapperspb.Bool(true), Dns: true, Uri: true,
	}
	if protocol.IsHTTP2() {
		manager.Http2ProtocolOptions = &corev3.Http2ProtocolOptions{}
	}
	return filter("envoy.filters.network.http_connection_manager", b.Any(manager))
}

// manager is what inbound and outbound requests have in common.
func (b *builder) manager(statPrefix string) *hcmv3.HttpConnectionManager {
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix:        names.StatPrefix(statPrefix),
		AccessLog:         b.AccessLog(b.mesh.Config),
		Tracing:           b.tracing(),
		UpgradeConfigs:    []*hcmv3.HttpConnectionManager_UpgradeConfig{{UpgradeType: "websocket"}},
		UseRemoteAddress:  wrapperspb.Bool(false),
		StreamIdleTimeout: durationpb.New(0), // streams may idle; Envoy's default of five minutes breaks long polls
		Proxy_100Continue: true,
		RequestIdExtension: &hcmv3.RequestIDExtension{TypedConfig: b.Any(&uuidv3.UuidRequestIdConfig{
			UseRequestIdForTraceSampling: wrapperspb.Bool(true),
		})},
		NormalizePath:                wrapperspb.Bool(true),
		PathWithEscapedSlashesAction: hcmv3.HttpConnectionManager_KEEP_UNCHANGED,
	}
	switch b.mesh.Config.GetPathNormalization().GetNormalization() {
	case meshv1alpha1.MeshConfig_ProxyPathNormalization_NONE:
		manager.NormalizePath = wrapperspb.Bool(false)
	case meshv1alpha1.MeshConfig_ProxyPathNormalization_MERGE_SLASHES:
		manager.MergeSlashes = true
	case meshv1alpha1.MeshConfig_ProxyPathNormalization_DECODE_AND_MERGE_SLASHES:
		manager.MergeSlashes = true
		manager.PathWithEscapedSlashesAction = hcmv3.HttpConnectionManager_UNESCAPE_AND_FORWARD
	}
	return manager
}

// httpFilters in the order of a request. The exchange of metadata comes first, so that what follows knows the peer;
// the router ends the list.
func (b *builder) httpFilters(inbound bool, protocol model.Protocol) []*hcmv3.HttpFilter {
	var out []*hcmv3.HttpFilter
	add := func(name string, config *anypb.Any) {
		out = append(out, &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: config}})
	}
	if b.istioBuild {
		add(envoy.MetadataExchangeName, b.MetadataExchangeHTTP(inbound))
	}
	if protocol == model.ProtocolGRPCWeb {
		add("envoy.filters.http.grpc_web", b.Any(&grpcwebv3.GrpcWeb{}))
	}
	add("envoy.filters.http.grpc_stats", b.Any(&grpcstatsv3.FilterConfig{
		EmitFilterState: true,
		PerMethodStatSpecifier: &grpcstatsv3.FilterConfig_StatsForAllMethods{
			StatsForAllMethods: wrapperspb.Bool(false), // one statistic per method would be without bound
		},
	}))
	if b.istioBuild && !inbound {
		add("istio.alpn", b.ALPN())
	}
	add("envoy.filters.http.fault", b.Any(&faultv3.HTTPFault{}))
	add("envoy.filters.http.cors", b.Any(&corsv3.Cors{}))
	if b.istioBuild && envoy.StatsWanted(b.mesh.Config) {
		add(envoy.StatsName, b.Stats(inbound))
	}
	add("envoy.filters.http.router", b.Any(&routerv3.Router{}))
	return out
}
