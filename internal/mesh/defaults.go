// Package mesh holds the mesh config: Istio's MeshConfig with Istio's defaults, read from a file, checked and followed.
//
// It is a live source: who needs it holds the source, not a copy of a field, because it may change at any time.
package mesh

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	networkingv1alpha3 "istio.io/api/networking/v1alpha3"
)

// Default gives the mesh config that is in force where a file says nothing else. The values are those of istiod 1.31
// (https://istio.io/latest/docs/reference/config/istio.mesh.v1alpha1/). Each call makes a new one.
func Default() *meshv1alpha1.MeshConfig {
	return &meshv1alpha1.MeshConfig{
		ProxyListenPort:          15001,
		ProxyInboundListenPort:   15006,
		ConnectTimeout:           durationpb.New(10 * time.Second),
		ProtocolDetectionTimeout: durationpb.New(0), // 0 waits for ever
		// Used only for names that do not resolve; others are kept for as long as their record says.
		DnsRefreshRate: durationpb.New(60 * time.Second),

		TrustDomain:    "cluster.local",
		RootNamespace:  "istio-system",
		EnableAutoMtls: wrapperspb.Bool(true),

		DefaultServiceExportTo:         []string{"*"},
		DefaultVirtualServiceExportTo:  []string{"*"},
		DefaultDestinationRuleExportTo: []string{"*"},
		OutboundTrafficPolicy: &meshv1alpha1.MeshConfig_OutboundTrafficPolicy{
			Mode: meshv1alpha1.MeshConfig_OutboundTrafficPolicy_ALLOW_ANY,
		},
		InboundTrafficPolicy: &meshv1alpha1.MeshConfig_InboundTrafficPolicy{
			Mode: meshv1alpha1.MeshConfig_InboundTrafficPolicy_PASSTHROUGH,
		},
		LocalityLbSetting: &networkingv1alpha3.LocalityLoadBalancerSetting{Enabled: wrapperspb.Bool(true)},

		IngressClass:          "istio",
		IngressService:        "istio-ingressgateway",
		IngressControllerMode: meshv1alpha1.MeshConfig_STRICT,

		EnableTracing:         true,
		AccessLogEncoding:     meshv1alpha1.MeshConfig_TEXT,
		EnablePrometheusMerge: wrapperspb.Bool(true),
		DefaultProviders:      &meshv1alpha1.MeshConfig_DefaultProviders{},
		ExtensionProviders: []*meshv1alpha1.MeshConfig_ExtensionProvider{
			{Name: "prometheus", Provider: &meshv1alpha1.MeshConfig_ExtensionProvider_Prometheus{
				Prometheus: &meshv1alpha1.MeshConfig_ExtensionProvider_PrometheusMetricsProvider{},
			}},
			{Name: "stackdriver", Provider: &meshv1alpha1.MeshConfig_ExtensionProvider_Stackdriver{
				Stackdriver: &meshv1alpha1.MeshConfig_ExtensionProvider_StackdriverProvider{},
			}},
			{Name: "envoy", Provider: &meshv1alpha1.MeshConfig_ExtensionProvider_EnvoyFileAccessLog{
				EnvoyFileAccessLog: &meshv1alpha1.MeshConfig_ExtensionProvider_EnvoyFileAccessLogProvider{Path: "/dev/stdout"},
			}},
		},
		DefaultConfig: defaultProxyConfig(),
	}
}

// defaultProxyConfig is what proxies are started with unless the mesh config or the workload says otherwise.
func defaultProxyConfig() *meshv1alpha1.ProxyConfig {
	return &meshv1alpha1.ProxyConfig{
		ConfigPath:               "./etc/istio/proxy",
		BinaryPath:               "/usr/local/bin/envoy",
		ClusterName:              &meshv1alpha1.ProxyConfig_ServiceCluster{ServiceCluster: "istio-proxy"},
		DiscoveryAddress:         "istiod.istio-system.svc:15012",
		ControlPlaneAuthPolicy:   meshv1alpha1.AuthenticationPolicy_MUTUAL_TLS,
		DrainDuration:            durationpb.New(45 * time.Second),
		TerminationDrainDuration: durationpb.New(5 * time.Second),
		ProxyAdminPort:           15000,
		StatusPort:               15020,
		// What Envoy allows in the name of a statistic, less what Istio adds.
		StatNameLength: 189,
	}
}
