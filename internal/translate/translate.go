// Package translate turns a snapshot and a proxy's class into Envoy resources.
//
// It is pure: no I/O, no goroutine, no clock, and nothing of a proxy beyond its class. Each kind of resource has a
// folder of its own. A generator does not build resources; it lists recipes, and whoever holds a resource made from
// an equal recipe uses that one. So a resource is generated and serialised once for the whole mesh.
package translate

import (
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
)

// Recipe is one resource that has not been made yet.
type Recipe struct {
	// Name of the resource, as clients ask for it.
	Name string
	// Key is everything that Build reads, as a comparable value: pointers to immutable records of the snapshot and
	// fields of the class. Two recipes of one generator with equal name and key build equal resources.
	Key any
	// Build makes the resource. It may be called from any goroutine, and at most once per distinct name and key.
	Build func() (proto.Message, error)
}

// Generator makes the resources of one type for one flavor of client.
type Generator interface {
	// TypeURL of the resources, for example "type.googleapis.com/envoy.config.cluster.v3.Cluster".
	TypeURL() string
	// Flavor of the clients it serves.
	Flavor() model.Flavor
	// Wildcard reports whether a request without names subscribes to all resources of the type
	// (https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol: listeners and clusters).
	Wildcard() bool
	// Class projects a proxy and the snapshot onto what this generator reads.
	Class(*snapshot.Snapshot, *model.Proxy) model.ProxyClass
	// All lists the resources of a class in a stable order. Generators without wildcard answer it too, as far as
	// their names can be enumerated, for debug pages and tests.
	All(*snapshot.Snapshot, model.ProxyClass) []Recipe
	// Named gives the recipe of one resource; false if there is no such resource.
	Named(s *snapshot.Snapshot, c model.ProxyClass, name string) (Recipe, bool)
}
