package validate_test

import (
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/meshd/meshd/internal/testkit/validate"
)

func pack(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func chain(t *testing.T, port uint32, filters ...proto.Message) *listenerv3.FilterChain {
	out := &listenerv3.FilterChain{FilterChainMatch: &listenerv3.FilterChainMatch{DestinationPort: wrapperspb.UInt32(port)}}
	for _, f := range filters {
		name := "envoy.filters.network.tcp_proxy"
		if _, ok := f.(*hcmv3.HttpConnectionManager); ok {
			name = "envoy.filters.network.http_connection_manager"
		}
		out.Filters = append(out.Filters, &listenerv3.Filter{Name: name, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: pack(t, f)}})
	}
	return out
}

func tcpProxy(cluster string) *tcpv3.TcpProxy {
	return &tcpv3.TcpProxy{StatPrefix: "x", ClusterSpecifier: &tcpv3.TcpProxy_Cluster{Cluster: cluster}}
}

func hosts(domains ...string) *routev3.RouteConfiguration {
	out := &routev3.RouteConfiguration{Name: "r"}
	for _, d := range domains {
		out.VirtualHosts = append(out.VirtualHosts, &routev3.VirtualHost{Name: "host of " + d, Domains: []string{d}})
	}
	return out
}

func TestResource(t *testing.T) {
	eds := &clusterv3.Cluster{Name: "c", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}}
	good := proto.CloneOf(eds)
	good.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}}
	tests := []struct {
		name string
		m    proto.Message
		want string
	}{
		{"a good cluster", good, ""},
		{"a field's rule", &clusterv3.Cluster{}, "Name"},
		{"EDS without source", eds, "no eds_config"},
		{"original destination with a policy", &clusterv3.Cluster{
			Name: "c", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_ORIGINAL_DST},
		}, "lb_policy is ROUND_ROBIN"},
		{"a good listener", &listenerv3.Listener{FilterChains: []*listenerv3.FilterChain{chain(t, 1, tcpProxy("a")), chain(t, 2, tcpProxy("a"))}}, ""},
		{"a field's rule within an Any", &listenerv3.Listener{FilterChains: []*listenerv3.FilterChain{
			chain(t, 1, &tcpv3.TcpProxy{ClusterSpecifier: &tcpv3.TcpProxy_Cluster{Cluster: "a"}}),
		}}, "StatPrefix"},
		{"an Any of no type", &listenerv3.Listener{FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.tcp_proxy",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: &anypb.Any{TypeUrl: "type.googleapis.com/nothing"}},
		}}}}}, "nothing"},
		{"one match twice", &listenerv3.Listener{FilterChains: []*listenerv3.FilterChain{chain(t, 1, tcpProxy("a")), chain(t, 1, tcpProxy("b"))}}, "have one match"},
		{"nothing to end with", &listenerv3.Listener{FilterChains: []*listenerv3.FilterChain{chain(t, 1)}}, "does not end"},
		{"two ends", &listenerv3.Listener{FilterChains: []*listenerv3.FilterChain{chain(t, 1, tcpProxy("a"), tcpProxy("b"))}}, "not the last"},
		{"no chain", &listenerv3.Listener{Name: "l"}, "no filter chain"},
		{"good routes", hosts("a", "b"), ""},
		{"a domain twice", hosts("a", "A"), `domain "a"`},
		{"routes within an Any", &listenerv3.Listener{FilterChains: []*listenerv3.FilterChain{chain(t, 1, &hcmv3.HttpConnectionManager{
			StatPrefix: "x", RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: hosts("a", "a")},
		})}}, `domain "a"`},
		{"endpoints without place", &endpointv3.ClusterLoadAssignment{
			ClusterName: "c", Endpoints: []*endpointv3.LocalityLbEndpoints{{}},
		}, "no name or no weight"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { check(t, validate.Resource(test.m), test.want) })
	}
}

func check(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("accepted; want an error with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused with %q; want %q in it", err, want)
	}
}

func TestSet(t *testing.T) {
	cluster := &clusterv3.Cluster{
		Name: "c", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{ServiceName: "c"},
	}
	assignment := &endpointv3.ClusterLoadAssignment{ClusterName: "c"}
	route := &routev3.RouteConfiguration{Name: "r", VirtualHosts: []*routev3.VirtualHost{{Routes: []*routev3.Route{{
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: "c"}}},
	}}}}}
	listener := &listenerv3.Listener{Name: "l", FilterChains: []*listenerv3.FilterChain{
		chain(t, 1, tcpProxy("c")),
		chain(t, 2, &hcmv3.HttpConnectionManager{
			RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{RouteConfigName: "r"}},
		}),
	}}
	all := func() validate.Set {
		return validate.Set{
			Clusters:  []*clusterv3.Cluster{cluster},
			Endpoints: []*endpointv3.ClusterLoadAssignment{assignment},
			Listeners: []*listenerv3.Listener{listener},
			Routes:    []*routev3.RouteConfiguration{route},
		}
	}
	tests := []struct {
		name string
		edit func(*validate.Set)
		want string
	}{
		{"all there", func(*validate.Set) {}, ""},
		{"no cluster", func(s *validate.Set) { s.Clusters = nil }, `no cluster "c"`},
		{"no endpoints", func(s *validate.Set) { s.Endpoints = nil }, `no load assignment "c"`},
		{"no routes", func(s *validate.Set) { s.Routes = nil }, `no route configuration "r"`},
		{"a name twice", func(s *validate.Set) { s.Listeners = append(s.Listeners, listener) }, `listener "l" is there twice`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := all()
			test.edit(&s)
			check(t, s.Check(), test.want)
		})
	}
}
