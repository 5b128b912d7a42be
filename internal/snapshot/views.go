package snapshot

import (
	"cmp"
	"slices"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/registry"
)

// Scope says what a client sees of the mesh. It is the namespace of the client if some service is shown to that
// namespace and not to everybody, else empty: so where nothing is hidden, all clients are of one scope.
type Scope string

// Scope finds the scope of the clients of a namespace.
func (s *Snapshot) Scope(namespace string) Scope {
	s.reads.note(key{what: allServices})
	if s.scoped[namespace] == nil {
		return ""
	}
	return Scope(namespace)
}

// View is the mesh as the clients of one scope see it.
type View struct {
	lists   *lists
	scope   Scope
	entries table[string, entry]
	reads   *Reads
}

// View is the part of the snapshot that a scope sees.
func (s *Snapshot) View(scope Scope) View {
	if l := s.scoped[string(scope)]; l != nil {
		return View{l, scope, s.entries, s.reads}
	}
	if s.public == nil {
		return View{lists: &lists{}, reads: s.reads}
	}
	return View{s.public, "", s.entries, s.reads}
}

// Services lists all services that are seen, sorted by hostname.
func (v View) Services() []*Service {
	v.reads.note(key{what: allServices})
	return v.lists.services
}

// Ports lists the services that are seen by port number, sorted by number.
func (v View) Ports() []*PortServices {
	v.reads.note(key{what: allServices})
	return v.lists.ports
}

// Port finds the services that are seen and have a port of this number, or gives nil.
func (v View) Port(number uint32) *PortServices {
	v.reads.note(portKey(number))
	return v.lists.port(number)
}

// Names gives what the names that are seen are made of.
func (v View) Names() *Names {
	v.reads.note(key{what: theNames})
	return v.lists.names
}

// Placed reports what any service that is seen reads of the place of its client.
func (v View) Placed() PlaceUse {
	v.reads.note(key{what: allServices})
	return v.lists.placed
}

// Service finds a service that is seen by hostname, or gives nil.
func (v View) Service(hostname string) *Service {
	v.reads.note(serviceKey(hostname))
	if e := v.entries.get(hostname); e != nil && e.service.shownTo(string(v.scope)) {
		return e.service
	}
	return nil
}

// Endpoints finds the endpoints of a service port as Snapshot.Endpoints does; nil if the service is not seen.
func (v View) Endpoints(hostname string, port uint32) *Endpoints {
	v.reads.note(key{theEndpoints, hostname, port})
	if e := v.entries.get(hostname); e != nil && e.service.shownTo(string(v.scope)) {
		return e.port(port)
	}
	return nil
}

// shownTo reports whether clients of a namespace see the service; those of the empty one see what everybody sees.
func (s *Service) shownTo(namespace string) bool {
	if s.public() {
		return true
	}
	_, found := slices.BinarySearch(s.ShownTo, namespace)
	return found
}

func (s *Service) public() bool { return len(s.ShownTo) == 1 && s.ShownTo[0] == registry.Everybody }

// lists are services in the orders that they are listed in.
type lists struct {
	services []*Service
	ports    []*PortServices
	names    *Names
	// placed reports what any of the services reads of the place of a client.
	placed PlaceUse
}

// port finds the services that have a port of this number, or gives nil.
func (l *lists) port(number uint32) *PortServices {
	i, found := slices.BinarySearchFunc(l.ports, number, func(p *PortServices, n uint32) int { return cmp.Compare(p.Number, n) })
	if !found {
		return nil
	}
	return l.ports[i]
}

// edits are changes of lists: by hostname, by port number and hostname, and of what is headless by hostname; nil removes.
type edits struct {
	services map[string]*Service
	ports    map[uint32]map[string]*Service
	heads    map[string]*Endpoints
	// owners are the services of heads.
	owners map[string]*Service
}

// seenBy gives the edits with everything removed that a namespace does not see.
func (e edits) seenBy(namespace string) edits {
	only := func(s *Service) *Service {
		if s == nil || !s.shownTo(namespace) {
			return nil
		}
		return s
	}
	out := edits{map[string]*Service{}, map[uint32]map[string]*Service{}, map[string]*Endpoints{}, nil}
	for hostname, s := range e.services {
		out.services[hostname] = only(s)
	}
	for number, services := range e.ports {
		out.ports[number] = map[string]*Service{}
		for hostname, s := range services {
			out.ports[number][hostname] = only(s)
		}
	}
	for hostname, eps := range e.heads {
		if only(e.owners[hostname]) == nil {
			eps = nil
		}
		out.heads[hostname] = eps
	}
	return out
}

// apply makes lists of others. What is not as in base keeps the pointer that it has in one of like, if it is the same.
func (e edits) apply(base *lists, like ...*lists) *lists {
	if base == nil {
		base = &lists{}
	} else if len(e.services)+len(e.heads) == 0 {
		return base
	}
	next := &lists{placed: base.placed}
	var changed bool
	if next.services, changed = replace(base.services, byHostname, e.services); changed {
		next.placed = placedOf(next.services)
	}
	found := map[uint32]*PortServices{}
	for number, services := range e.ports {
		var list []*Service
		if old := base.port(number); old != nil {
			list = old.Services
		}
		if list, _ = replace(list, byHostname, services); len(list) == 0 {
			found[number] = nil
			continue
		}
		found[number] = &PortServices{Number: number, Services: list}
		for _, l := range like {
			if l == nil {
				continue
			}
			if had := l.port(number); had != nil && slices.Equal(had.Services, list) {
				found[number] = had
				break
			}
		}
	}
	next.ports, _ = replace(base.ports, byNumber, found)
	next.names = e.applyNames(base, next.services, like)
	return next
}

func (e edits) applyNames(base *lists, services []*Service, like []*lists) *Names {
	var headless []*Endpoints
	if base.names != nil {
		headless = base.names.Headless
	}
	headless, _ = replace(headless, func(e *Endpoints) string { return e.Service.Hostname }, e.heads)
	for _, l := range like {
		if l != nil && l.names != nil && slices.Equal(l.names.Services, services) && slices.Equal(l.names.Headless, headless) {
			return l.names
		}
	}
	return &Names{Services: services, Headless: headless}
}

// lists brings all lists of the snapshot up to date.
func (b *build) lists(next *Snapshot, e edits) {
	// What everybody sees may have been all before, or be all now: then it has one pointer for both.
	next.all = e.apply(b.base.all, b.last.all, b.last.public)
	for hostname, s := range e.services {
		b.known.export(hostname, s)
	}
	if len(b.known.hidden) == 0 {
		next.public, next.scoped = next.all, nil
		return
	}
	from := b.base.public
	next.public = e.seenBy("").apply(from, b.last.public, next.all)
	next.scoped = make(map[string]*lists, len(b.known.shown))
	for namespace := range b.known.shown {
		base := b.base.scoped[namespace]
		if base == nil {
			base = from // what is shown to the namespace alone is all new
		}
		next.scoped[namespace] = e.seenBy(namespace).apply(base, next.public, b.last.scoped[namespace])
	}
}

// export notes whom a service is shown to, if not to everybody; nil for one that is no more.
func (k *known) export(hostname string, s *Service) {
	for _, namespace := range k.hidden[hostname] {
		k.shown.remove(namespace, hostname)
	}
	delete(k.hidden, hostname)
	if s == nil || s.public() {
		return
	}
	k.hidden[hostname] = slices.Clone(s.ShownTo)
	for _, namespace := range s.ShownTo {
		k.shown.add(namespace, hostname)
	}
}

// shownTo lists the namespaces that a service is shown to, by its own word or else the mesh's.
func shownTo(svc *model.Service, mesh *Mesh) []string {
	if svc.Exported {
		return svc.ExportTo
	}
	if names := mesh.Config.GetDefaultServiceExportTo(); len(names) > 0 {
		return registry.ExportTo(names, svc.Namespace)
	}
	return everybody
}

var everybody = []string{registry.Everybody}

// sameForServices reports whether nothing differs between two mesh configs that is read where services are compiled.
func sameForServices(a, b *Mesh) bool {
	return slices.Equal(trustDomains(a.Config), trustDomains(b.Config)) &&
		slices.Equal(a.Config.GetDefaultServiceExportTo(), b.Config.GetDefaultServiceExportTo())
}
