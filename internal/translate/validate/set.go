package validate

import (
	"errors"
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// Set is the resources of one client.
type Set struct {
	Clusters  []*clusterv3.Cluster
	Endpoints []*endpointv3.ClusterLoadAssignment
	Listeners []*listenerv3.Listener
	Routes    []*routev3.RouteConfiguration
}

// Check checks that names are unique, that no two listeners have one address, and that what refers to another resource
// by name finds it: routes and filters clusters, clusters endpoints, listeners routes.
func (s Set) Check() error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	unique := func(kind string, have map[string]bool, name string) {
		if have[name] {
			add("%s %q is there twice", kind, name)
		}
		have[name] = true
	}
	clusters, assignments, listeners, routes := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range s.Clusters {
		unique("cluster", clusters, c.GetName())
	}
	for _, e := range s.Endpoints {
		unique("load assignment", assignments, e.GetClusterName())
	}
	for _, l := range s.Listeners {
		unique("listener", listeners, l.GetName())
	}
	for _, r := range s.Routes {
		unique("route configuration", routes, r.GetName())
	}
	at := map[string]string{}
	for _, l := range s.Listeners {
		for _, address := range addressesOf(l) {
			if other, taken := at[address]; taken {
				add("listeners %q and %q have one address: %s", other, l.GetName(), address)
			}
			at[address] = l.GetName()
		}
	}
	for _, c := range s.Clusters {
		if name := assignmentOf(c); name != "" && !assignments[name] {
			add("cluster %q: no load assignment %q", c.GetName(), name)
		}
	}
	ways := &plans{}
	refer := func(m proto.Message, owner string) {
		v := &visitor{plans: ways}
		v.open = func(_ *anypb.Any, open func() error) {
			if err := open(); err != nil {
				add("%s: %w", owner, v.at(err))
			}
		}
		v.visit = func(m proto.Message) {
			for _, name := range clustersOf(m) {
				if !clusters[name] {
					add("%s: %w", owner, v.at(fmt.Errorf("no cluster %q", name)))
				}
			}
			if name := routeOf(m); name != "" && !routes[name] {
				add("%s: %w", owner, v.at(fmt.Errorf("no route configuration %q", name)))
			}
		}
		v.walk(m)
	}
	for _, l := range s.Listeners {
		refer(l, l.GetName())
	}
	for _, r := range s.Routes {
		refer(r, r.GetName())
	}
	return errors.Join(problems...)
}

// addressesOf are the sockets of a listener. One for clients without a proxy has none that it listens on.
func addressesOf(l *listenerv3.Listener) []string {
	if l.GetApiListener() != nil {
		return nil
	}
	of := func(a *corev3.Address) string {
		s := a.GetSocketAddress()
		return fmt.Sprintf("%s %s:%d", s.GetProtocol(), s.GetAddress(), s.GetPortValue())
	}
	out := []string{of(l.GetAddress())}
	for _, extra := range l.GetAdditionalAddresses() {
		out = append(out, of(extra.GetAddress()))
	}
	return out
}

// assignmentOf names the load assignment of a cluster, which is its own name unless it says otherwise.
func assignmentOf(c *clusterv3.Cluster) string {
	if c.GetType() != clusterv3.Cluster_EDS {
		return ""
	}
	if name := c.GetEdsClusterConfig().GetServiceName(); name != "" {
		return name
	}
	return c.GetName()
}

// clustersOf lists the clusters that a message itself refers to.
func clustersOf(m proto.Message) []string {
	var out []string
	switch m := m.(type) {
	case *routev3.RouteAction:
		if name := m.GetCluster(); name != "" {
			out = append(out, name)
		}
		for _, c := range m.GetWeightedClusters().GetClusters() {
			out = append(out, c.GetName())
		}
		for _, p := range m.GetRequestMirrorPolicies() {
			out = append(out, p.GetCluster())
		}
	case *tcpv3.TcpProxy:
		if name := m.GetCluster(); name != "" {
			out = append(out, name)
		}
		for _, c := range m.GetWeightedClusters().GetClusters() {
			out = append(out, c.GetName())
		}
	}
	return out
}

// routeOf names the route configuration that a message itself refers to.
func routeOf(m proto.Message) string {
	if m, ok := m.(*hcmv3.HttpConnectionManager); ok {
		return m.GetRds().GetRouteConfigName()
	}
	return ""
}
