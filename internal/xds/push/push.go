// Package push follows changes on their way to the clients: when they came, when they were given out, compiled, sent
// and answered.
//
// A Push is the record of one batch of changes. It is made once, and metrics and traces are both made of it, so that
// they never tell two stories.
package push

import (
	"time"

	"github.com/meshd/meshd/internal/model"
)

// Push is one batch of changes that became a snapshot. It does not change once it is published.
type Push struct {
	// Number counts the pushes of this process from 1.
	Number uint64
	// First is when the first of the changes came, and Last when the last one was taken in. Taken is when the batch was
	// given out to be compiled, and Compiled when its snapshot was complete.
	First, Last, Taken, Compiled time.Time
	// Reasons counts the changes by what they are a reason of.
	Reasons map[Reason]int
	// EndpointsOnly says that nothing else than endpoints changed.
	EndpointsOnly bool

	version uint64 // of the snapshot
	spans   *spans // nil if it is not traced
}

// Reason is why a push happens, as pilot_push_triggers of istiod spells it.
type Reason string

// The reasons that there are today.
const (
	Endpoint  Reason = "endpoint"
	Service   Reason = "service"
	Proxy     Reason = "proxy"
	Config    Reason = "config"
	Namespace Reason = "namespace"
	Global    Reason = "global"
)

// ReasonOf says what a change is a reason of.
func ReasonOf(c model.Change) Reason {
	switch {
	case c.What == model.AspectEndpoints, c.Kind == model.KindEndpointSlice:
		return Endpoint
	case c.Kind == model.KindService:
		return Service
	case c.Kind == model.KindPod:
		return Proxy
	case c.Kind == model.KindNamespace:
		return Namespace
	case c.Kind == model.KindMeshConfig, c.Kind == model.KindNode:
		return Global
	}
	return Config
}
