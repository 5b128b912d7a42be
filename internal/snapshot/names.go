package snapshot

import "github.com/meshd/meshd/internal/model"

// Names is what a table of the mesh's names is made of: it lists names, and where each leads. Its pointer changes when a
// service does, or an endpoint of a service without an address.
type Names struct {
	// Services are all services that are seen, sorted by hostname.
	Services []*Service
	// Headless are the endpoints of the first port of each service without an address, sorted by hostname.
	Headless []*Endpoints
}

// head gives the endpoints that the name of a service without an address leads to; nil for any other service.
func (e *entry) head() *Endpoints {
	if e == nil || e.service.Resolution != model.ResolutionPassthrough || len(e.endpoints) == 0 {
		return nil
	}
	return e.endpoints[0]
}
