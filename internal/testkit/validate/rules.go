package validate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/proto"
)

func cluster(c *clusterv3.Cluster) error {
	switch c.GetType() {
	case clusterv3.Cluster_EDS:
		if c.GetEdsClusterConfig().GetEdsConfig() == nil {
			return fmt.Errorf("cluster %q is of type EDS and has no eds_config", c.GetName())
		}
	case clusterv3.Cluster_ORIGINAL_DST:
		if c.GetLbPolicy() != clusterv3.Cluster_CLUSTER_PROVIDED {
			return fmt.Errorf("cluster %q is of type ORIGINAL_DST and its lb_policy is %s", c.GetName(), c.GetLbPolicy())
		}
		if c.GetLoadAssignment() != nil {
			return fmt.Errorf("cluster %q is of type ORIGINAL_DST and has a load assignment", c.GetName())
		}
	}
	if c.GetTransportSocket() != nil && len(c.GetTransportSocketMatches()) > 0 {
		return fmt.Errorf("cluster %q has a transport socket beside matches", c.GetName())
	}
	return nil
}

func listener(l *listenerv3.Listener) error {
	var problems []error
	if l.GetApiListener() == nil && len(l.GetFilterChains()) == 0 && l.GetDefaultFilterChain() == nil {
		problems = append(problems, errors.New("no filter chain"))
	}
	matches := map[string]int{}
	for i, chain := range l.GetFilterChains() {
		match := text(chain.GetFilterChainMatch())
		if first, ok := matches[match]; ok {
			problems = append(problems, fmt.Errorf("filter chains %d and %d have one match: %s", first, i, match))
		}
		matches[match] = i
	}
	for _, chain := range append(l.GetFilterChains(), l.GetDefaultFilterChain()) {
		if chain == nil {
			continue
		}
		if n := len(chain.GetFilters()); n == 0 || !terminal(chain.GetFilters()[n-1].GetName()) {
			problems = append(problems, fmt.Errorf("filter chain %q does not end with a terminal filter", chain.GetName()))
		} else if slices.ContainsFunc(chain.GetFilters()[:n-1], func(f *listenerv3.Filter) bool { return terminal(f.GetName()) }) {
			problems = append(problems, fmt.Errorf("filter chain %q has a terminal filter that is not the last", chain.GetName()))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("listener %q: %w", l.GetName(), err)
	}
	return nil
}

func terminal(filter string) bool {
	return filter == "envoy.filters.network.tcp_proxy" || filter == "envoy.filters.network.http_connection_manager"
}

func routes(r *routev3.RouteConfiguration) error {
	var problems []error
	hosts, domains := map[string]bool{}, map[string]string{}
	for _, host := range r.GetVirtualHosts() {
		if hosts[host.GetName()] {
			problems = append(problems, fmt.Errorf("virtual host %q is there twice", host.GetName()))
		}
		hosts[host.GetName()] = true
		for _, d := range host.GetDomains() {
			d = strings.ToLower(d)
			if other, ok := domains[d]; ok {
				problems = append(problems, fmt.Errorf("domain %q is of virtual hosts %q and %q", d, other, host.GetName()))
			}
			domains[d] = host.GetName()
		}
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("route configuration %q: %w", r.GetName(), err)
	}
	return nil
}

func endpoints(e *endpointv3.ClusterLoadAssignment) error {
	seen := map[string]bool{}
	for _, place := range e.GetEndpoints() {
		if place.GetLocality() == nil || place.GetLoadBalancingWeight().GetValue() == 0 {
			return fmt.Errorf("load assignment %q: a locality has no name or no weight", e.GetClusterName())
		}
		if key := text(place.GetLocality()); seen[key] {
			return fmt.Errorf("load assignment %q: locality %q is there twice", e.GetClusterName(), key)
		} else {
			seen[key] = true
		}
		for _, ep := range place.GetLbEndpoints() {
			if ep.GetLoadBalancingWeight().GetValue() == 0 {
				return fmt.Errorf("load assignment %q: an endpoint has no weight", e.GetClusterName())
			}
		}
	}
	return nil
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
	case *tcpv3.TcpProxy:
		if name := m.GetCluster(); name != "" {
			out = append(out, name)
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
