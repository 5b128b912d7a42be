package endpoint

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
	networkingv1alpha3 "istio.io/api/networking/v1alpha3"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
)

// group are the endpoints of one place, in one priority.
type group struct {
	place     model.Locality
	priority  uint32
	weight    uint32
	endpoints []*endpointv3.LbEndpoint
}

func (g *group) add(e *endpointv3.LbEndpoint) {
	g.endpoints = append(g.endpoints, e)
	g.weight = saturatingAdd(g.weight, e.GetLoadBalancingWeight().GetValue())
}

// distance says how far an endpoint is from a client, 0 for the nearest, where a service prefers what is near. Who is of
// another network comes after everybody who is not. (Istio's failover priorities.)
func distance(client, endpoint snapshot.Place, d model.Distribution) uint32 {
	type part struct{ client, endpoint string }
	parts := []part{{client.Region, endpoint.Region}, {client.Zone, endpoint.Zone}}
	if d == model.DistributeNode {
		parts = append(parts, part{client.SubZone, endpoint.SubZone}, part{client.Node, endpoint.Node})
	}
	var out uint32
	for i, p := range parts {
		if p.client != p.endpoint {
			out = uint32(len(parts) - i)
			break
		}
	}
	if client.Network != endpoint.Network {
		out += uint32(len(parts)) + 1
	}
	return out
}

// rank makes distances into Envoy's priorities, which begin at 0 and leave none out.
func rank(groups []*group) {
	found := map[uint32]struct{}{}
	for _, g := range groups {
		found[g.priority] = struct{}{}
	}
	distances := slices.Sorted(maps.Keys(found))
	for _, g := range groups {
		i, _ := slices.BinarySearch(distances, g.priority)
		g.priority = uint32(i)
	}
}

// share gives places the shares of requests that the first setting says which is for the client's place. Places that it
// does not mention lose their endpoints.
func share(groups []*group, client model.Locality, settings []*networkingv1alpha3.LocalityLoadBalancerSetting_Distribute) {
	for _, setting := range settings {
		if !matches(client, setting.GetFrom()) {
			continue
		}
		left := slices.Clone(groups)
		for _, to := range slices.Sorted(maps.Keys(setting.GetTo())) {
			var here []*group
			var total uint32
			left = slices.DeleteFunc(left, func(g *group) bool {
				if !matches(g.place, to) {
					return false
				}
				here = append(here, g)
				total += g.weight
				return true
			})
			for _, g := range here {
				if w := float64(g.weight*setting.GetTo()[to]) / float64(total); w > 0 {
					g.weight = uint32(math.Ceil(w))
				}
			}
		}
		for _, g := range left {
			g.endpoints = nil
		}
		return
	}
}

// matches reports whether a place is one that "region/zone/subzone" means, in which a part may be "*" or missing.
func matches(place model.Locality, pattern string) bool {
	parts := append(strings.SplitN(pattern, "/", 4), "", "")
	match := func(part, value string) bool { return part == "*" || part == value }
	return match(parts[0], place.Region) &&
		(parts[1] == "" || match(parts[1], place.Zone)) && (parts[2] == "" || match(parts[2], place.SubZone))
}

// message is a group as Envoy takes it.
func (g *group) message() *endpointv3.LocalityLbEndpoints {
	return &endpointv3.LocalityLbEndpoints{
		Locality:            locality(g.place),
		LbEndpoints:         g.endpoints,
		LoadBalancingWeight: wrapperspb.UInt32(g.weight),
		Priority:            g.priority,
	}
}

// compareGroups orders by place, and within one by distance.
func compareGroups(a, b *group) int {
	return cmp.Or(cmp.Compare(label(a.place), label(b.place)), cmp.Compare(a.priority, b.priority))
}
