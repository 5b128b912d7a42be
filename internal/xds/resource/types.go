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
)

// Type is what the protocol says about the resources of one type URL
// (https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol).
type Type struct {
	URL string
	// Short is the name in metrics and logs, as Istio has it: cds, eds, lds, rds.
	Short string
	// Rank orders the types of one push: what is referred to goes before what refers to it.
	Rank int
	// FullState says that a state-of-the-world response replaces everything before it, so that a resource that is
	// missing from it is a deleted one. Responses of other types may carry only what changed.
	FullState bool
	// Parent is the type whose resources name those of this one; a changed parent makes a client ask for them again.
	Parent string
	// SameName says that a resource has the name of its parent, so that a changed parent names what is asked for again.
	SameName bool
	// Twin is the type that has a resource of the same name for a resource of this one: the reverse of Parent.
	Twin string
	// Refers says that resources refer to others of lower rank that must reach a client before them.
	Refers bool
}

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
	}
	return Type{URL: url, Short: url, Rank: 5}
}
