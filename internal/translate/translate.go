// Package translate turns a snapshot and a proxy's class into Envoy resources.
//
// It is pure: no I/O, no goroutine, no clock, and nothing of a proxy beyond its class. Each kind of resource has a
// folder of its own. A generator does not build resources; it lists recipes, and whoever holds a resource made from
// an equal recipe uses that one. So a resource is generated and serialised once for the whole mesh.
package translate

import (
	"slices"

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
	// Pieces gives the same resource in pieces, for one that is large and has much in common with others. Nil, or giving nil,
	// is to be built whole.
	Pieces func() *Pieces
}

// Pieces are messages of a resource's type whose encodings, one behind the other, are that of what the recipe builds.
type Pieces struct {
	// Common are pieces that several resources have in common, those of Instead excepted.
	Common *PieceList
	// Instead holds the pieces that this resource has in the place of common ones, by their index.
	Instead map[int]Piece
}

// PieceList is a list of pieces, known again by its address: what it came to is remembered as long as the list is in use.
type PieceList struct{ Pieces []Piece }

// Piece is a part of a resource, of the resource's own type.
type Piece struct {
	// Key is everything that Build reads, as that of a Recipe. The piece may be part of resources of any name.
	Key any
	// Build makes the piece, at most once as long as a resource has it.
	Build func() (proto.Message, error)
}

// All gives the pieces in order.
func (p *Pieces) All() []Piece {
	out := slices.Clone(p.Common.Pieces)
	for i, piece := range p.Instead {
		out[i] = piece
	}
	return out
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
	// List says how the resources of a class are enumerated. Generators without wildcard answer it too, as far as
	// their names can be enumerated, for debug pages and tests.
	List(model.ProxyClass) Listing
	// Named gives the recipe of one resource; false if there is no such resource.
	Named(s *snapshot.Snapshot, c model.ProxyClass, name string) (Recipe, bool)
}

// Listing enumerates the resources of a class in parts, so that a change of the mesh costs no more than the parts that
// it touches. Which these are needs no saying: each function is handed a snapshot that notes what is read of it, and is
// asked again when something of that is another. So it must not read the mesh from anywhere else. Fields may be nil.
//
// A name should come of one part only. Where several give it the first counts, in the order of All, and the class is
// listed from scratch for as long as that is so.
type Listing struct {
	// Scope says whose services and ports there are.
	Scope snapshot.Scope
	// Shared is all that Service and Port read of the class, as a comparable value: classes in which it is equal share what
	// these find. Make it first and let them see nothing else of the class, so that what is forgotten is missing for all to
	// see. Nil for what no two classes share.
	Shared any
	// Service lists what comes of one service.
	Service func(*snapshot.Snapshot, *snapshot.Service) []Recipe
	// Port lists what comes of the services that have a port of one number.
	Port func(*snapshot.Snapshot, *snapshot.PortServices) []Recipe
	// Rest lists everything else.
	Rest func(*snapshot.Snapshot) []Recipe
	// Finish, if not nil, makes the recipe for this class of one that Service or Port gave, which may be no more than a name
	// and a key.
	Finish func(*snapshot.Mesh, Recipe) Recipe
}

// All lists everything, part by part, in a stable order.
func (l Listing) All(s *snapshot.Snapshot) []Recipe {
	var out []Recipe
	if l.Service != nil {
		for _, service := range s.View(l.Scope).Services() {
			out = append(out, l.Finished(s.Mesh(), l.Service(s, service))...)
		}
	}
	if l.Port != nil {
		for _, port := range s.View(l.Scope).Ports() {
			out = append(out, l.Finished(s.Mesh(), l.Port(s, port))...)
		}
	}
	if l.Rest != nil {
		out = append(out, l.Rest(s)...)
	}
	return out
}

// Finished makes what Service or Port gave the recipes of the class.
func (l Listing) Finished(mesh *snapshot.Mesh, recipes []Recipe) []Recipe {
	if l.Finish == nil {
		return recipes
	}
	out := make([]Recipe, len(recipes))
	for i, r := range recipes {
		out[i] = l.Finish(mesh, r)
	}
	return out
}

// Has says that the listing has parts of a kind.
func (l Listing) Has(k snapshot.PartKind) bool {
	switch k {
	case snapshot.PartService:
		return l.Service != nil
	case snapshot.PartPort:
		return l.Port != nil
	case snapshot.PartRest:
		return l.Rest != nil
	}
	return false
}
