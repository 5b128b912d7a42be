package validate_test

import (
	"fmt"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/meshd/meshd/internal/translate/validate"
)

func pack(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		panic(err)
	}
	return a
}

func socket(address string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

func chain(port uint32, filters ...proto.Message) *listenerv3.FilterChain {
	out := &listenerv3.FilterChain{FilterChainMatch: &listenerv3.FilterChainMatch{DestinationPort: wrapperspb.UInt32(port)}}
	for _, f := range filters {
		name := "envoy.filters.network.tcp_proxy"
		if _, ok := f.(*hcmv3.HttpConnectionManager); ok {
			name = "envoy.filters.network.http_connection_manager"
		}
		out.Filters = append(out.Filters, &listenerv3.Filter{Name: name, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: pack(f)}})
	}
	return out
}

func listener(chains ...*listenerv3.FilterChain) *listenerv3.Listener {
	return &listenerv3.Listener{Name: "l", Address: socket("10.0.0.1", 80), FilterChains: chains}
}

func tcpProxy(cluster string) *tcpv3.TcpProxy {
	return &tcpv3.TcpProxy{StatPrefix: "x", ClusterSpecifier: &tcpv3.TcpProxy_Cluster{Cluster: cluster}}
}

func requests(routes *routev3.RouteConfiguration, filters ...string) *hcmv3.HttpConnectionManager {
	out := &hcmv3.HttpConnectionManager{StatPrefix: "x", RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: routes}}
	for _, name := range filters {
		out.HttpFilters = append(out.HttpFilters, &hcmv3.HttpFilter{Name: name})
	}
	return out
}

const router = "envoy.filters.http.router"

func hosts(domains ...string) *routev3.RouteConfiguration {
	out := &routev3.RouteConfiguration{Name: "r"}
	for _, d := range domains {
		out.VirtualHosts = append(out.VirtualHosts, &routev3.VirtualHost{Name: "host of " + d, Domains: []string{d}})
	}
	return out
}

// path routes by a regular expression.
func path(regex string) *routev3.RouteConfiguration {
	out := hosts("a")
	out.VirtualHosts[0].Routes = []*routev3.Route{{
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: regex}}},
		Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 200}},
	}}
	return out
}

func alpn(c *listenerv3.FilterChain, protocols ...string) *listenerv3.FilterChain {
	c.FilterChainMatch.ApplicationProtocols = protocols
	return c
}

// resources are some of each kind: what they are, and what of them is wrong, if anything.
func resources() []resource {
	eds := &clusterv3.Cluster{Name: "c", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}}
	good := proto.CloneOf(eds)
	good.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}}
	assigned := proto.CloneOf(good)
	assigned.LoadAssignment = &endpointv3.ClusterLoadAssignment{ClusterName: "c"}
	nameless := listener(chain(1, tcpProxy("a")))
	nameless.Address = socket("shop.example.com", 80)
	second := listener(chain(1, tcpProxy("a")))
	second.AdditionalAddresses = []*listenerv3.AdditionalAddress{{}}
	headers := hosts("a", "b")
	headers.VirtualHosts[1].RequestHeadersToRemove = []string{"a\nb"}
	return []resource{
		{"a good cluster", good, ""},
		{"a field's rule", &clusterv3.Cluster{}, "Name"},
		{"EDS without source", eds, "no eds_config"},
		{"EDS with endpoints", assigned, "has a load assignment"},
		{"original destination with a policy", &clusterv3.Cluster{
			Name: "c", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_ORIGINAL_DST},
		}, "lb_policy is ROUND_ROBIN"},
		{"a good listener", listener(chain(1, tcpProxy("a")), chain(2, tcpProxy("a"))), ""},
		{"a listener at a name", nameless, `"shop.example.com" is not an address`},
		{"a listener at nothing", second, "no address"},
		{"a field's rule within an Any", listener(chain(1, &tcpv3.TcpProxy{ClusterSpecifier: &tcpv3.TcpProxy_Cluster{Cluster: "a"}})), "StatPrefix"},
		{"an Any of no type", listener(&listenerv3.FilterChain{Filters: []*listenerv3.Filter{{
			Name:       "envoy.filters.network.tcp_proxy",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: &anypb.Any{TypeUrl: "type.googleapis.com/nothing"}},
		}}}), `"type.googleapis.com/nothing"`},
		{"an Any that is damaged", listener(&listenerv3.FilterChain{Filters: []*listenerv3.Filter{{
			Name: "envoy.filters.network.tcp_proxy",
			ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: &anypb.Any{
				TypeUrl: pack(tcpProxy("a")).GetTypeUrl(), Value: []byte{0xff},
			}},
		}}}), "cannot be read"},
		{"one match twice", listener(chain(1, tcpProxy("a")), chain(1, tcpProxy("b"))), "have one match"},
		{"matches that overlap", listener(alpn(chain(1, tcpProxy("a")), "x", "y"), alpn(chain(1, tcpProxy("b")), "y", "z")), "alpn=y"},
		{"matches that do not", listener(alpn(chain(1, tcpProxy("a")), "x"), alpn(chain(1, tcpProxy("b")), "y", "z")), ""},
		{"nothing to end with", listener(chain(1)), "does not end"},
		{"two ends", listener(chain(1, tcpProxy("a"), tcpProxy("b"))), "not the last"},
		{"no chain", listener(), "no filter chain"},
		{"good requests", listener(chain(1, requests(hosts("a"), router))), ""},
		{"no router", listener(chain(1, requests(hosts("a"), "x"))), "do not end with " + router},
		{"something after the router", listener(chain(1, requests(hosts("a"), router, "x"))), "do not end with " + router},
		{"good routes", hosts("a", "b"), ""},
		{"a domain twice", hosts("a", "A"), `domain "a"`},
		{"a field's rule within the second host", headers, "RequestHeadersToRemove"},
		{"routes within an Any", listener(chain(1, requests(hosts("a", "a"), router))), `domain "a"`},
		{"a good expression", path("/a.*"), ""},
		{"an expression that is none", path("(["), "regular expression"},
		{"one within an Any", listener(chain(1, requests(path("(["), router))), "regular expression"},
		{"endpoints without place", &endpointv3.ClusterLoadAssignment{
			ClusterName: "c", Endpoints: []*endpointv3.LocalityLbEndpoints{{}},
		}, "no name or no weight"},
		{"a place in two priorities", &endpointv3.ClusterLoadAssignment{
			ClusterName: "c", Endpoints: []*endpointv3.LocalityLbEndpoints{
				{Locality: &corev3.Locality{}, LoadBalancingWeight: wrapperspb.UInt32(1)},
				{Locality: &corev3.Locality{}, LoadBalancingWeight: wrapperspb.UInt32(1), Priority: 1},
			},
		}, ""},
		{"a place twice in one priority", &endpointv3.ClusterLoadAssignment{
			ClusterName: "c", Endpoints: []*endpointv3.LocalityLbEndpoints{
				{Locality: &corev3.Locality{}, LoadBalancingWeight: wrapperspb.UInt32(1)},
				{Locality: &corev3.Locality{}, LoadBalancingWeight: wrapperspb.UInt32(1)},
			},
		}, "twice in one priority"},
		{"an endpoint that is a name", &endpointv3.ClusterLoadAssignment{
			ClusterName: "c", Endpoints: []*endpointv3.LocalityLbEndpoints{{
				Locality: &corev3.Locality{}, LoadBalancingWeight: wrapperspb.UInt32(1),
				LbEndpoints: []*endpointv3.LbEndpoint{{
					LoadBalancingWeight: wrapperspb.UInt32(1),
					HostIdentifier:      &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: socket("a.example.com", 1)}},
				}},
			}},
		}, "is not an address"},
	}
}

type resource struct {
	name string
	m    proto.Message
	want string
}

func TestResource(t *testing.T) {
	for _, test := range resources() {
		t.Run(test.name, func(t *testing.T) { check(t, validate.Resource(test.m), test.want) })
	}
}

// TestChecker: a checker comes to the same, also about what it has seen before, and about what is wrong only in parts that
// it has not.
func TestChecker(t *testing.T) {
	c := validate.New()
	for range 2 {
		for _, test := range resources() {
			t.Run(test.name, func(t *testing.T) {
				serialised, err := proto.Marshal(test.m)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := c.Resource(test.m, serialised), validate.Resource(test.m); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
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
	listener := listener(
		chain(1, tcpProxy("c")),
		chain(2, &hcmv3.HttpConnectionManager{
			RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{RouteConfigName: "r"}},
		}),
	)
	other := proto.CloneOf(listener)
	other.Name = "other"
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
		{"an address twice", func(s *validate.Set) { s.Listeners = append(s.Listeners, other) }, `listeners "l" and "other" have one address`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := all()
			test.edit(&s)
			check(t, s.Check(), test.want)
		})
	}
}
