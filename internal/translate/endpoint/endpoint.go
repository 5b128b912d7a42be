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

// New makes the generator of load assignments for clients of a flavor. All get the same content, but for services that
// look at where a client is; and a sidecar has no use for those of headless services: it sends to the address that the
// client dialled.
func New(flavor model.Flavor) translate.Generator { return translate.Typed(generator{flavor}) }

// class is which load assignments a client has, and what their content depends on.
type class struct {
	// sidecar is true for a proxy whose clients dial addresses themselves.
	sidecar bool
	// scope says of whom there are endpoints.
	scope snapshot.Scope
	// place is as much of where the client is as any service looks at.
	place snapshot.Place
}

type generator struct{ flavor model.Flavor }

func (generator) TypeURL() string        { return TypeURL }
func (g generator) Flavor() model.Flavor { return g.flavor }
func (generator) Wildcard() bool         { return false }

func (g generator) Class(s *snapshot.Snapshot, p *model.Proxy) class {
	c := class{sidecar: g.flavor == model.FlavorEnvoy && p.Type == model.Sidecar, scope: s.Scope(p.Namespace)}
	use := s.View(c.scope).Placed()
	if len(s.Mesh().Config.GetLocalityLbSetting().GetDistribute()) > 0 {
		use |= usesShares
	}
	if use != 0 {
		c.place = use.Of(s.Place(p))
	}
	return c
}

// usesShares is what shares of places read of a client's place.
const usesShares = snapshot.UsesZone | snapshot.UsesSubZone

func (g generator) List(c class) translate.Listing {
	return translate.Listing{Scope: c.scope, Service: func(s *snapshot.Snapshot, service *snapshot.Service) []translate.Recipe {
		var out []translate.Recipe
		for _, port := range service.Ports {
			if port.Protocol == model.ProtocolUDP {
				continue
			}
			if r, ok := g.Named(s, c, names.Outbound(service.Hostname, port.Number)); ok {
				out = append(out, r)
			}
		}
		return out
	}}
}

// key is what one load assignment is made of. The mesh and the client's place are there only if they are read.
type key struct {
	endpoints *snapshot.Endpoints
	mesh      *snapshot.Mesh
	client    snapshot.Place
}

func (generator) Named(s *snapshot.Snapshot, c class, name string) (translate.Recipe, bool) {
	hostname, number, ok := names.ParseOutbound(name)
	if !ok {
		return translate.Recipe{}, false
	}
	endpoints := s.View(c.scope).Endpoints(hostname, number)
	if endpoints == nil || endpoints.Port.Protocol == model.ProtocolUDP || !c.serves(endpoints.Service) {
		return translate.Recipe{}, false
	}
	k := key{endpoints: endpoints}
	use := snapshot.Placed(endpoints.Service)
	if len(envoy.Shares(s.Mesh().Config, endpoints.Service)) > 0 {
		k.mesh, use = s.Mesh(), use|usesShares
	}
	k.client = use.Of(c.place)
	return translate.Recipe{
		Name:  name,
		Key:   k,
		Build: func() (proto.Message, error) { return assignment(name, k), nil },
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

func assignment(name string, k key) *endpointv3.ClusterLoadAssignment {
	service := k.endpoints.Service
	type at struct {
		place    model.Locality
		priority uint32
	}
	found := map[at]*group{}
	var groups []*group
	for _, e := range k.endpoints.All {
		health, sent := healthOf(service, e)
		if !sent || !isIP(e) || service.NodeLocal && e.Node != k.client.Node {
			continue
		}
		to := at{place: e.Locality}
		if service.Distribution != model.DistributeAny {
			to.priority = distance(k.client, snapshot.PlaceOf(e), service.Distribution)
		}
		if found[to] == nil {
			found[to] = &group{place: to.place, priority: to.priority}
			groups = append(groups, found[to])
		}
		found[to].add(&endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
				Address:             envoy.Address(e.Addresses[0], e.Port),
				AdditionalAddresses: others(e),
			}},
			HealthStatus:        health,
			LoadBalancingWeight: wrapperspb.UInt32(max(e.Weight, 1)),
			Metadata:            metadata(e),
		})
	}
	slices.SortFunc(groups, compareGroups)
	rank(groups)
	if k.mesh != nil {
		share(groups, k.client.Locality, envoy.Shares(k.mesh.Config, service))
	}
	out := &endpointv3.ClusterLoadAssignment{ClusterName: name}
	for _, g := range groups {
		out.Endpoints = append(out.Endpoints, g.message())
	}
	return out
}

// others are the addresses of an endpoint beside the primary one; whichever answers first is used.
func others(e *model.Endpoint) []*endpointv3.Endpoint_AdditionalAddress {
	var out []*endpointv3.Endpoint_AdditionalAddress
	for _, a := range e.Addresses[1:] {
		out = append(out, &endpointv3.Endpoint_AdditionalAddress{Address: envoy.Address(a, e.Port)})
	}
	return out
}

func locality(l model.Locality) *corev3.Locality {
	return &corev3.Locality{Region: l.Region, Zone: l.Zone, SubZone: l.SubZone}
}

// label is a place as Istio spells it, with the slashes of what is not known: its order of places is that of labels.
func label(l model.Locality) string {
	if l == (model.Locality{}) {
		return ""
	}
	return l.Region + "/" + l.Zone + "/" + l.SubZone
}

// drainingLabel on a pod takes it out of use, but for sessions that are bound to it (istiod's PILOT_DRAINING_LABEL).
const drainingLabel = "istio.io/draining"

// healthOf gives an endpoint's health in Envoy's terms; false for one that Envoy should not know of. What is not ready
// is sent, so that Envoy can tell how much of a cluster works, and what is going is not, so that a roll-out does not
// look like half a failure. What drains is of use only where sessions are bound to it.
func healthOf(service *model.Service, e *model.Endpoint) (corev3.HealthStatus, bool) {
	if e.Health != model.Terminating && e.Labels[drainingLabel] != "" {
		return corev3.HealthStatus_DRAINING, service.KeepDraining
	}
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
