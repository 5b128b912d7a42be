package validate

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
)

// rules holds a message to what its fields say together. top says that it is a resource, not a part of one.
func rules(m proto.Message, top bool) []error {
	switch m := m.(type) {
	case *clusterv3.Cluster:
		return cluster(m)
	case *listenerv3.Listener:
		return listener(m)
	case *routev3.RouteConfiguration:
		return routes(m)
	case *hcmv3.HttpConnectionManager:
		return requests(m)
	case *matcherv3.RegexMatcher:
		return expression(m)
	case *endpointv3.ClusterLoadAssignment:
		if top { // one within a cluster may name hosts, and need not be weighed
			return endpoints(m)
		}
	}
	return nil
}

func cluster(c *clusterv3.Cluster) []error {
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("cluster %q: "+format, append([]any{c.GetName()}, args...)...))
	}
	switch c.GetType() {
	case clusterv3.Cluster_EDS:
		if c.GetEdsClusterConfig().GetEdsConfig() == nil {
			add("it is of type EDS and has no eds_config")
		}
		if c.GetLoadAssignment() != nil {
			add("it is of type EDS and has a load assignment")
		}
	case clusterv3.Cluster_ORIGINAL_DST:
		if c.GetLbPolicy() != clusterv3.Cluster_CLUSTER_PROVIDED {
			add("it is of type ORIGINAL_DST and its lb_policy is %s", c.GetLbPolicy())
		}
		if c.GetLoadAssignment() != nil {
			add("it is of type ORIGINAL_DST and has a load assignment")
		}
	}
	if c.GetTransportSocket() != nil && len(c.GetTransportSocketMatches()) > 0 {
		add("it has a transport socket beside matches")
	}
	return problems
}

func listener(l *listenerv3.Listener) []error {
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("listener %q: "+format, append([]any{l.GetName()}, args...)...))
	}
	if l.GetApiListener() != nil {
		return nil
	}
	if len(l.GetFilterChains()) == 0 && l.GetDefaultFilterChain() == nil {
		add("no filter chain")
	}
	if err := address(l.GetAddress()); err != nil {
		add("%w", err)
	}
	for _, extra := range l.GetAdditionalAddresses() {
		if err := address(extra.GetAddress()); err != nil {
			add("%w", err)
		}
	}
	matches := map[string]int{}
	for i, chain := range l.GetFilterChains() {
		for _, match := range matchesOf(chain.GetFilterChainMatch()) {
			if first, taken := matches[match]; taken && first != i {
				add("filter chains %d and %d have one match: %s", first, i, match)
			} else {
				matches[match] = i
			}
		}
	}
	for _, chain := range append(slices.Clip(l.GetFilterChains()), l.GetDefaultFilterChain()) {
		if chain == nil {
			continue
		}
		if n := len(chain.GetFilters()); n == 0 || !terminal(chain.GetFilters()[n-1].GetName()) {
			add("filter chain %q does not end with a terminal filter", chain.GetName())
		} else if slices.ContainsFunc(chain.GetFilters()[:n-1], func(f *listenerv3.Filter) bool { return terminal(f.GetName()) }) {
			add("filter chain %q has a terminal filter that is not the last", chain.GetName())
		}
	}
	return problems
}

func terminal(filter string) bool {
	return filter == "envoy.filters.network.tcp_proxy" || filter == "envoy.filters.network.http_connection_manager"
}

// address checks that a socket's address is one, and not a name.
func address(a *corev3.Address) error {
	s := a.GetSocketAddress()
	if s == nil {
		if a.GetPipe() == nil && a.GetEnvoyInternalAddress() == nil {
			return errors.New("no address")
		}
		return nil
	}
	if _, err := netip.ParseAddr(s.GetAddress()); err != nil {
		return fmt.Errorf("%q is not an address", s.GetAddress())
	}
	return nil
}

// matchesOf spells out what a filter chain takes. Where two chains have a line in common, Envoy can't tell them apart.
func matchesOf(m *listenerv3.FilterChainMatch) []string {
	out := []string{fmt.Sprintf("%d %s %s", m.GetDestinationPort().GetValue(), m.GetTransportProtocol(), m.GetSourceType())}
	times := func(kind string, list []string) {
		if len(list) == 0 {
			return
		}
		var all []string
		for _, begin := range out {
			for _, value := range list {
				all = append(all, begin+" "+kind+"="+value)
			}
		}
		out = all
	}
	ranges := func(list []*corev3.CidrRange) []string {
		var out []string
		for _, r := range list {
			out = append(out, fmt.Sprintf("%s/%d", r.GetAddressPrefix(), r.GetPrefixLen().GetValue()))
		}
		return out
	}
	ports := make([]string, 0, len(m.GetSourcePorts()))
	for _, p := range m.GetSourcePorts() {
		ports = append(ports, fmt.Sprint(p))
	}
	times("to", ranges(m.GetPrefixRanges()))
	times("name", m.GetServerNames())
	times("alpn", m.GetApplicationProtocols())
	times("direct", ranges(m.GetDirectSourcePrefixRanges()))
	times("from", ranges(m.GetSourcePrefixRanges()))
	times("port", ports)
	return out
}

// requests checks the filters of HTTP requests: the router ends them, and nothing comes after it.
func requests(m *hcmv3.HttpConnectionManager) []error {
	const router = "envoy.filters.http.router"
	filters := m.GetHttpFilters()
	at := slices.IndexFunc(filters, func(f *hcmv3.HttpFilter) bool { return f.GetName() == router })
	if at < 0 || at != len(filters)-1 {
		return []error{fmt.Errorf("HTTP filters do not end with %s, which must be the last", router)}
	}
	return nil
}

// expression checks a regular expression. Envoy's syntax is Go's: both are RE2's.
func expression(m *matcherv3.RegexMatcher) []error {
	if _, err := regexp.Compile(m.GetRegex()); err != nil {
		return []error{fmt.Errorf("regular expression %q: %w", m.GetRegex(), err)}
	}
	return nil
}

func routes(r *routev3.RouteConfiguration) []error {
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("route configuration %q: "+format, append([]any{r.GetName()}, args...)...))
	}
	hosts, domains := map[string]bool{}, map[string]string{}
	for _, host := range r.GetVirtualHosts() {
		if hosts[host.GetName()] {
			add("virtual host %q is there twice", host.GetName())
		}
		hosts[host.GetName()] = true
		for _, d := range host.GetDomains() {
			d = strings.ToLower(d)
			if other, ok := domains[d]; ok {
				add("domain %q is of virtual hosts %q and %q", d, other, host.GetName())
			}
			domains[d] = host.GetName()
		}
	}
	return problems
}

func endpoints(e *endpointv3.ClusterLoadAssignment) []error {
	var problems []error
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("load assignment %q: "+format, append([]any{e.GetClusterName()}, args...)...))
	}
	type place struct {
		region, zone, subZone string
		priority              uint32
	}
	seen := map[place]bool{}
	for _, group := range e.GetEndpoints() {
		l := group.GetLocality()
		// gRPC's clients ignore what has no place or weight; Envoy does not mind.
		if l == nil || group.GetLoadBalancingWeight().GetValue() == 0 {
			add("a locality has no name or no weight")
		}
		at := place{l.GetRegion(), l.GetZone(), l.GetSubZone(), group.GetPriority()}
		if seen[at] {
			add("locality %v is there twice in one priority", l)
		}
		seen[at] = true
		for _, ep := range group.GetLbEndpoints() {
			if ep.GetLoadBalancingWeight().GetValue() == 0 {
				add("an endpoint has no weight")
			}
			if err := address(ep.GetEndpoint().GetAddress()); err != nil {
				add("an endpoint: %w", err)
			}
		}
	}
	return problems
}
