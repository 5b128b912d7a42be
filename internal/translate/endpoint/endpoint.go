// Package endpoint makes the load assignments of clusters: who is behind a service port, by place.
package endpoint

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/envoy"
	"github.com/meshd/meshd/internal/translate/names"
)

// TypeURL of the resources.
const TypeURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

// New makes the generator of load assignments for clients of a flavor. All get the same content, but a sidecar has no
// use for those of headless services: it sends to the address that the client dialled.
func New(flavor model.Flavor) translate.Generator { return translate.Typed(generator{flavor}) }

// class is which load assignments a client has; their content depends on nothing of it.
type class struct {
	// sidecar is true for a proxy whose clients dial addresses themselves.
	sidecar bool
}

type generator struct{ flavor model.Flavor }

func (generator) TypeURL() string        { return TypeURL }
func (g generator) Flavor() model.Flavor { return g.flavor }
func (generator) Wildcard() bool         { return false }

func (g generator) Class(_ *snapshot.Snapshot, p *model.Proxy) class {
	return class{sidecar: g.flavor == model.FlavorEnvoy && p.Type == model.Sidecar}
}

func (g generator) All(s *snapshot.Snapshot, c class) []translate.Recipe {
	var out []translate.Recipe
	for _, service := range s.Services() {
		for _, port := range service.Ports {
			if port.Protocol == model.ProtocolUDP {
				continue
			}
			if r, ok := g.Named(s, c, names.Outbound(service.Hostname, port.Number)); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

func (generator) Named(s *snapshot.Snapshot, c class, name string) (translate.Recipe, bool) {
	hostname, number, ok := names.ParseOutbound(name)
	if !ok {
		return translate.Recipe{}, false
	}
	endpoints := s.Endpoints(hostname, number)
	if endpoints == nil || endpoints.Port.Protocol == model.ProtocolUDP || !c.serves(endpoints.Service) {
		return translate.Recipe{}, false
	}
	return translate.Recipe{
		Name: name,
		Key:  endpoints,
		Build: func() (proto.Message, error) {
			return assignment(name, endpoints), nil
		},
	}, true
}

func (c class) serves(service *model.Service) bool {
	switch service.Resolution {
	case model.ResolutionDNS:
		return false
	case model.ResolutionPassthrough:
		return !c.sidecar
	}
	return true
}

func assignment(name string, endpoints *snapshot.Endpoints) *endpointv3.ClusterLoadAssignment {
	byPlace := map[model.Locality]*endpointv3.LocalityLbEndpoints{}
	var places []model.Locality
	for _, e := range endpoints.All {
		health, sent := healthOf(e)
		if !sent || !isIP(e) {
			continue
		}
		place, found := byPlace[e.Locality]
		if !found {
			place = &endpointv3.LocalityLbEndpoints{
				Locality:            &corev3.Locality{Region: e.Locality.Region, Zone: e.Locality.Zone, SubZone: e.Locality.SubZone},
				LoadBalancingWeight: wrapperspb.UInt32(0),
			}
			byPlace[e.Locality] = place
			places = append(places, e.Locality)
		}
		weight := max(e.Weight, 1)
		place.LbEndpoints = append(place.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
				Address: envoy.Address(e.Addresses[0], e.Port),
			}},
			HealthStatus:        health,
			LoadBalancingWeight: wrapperspb.UInt32(weight),
			Metadata:            metadata(e),
		})
		place.LoadBalancingWeight.Value = saturatingAdd(place.LoadBalancingWeight.Value, weight)
	}
	slices.SortFunc(places, func(a, b model.Locality) int { return cmp.Compare(label(a), label(b)) })
	out := &endpointv3.ClusterLoadAssignment{ClusterName: name}
	for _, place := range places {
		out.Endpoints = append(out.Endpoints, byPlace[place])
	}
	return out
}

// label is a place as Istio spells it, with the slashes of what is not known: its order of places is that of labels.
func label(l model.Locality) string {
	if l == (model.Locality{}) {
		return ""
	}
	return l.Region + "/" + l.Zone + "/" + l.SubZone
}

// healthOf gives an endpoint's health in Envoy's terms; false for one that Envoy should not know of. What is not ready
// is sent, so that Envoy can tell how much of a cluster works, and what is going is not, so that a roll-out does not
// look like half a failure.
func healthOf(e *model.Endpoint) (corev3.HealthStatus, bool) {
	switch e.Health {
	case model.Healthy:
		return corev3.HealthStatus_HEALTHY, true
	case model.Unhealthy:
		return corev3.HealthStatus_UNHEALTHY, true
	case model.Draining:
		return corev3.HealthStatus_DRAINING, true
	}
	return corev3.HealthStatus_UNKNOWN, false
}

// isIP reports whether the endpoint's first address is one that Envoy can connect to without resolving a name. One
// name among addresses would make it refuse all of them.
func isIP(e *model.Endpoint) bool {
	if len(e.Addresses) == 0 {
		return false
	}
	_, err := netip.ParseAddr(e.Addresses[0])
	return err == nil
}

// saturatingAdd keeps a sum of weights within Envoy's limit of 2^32-1.
func saturatingAdd(a, b uint32) uint32 {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<32 - 1
}

// metadata says how to reach an endpoint and, in Istio's short form, whose it is: workload, namespace, canonical
// service, its revision, and cluster.
func metadata(e *model.Endpoint) *corev3.Metadata {
	service, revision := canonical(e)
	workload := strings.Join([]string{e.Workload, e.Namespace, service, revision, e.ClusterID}, ";")
	m := &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{
		"istio": {Fields: map[string]*structpb.Value{"workload": structpb.NewStringValue(workload)}},
	}}
	if e.MutualTLS {
		m.FilterMetadata["envoy.transport_socket_match"] = &structpb.Struct{Fields: map[string]*structpb.Value{
			"tlsMode": structpb.NewStringValue("istio"),
		}}
	}
	return m
}

// canonical finds the canonical service of a workload and its revision, by the labels that Istio documents
// (https://istio.io/latest/docs/ops/deployment/application-requirements/#canonical-service). The revision is empty
// where it is "latest", the default.
func canonical(e *model.Endpoint) (service, revision string) {
	first := func(labels ...string) string {
		for _, l := range labels {
			if v := e.Labels[l]; v != "" {
				return v
			}
		}
		return ""
	}
	service = cmp.Or(first("service.istio.io/canonical-name", "app.kubernetes.io/name", "app"), e.Workload)
	revision = first("service.istio.io/canonical-revision", "app.kubernetes.io/version", "version")
	if revision == "latest" {
		revision = ""
	}
	return service, revision
}
