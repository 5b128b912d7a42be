// Package model is the plain data that the rest of meshd speaks in: services, endpoints, proxies and changes.
//
// Nothing here does I/O, starts a goroutine or reads a clock. Values are immutable once they are handed on:
// snapshots and resources share them by pointer, and a pointer that did not change means content that did not change.
package model

// NamespacedName is the identity of an object within its kind.
type NamespacedName struct{ Namespace, Name string }

// String gives "namespace/name", or only the name for objects without a namespace.
func (n NamespacedName) String() string {
	if n.Namespace == "" {
		return n.Name
	}
	return n.Namespace + "/" + n.Name
}

// Kind is the kind of an object that configuration is made of, as its manifests spell it.
type Kind string

// The kinds that meshd reads today.
const (
	KindService        Kind = "Service"
	KindEndpointSlice  Kind = "EndpointSlice"
	KindPod            Kind = "Pod"
	KindNode           Kind = "Node"
	KindNamespace      Kind = "Namespace"
	KindServiceAccount Kind = "ServiceAccount"
	KindMeshConfig     Kind = "MeshConfig"
)

// Aspect says which part of an object changed, as far as reading it is concerned.
type Aspect uint8

const (
	// AspectSpec is everything that is not an endpoint: the object appeared, disappeared, or means something else.
	AspectSpec Aspect = iota
	// AspectEndpoints is a change of addresses or health only. Such changes have a debounce window of their own.
	AspectEndpoints
)

// Change names an object that is not what it was. It is a key, not a value: whoever reads it looks the object up.
// Changes are comparable, so a set of them merges by itself.
type Change struct {
	Kind Kind
	NamespacedName
	What Aspect
}
