package resource

import (
	"cmp"
	"strings"
)

// The type URLs that meshd serves or will serve.
const (
	ClusterType  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	EndpointType = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	ListenerType = "type.googleapis.com/envoy.config.listener.v3.Listener"
	RouteType    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"

	SecretType    = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
	ExtensionType = "type.googleapis.com/envoy.config.core.v3.TypedExtensionConfig"

	// NameTableType and ProxyConfigType are for Istio's agents, not for the proxies beside them.
	NameTableType   = "type.googleapis.com/istio.networking.nds.v1.NameTable"
	ProxyConfigType = "type.googleapis.com/istio.mesh.v1alpha1.ProxyConfig"

	// HealthType is not served: with it Istio's agents report on their workload, in requests that want no answer.
	HealthType = "type.googleapis.com/istio.v1.HealthInformation"
)

// Type is what the protocol says about the resources of one type URL
// (https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol).
type Type struct {
	URL string
	// Short is the name in metrics and logs, as Istio has it: cds, eds, lds, rds, sds, ecds, nds, pcds.
	Short string
	// Rank orders the types of one push: what is referred to goes before what refers to it.
	Rank int
	// FullState says that a state-of-the-world response replaces everything before it, so that a resource that is
	// missing from it is a deleted one. Responses of other types may carry only what changed.
	FullState bool
	// Parent is the type whose resources name those of this one; a changed parent makes a client ask for them again.
	// OtherParent is a second one.
	Parent, OtherParent string
	// SameName says that a resource has the name of its parent, so that a changed parent names what is asked for again.
	SameName bool
	// Twin is the type that has a resource of the same name for a resource of this one: the reverse of Parent.
	Twin string
	// Refers says that resources refer to others of lower rank that must reach a client before them.
	Refers bool
	// Unsaid says that a delta client is not told that a resource is not there, not even if it asks for it: Envoy takes
	// an extension that is gone out of use while a listener names it (https://github.com/envoyproxy/envoy/issues/32823).
	Unsaid bool
	// Agent says that Istio's agents ask for it for themselves. They do not answer a response without resources.
	Agent bool
}

// NamedBy reports whether resources of the other type name those of this one.
func (t Type) NamedBy(url string) bool { return url == t.Parent || url == t.OtherParent }

// Compare orders types as they go out in one push.
func (t Type) Compare(o Type) int {
	return cmp.Or(cmp.Compare(t.Rank, o.Rank), strings.Compare(t.URL, o.URL))
}

// MarshalText writes the type URL, for debug pages.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.URL), nil }

// TypeOf looks a type URL up. A type that the protocol says nothing about comes after all others, and stands alone.
func TypeOf(url string) Type {
	switch url {
	case ClusterType:
		return Type{URL: url, Short: "cds", Rank: 1, FullState: true, Twin: EndpointType}
	case EndpointType:
		return Type{URL: url, Short: "eds", Rank: 2, Parent: ClusterType, SameName: true}
	case ListenerType:
		return Type{URL: url, Short: "lds", Rank: 3, FullState: true, Refers: true}
	case RouteType:
		return Type{URL: url, Short: "rds", Rank: 4, Parent: ListenerType, Refers: true}
	case SecretType:
		return Type{URL: url, Short: "sds", Rank: 5, Parent: ListenerType, OtherParent: ClusterType, Unsaid: true}
	case ExtensionType:
		return Type{URL: url, Short: "ecds", Rank: 6, Parent: ListenerType, Refers: true, Unsaid: true}
	case NameTableType:
		return Type{URL: url, Short: "nds", Rank: 7, Agent: true}
	case ProxyConfigType:
		return Type{URL: url, Short: "pcds", Rank: 8, Agent: true}
	}
	return Type{URL: url, Short: url, Rank: 9}
}
