package snapshot

import (
	"slices"

	"github.com/meshd/meshd/internal/model"
)

// Names is what a table of the mesh's names is made of: it lists names, and where each leads. Its pointer changes when a
// service does, or an endpoint of a service without an address.
type Names struct {
	// Services are all services, sorted by hostname.
	Services []*Service
	// Headless are the endpoints of the first port of each service without an address, sorted by hostname.
	Headless []*Endpoints
}

// Names gives what the names of this moment are made of.
func (s *Snapshot) Names() *Names { return s.names }

// names makes the record, or keeps the one there was. heads are the changes of what is headless, by hostname.
func (b *build) names(services []*Service, heads map[string]*Endpoints) *Names {
	var headless []*Endpoints
	if b.base.names != nil {
		headless = b.base.names.Headless
	}
	if headless, _ = replace(headless, func(e *Endpoints) string { return e.Service.Hostname }, heads); len(headless) == 0 {
		headless = nil // equal content is equal
	}
	if last := b.last.names; last != nil && slices.Equal(last.Services, services) && slices.Equal(last.Headless, headless) {
		return last
	}
	return &Names{Services: services, Headless: headless}
}

// head gives the endpoints that the name of a service without an address leads to; nil for any other service.
func (e *entry) head() *Endpoints {
	if e == nil || e.service.Resolution != model.ResolutionPassthrough || len(e.endpoints) == 0 {
		return nil
	}
	return e.endpoints[0]
}
