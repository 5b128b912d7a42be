package translate_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	networkingv1alpha3 "istio.io/api/networking/v1alpha3"

	"github.com/meshd/meshd/internal/testkit/scenario"
)

// TestMeshConfig: what each setting of the mesh config changes, as paths into the resources of one sidecar. Paths are
// of the first difference of each kind: the settings apply everywhere.
func TestMeshConfig(t *testing.T) {
	const front = "sidecar~10.30.0.1~front-0.shop~shop.svc.cluster.local"
	tests := []struct {
		name string
		edit func(*meshv1alpha1.MeshConfig)
		// want are some of the differences, as "type resource path: want x, got y"; wantTypes are all types with any.
		want      []string
		wantTypes []string
	}{
		{
			name: "connect timeout",
			edit: func(m *meshv1alpha1.MeshConfig) { m.ConnectTimeout = durationpb.New(3 * time.Second) },
			want: []string{
				`clusters outbound|80||front.shop.svc.cluster.local $.connectTimeout: want "10s", got "3s"`,
				`clusters inbound|8080|| $.connectTimeout: want "10s", got "3s"`,
				`clusters BlackHoleCluster $.connectTimeout: want "10s", got "3s"`,
				`clusters PassthroughCluster $.connectTimeout: want "10s", got "3s"`,
			},
			wantTypes: []string{"clusters"},
		},
		{
			name: "registry only",
			edit: func(m *meshv1alpha1.MeshConfig) {
				m.OutboundTrafficPolicy.Mode = meshv1alpha1.MeshConfig_OutboundTrafficPolicy_REGISTRY_ONLY
			},
			want: []string{
				`routes 80 $.virtualHosts[3].name: want "allow_any", got "block_all"`,
				`routes 80 $.virtualHosts[3].routes[0].directResponse: want nothing, got {"status":502}`,
				`listeners 0.0.0.0_80 $.defaultFilterChain.filters[0].typedConfig.cluster: want "PassthroughCluster", got "BlackHoleCluster"`,
				`listeners virtualOutbound $.filterChains[1].filters[0].typedConfig.cluster: want "PassthroughCluster", got "BlackHoleCluster"`,
			},
			wantTypes: []string{"listeners", "routes"},
		},
		{
			name: "workload on loopback",
			edit: func(m *meshv1alpha1.MeshConfig) {
				m.InboundTrafficPolicy.Mode = meshv1alpha1.MeshConfig_InboundTrafficPolicy_LOCALHOST
			},
			want: []string{
				`clusters inbound|8080|| $.type: want "ORIGINAL_DST", got "STATIC"`,
				`clusters inbound|8080|| $.loadAssignment: want nothing, got {"clusterName":"inbound|8080||","endpoints":[{"lbEndpoints":[{"endpoint":{"address":{"socketAddress":{"address":"127.0.0.1","portValue":8080}}}}]}]}`,
			},
			wantTypes: []string{"clusters"},
		},
		{
			name: "no automatic mutual TLS",
			edit: func(m *meshv1alpha1.MeshConfig) { m.EnableAutoMtls = wrapperspb.Bool(false) },
			want: []string{
				`clusters outbound|80||queue.shop.svc.cluster.local $.transportSocket: want `,
				`clusters outbound|80||front.shop.svc.cluster.local $.transportSocketMatches: want `,
			},
			wantTypes: []string{"clusters"},
		},
		{
			name: "upgrade to HTTP/2",
			edit: func(m *meshv1alpha1.MeshConfig) { m.H2UpgradePolicy = meshv1alpha1.MeshConfig_UPGRADE },
			want: []string{
				`clusters outbound|80||front.shop.svc.cluster.local $.typedExtensionProtocolOptions: want nothing, got `,
				`clusters outbound|80||front.shop.svc.cluster.local $.transportSocketMatches[0].transportSocket.typedConfig.commonTlsContext.alpnProtocols[2]: want nothing, got "h2"`,
			},
			wantTypes: []string{"clusters"},
		},
		{
			name: "trust domains",
			edit: func(m *meshv1alpha1.MeshConfig) {
				m.TrustDomain, m.TrustDomainAliases = "new.example", []string{"cluster.local"}
			},
			want: []string{
				`listeners virtualInbound $.filterChains[1].transportSocket.typedConfig.commonTlsContext.combinedValidationContext.defaultValidationContext.matchSubjectAltNames[0].prefix: want "spiffe://cluster.local/", got "spiffe://new.example/"`,
				`listeners virtualInbound $.filterChains[1].transportSocket.typedConfig.commonTlsContext.combinedValidationContext.defaultValidationContext.matchSubjectAltNames[1]: want nothing, got {"prefix":"spiffe://cluster.local/"}`,
			},
			wantTypes: []string{"clusters", "listeners"},
		},
		{
			name: "no tracing",
			edit: func(m *meshv1alpha1.MeshConfig) { m.EnableTracing = false },
			want: []string{
				`listeners 0.0.0.0_80 $.filterChains[0].filters[0].typedConfig.tracing: want `,
				`listeners virtualInbound $.filterChains[1].filters[1].typedConfig.tracing: want `,
			},
			wantTypes: []string{"listeners"},
		},
		{
			name: "sampling and tags of spans",
			edit: func(m *meshv1alpha1.MeshConfig) {
				m.DefaultConfig.Tracing = &meshv1alpha1.Tracing{
					Sampling: 12.5, MaxPathTagLength: 99, EnableIstioTags: wrapperspb.Bool(false),
					CustomTags: map[string]*meshv1alpha1.Tracing_CustomTag{
						"zone": {Type: &meshv1alpha1.Tracing_CustomTag_Literal{Literal: &meshv1alpha1.Tracing_Literal{Value: "a"}}},
						"user": {Type: &meshv1alpha1.Tracing_CustomTag_Header{Header: &meshv1alpha1.Tracing_RequestHeader{Name: "x-user"}}},
					},
				}
			},
			want: []string{
				`listeners 0.0.0.0_80 $.filterChains[0].filters[0].typedConfig.tracing.randomSampling.value: want 1, got 12.5`,
				`listeners 0.0.0.0_80 $.filterChains[0].filters[0].typedConfig.tracing.maxPathTagLength: want nothing, got 99`,
				`listeners 0.0.0.0_80 $.filterChains[0].filters[0].typedConfig.tracing.customTags[0].tag: want "istio.authorization.dry_run.allow_policy.name", got "user"`,
				`listeners 0.0.0.0_80 $.filterChains[0].filters[0].typedConfig.tracing.customTags[1].literal: want nothing, got {"value":"a"}`,
			},
			wantTypes: []string{"listeners"},
		},
		{
			name: "access log",
			edit: func(m *meshv1alpha1.MeshConfig) { m.AccessLogFile, m.AccessLogFormat = "/dev/stdout", "%PROTOCOL%" },
			want: []string{
				`listeners 0.0.0.0_80 $.filterChains[0].filters[0].typedConfig.accessLog: want nothing, got [{"name":"envoy.access_loggers.file","typedConfig":{"@type":"type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog","logFormat":{"textFormatSource":{"inlineString":"%PROTOCOL%\n"}},"path":"/dev/stdout"}}]`,
				`listeners 10.20.0.3_5432 $.filterChains[0].filters[0].typedConfig.accessLog: want nothing, got `,
				`listeners virtualInbound $.accessLog: want nothing, got [{"filter":{"responseFlagFilter":{"flags":["NR"]}}`,
				`listeners virtualOutbound $.filterChains[1].filters[0].typedConfig.accessLog: want nothing, got `,
			},
			wantTypes: []string{"listeners"},
		},
		{
			name: "metrics",
			edit: func(m *meshv1alpha1.MeshConfig) { m.DefaultProviders.Metrics = []string{"prometheus"} },
			want: []string{
				`listeners 0.0.0.0_80 $.filterChains[0].filters[0].typedConfig.httpFilters[5].name: want "envoy.filters.http.router", got "istio.stats"`,
				`listeners 10.20.0.3_5432 $.filterChains[0].filters[0].name: want "envoy.filters.network.tcp_proxy", got "istio.stats"`,
				`listeners virtualInbound $.filterChains[1].filters[1].typedConfig.httpFilters[4].typedConfig.disableHostHeaderFallback: want nothing, got true`,
			},
			wantTypes: []string{"listeners"},
		},
		{
			name: "detection timeout",
			edit: func(m *meshv1alpha1.MeshConfig) { m.ProtocolDetectionTimeout = durationpb.New(5 * time.Second) },
			want: []string{
				`listeners 0.0.0.0_80 $.listenerFiltersTimeout: want "0s", got "5s"`,
				`listeners virtualInbound $.listenerFiltersTimeout: want "0s", got "5s"`,
			},
			wantTypes: []string{"listeners"},
		},
		{
			name: "ports of the proxy",
			edit: func(m *meshv1alpha1.MeshConfig) { m.ProxyListenPort, m.ProxyInboundListenPort = 16001, 16006 },
			want: []string{
				`listeners virtualOutbound $.address.socketAddress.portValue: want 15001, got 16001`,
				`listeners virtualInbound $.filterChains[0].filterChainMatch.destinationPort: want 15006, got 16006`,
			},
			wantTypes: []string{"listeners"},
		},
		{
			name: "path normalization",
			edit: func(m *meshv1alpha1.MeshConfig) {
				m.PathNormalization = &meshv1alpha1.MeshConfig_ProxyPathNormalization{
					Normalization: meshv1alpha1.MeshConfig_ProxyPathNormalization_DECODE_AND_MERGE_SLASHES,
				}
			},
			want: []string{
				`listeners 0.0.0.0_80 $.filterChains[0].filters[0].typedConfig.mergeSlashes: want nothing, got true`,
				`listeners 0.0.0.0_80 $.filterChains[0].filters[0].typedConfig.pathWithEscapedSlashesAction: want "KEEP_UNCHANGED", got "UNESCAPE_AND_FORWARD"`,
			},
			wantTypes: []string{"listeners"},
		},
		{
			name: "retries",
			edit: func(m *meshv1alpha1.MeshConfig) {
				m.DefaultHttpRetryPolicy = &networkingv1alpha3.HTTPRetry{Attempts: 7, RetryOn: "gateway-error, 503", PerTryTimeout: durationpb.New(time.Second)}
				m.DefaultInboundHttpRetryPolicy = &networkingv1alpha3.HTTPRetry{}
			},
			want: []string{
				`routes 80 $.virtualHosts[0].routes[0].route.retryPolicy.numRetries: want 2, got 7`,
				`routes 80 $.virtualHosts[0].routes[0].route.retryPolicy.perTryTimeout: want nothing, got "1s"`,
				`routes 80 $.virtualHosts[0].routes[0].route.retryPolicy.retriableStatusCodes: want nothing, got [503]`,
				`routes 80 $.virtualHosts[0].routes[0].route.retryPolicy.retryOn: want "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes", got "gateway-error,retriable-status-codes"`,
				`listeners virtualInbound $.filterChains[1].filters[1].typedConfig.routeConfig.virtualHosts[0].routes[0].route.retryPolicy: want {"numRetries":2,"retryOn":"reset-before-request"}, got nothing`,
			},
			wantTypes: []string{"listeners", "routes"},
		},
	}
	sc := shop(t)
	p := proxy(t, front, func(m map[string]any) { m["LABELS"].(map[string]any)["app"] = "front" })
	before := sc.Snapshot(t, nil)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			after := sc.Snapshot(t, test.edit)
			var got, types []string
			for kind, g := range sidecar() {
				want := resources(t, before, g, p)
				for name, v := range resources(t, after, g, p) {
					for _, d := range scenario.Diff(want[name], v) {
						got = append(got, kind+" "+name+" "+d.String())
						types = append(types, kind)
					}
				}
			}
			for _, want := range test.want {
				if !slices.ContainsFunc(got, func(g string) bool { return strings.HasPrefix(g, want) }) {
					t.Errorf("no such difference: %s\nof %s", want, strings.Join(got[:min(len(got), 20)], "\n"))
				}
			}
			slices.Sort(types)
			if diff := cmp.Diff(test.wantTypes, slices.Compact(types)); diff != "" {
				t.Errorf("types with differences (-want +got):\n%s", diff)
			}
			checkAll(t, "front", after, p)
		})
	}
}
