package route

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"weak"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/envoy"
)

// The table of a port has a virtual host for each of a thousand services, and there is a table for each namespace that
// has proxies. They differ only in the services of that namespace, which have a name more in it. So a virtual host is a
// piece, and nearly all of a table is the same pieces.

// neutral is the namespace of nobody: what it sees of the names of services all others see too.
const neutral = ""

// shape is what the tables of one port have in common, for clients with addresses of some families and one DNS domain.
type shape struct {
	hosts []*snapshot.Service // in the order of the table
	// domains are whose they are. It is nil if any are of two services: who has them then depends on the others.
	domains map[string]*snapshot.Service
}

type shapeKey struct {
	families envoy.Families
	cluster  string // the DNS domain
}

// tables remembers shapes as long as the list of services is in use that they are made of.
type tables struct {
	mu     sync.Mutex
	shapes map[weak.Pointer[snapshot.PortServices]]map[shapeKey]*shape
}

func newTables() *tables {
	return &tables{shapes: map[weak.Pointer[snapshot.PortServices]]map[shapeKey]*shape{}}
}

// maxShapes bounds the shapes of one port: a mesh has one or two, but clients say themselves what their domain is.
const maxShapes = 16

func (t *tables) shape(ps *snapshot.PortServices, k shapeKey) *shape {
	of := weak.Make(ps)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.shapes[of] == nil {
		t.shapes[of] = map[shapeKey]*shape{}
		runtime.AddCleanup(ps, t.forget, of)
	}
	known := t.shapes[of][k]
	if known == nil && len(t.shapes[of]) >= maxShapes {
		return &shape{}
	}
	if known == nil {
		known = newShape(ps, k)
		t.shapes[of][k] = known
	}
	return known
}

func (t *tables) forget(of weak.Pointer[snapshot.PortServices]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.shapes, of)
}

func newShape(ps *snapshot.PortServices, k shapeKey) *shape {
	s := &shape{domains: make(map[string]*snapshot.Service, 8*len(ps.Services))}
	c := class{domain: domain(neutral, k.cluster), families: k.families}
	for _, service := range ps.Services {
		if !hasHost(service, ps.Number) {
			continue
		}
		for _, d := range domains(service, c) {
			d = strings.ToLower(d)
			if s.domains[d] != nil {
				return &shape{}
			}
			s.domains[d] = service
		}
		s.hosts = append(s.hosts, service)
	}
	slices.SortFunc(s.hosts, func(a, b *snapshot.Service) int {
		return cmp.Compare(hostName(a.Service, ps.Number), hostName(b.Service, ps.Number))
	})
	return s
}

// domain is the search domain of a namespace.
func domain(namespace, cluster string) string { return namespace + svc + cluster }

const svc = ".svc."

type headKey struct{ name string }

type hostKey struct {
	mesh     *snapshot.Mesh
	service  *snapshot.Service
	port     uint32
	domain   string
	families envoy.Families
}

type tailKey struct{ mesh *snapshot.Mesh }

// pieces gives the pieces of what forPort makes, or nil if virtual hosts depend on each other.
func (g generator) pieces(name string, mesh *snapshot.Mesh, ps *snapshot.PortServices, c class) []translate.Piece {
	namespace, cluster, ok := strings.Cut(c.domain, svc)
	if !ok {
		return nil
	}
	shape := g.tables.shape(ps, shapeKey{c.families, cluster})
	if shape.domains == nil {
		return nil
	}
	mark := "." + namespace + svc // in the hostname of each service that has another name here
	more := map[string]*snapshot.Service{}
	out := make([]translate.Piece, 0, len(shape.hosts)+2)
	out = append(out, translate.Piece{Key: headKey{name}, Build: func() (proto.Message, error) {
		return &routev3.RouteConfiguration{Name: name}, nil
	}})
	for _, service := range shape.hosts {
		as := class{domain: domain(neutral, cluster), families: c.families}
		if isOwn(service, mark) {
			as.domain = c.domain
			for _, d := range domains(service, as) {
				d = strings.ToLower(d)
				if other := shape.domains[d]; other != nil && other != service || more[d] != nil {
					return nil
				}
				more[d] = service
			}
		}
		out = append(out, translate.Piece{
			Key: hostKey{mesh, service, ps.Number, as.domain, c.families},
			Build: func() (proto.Message, error) {
				b := newBuilder(mesh)
				host := b.virtualHost(service.Service, ps.Number, domains(service, as))
				return &routev3.RouteConfiguration{VirtualHosts: []*routev3.VirtualHost{host}}, b.Err()
			},
		})
	}
	return append(out, translate.Piece{Key: tailKey{mesh}, Build: func() (proto.Message, error) {
		b := newBuilder(mesh)
		return configuration("", []*routev3.VirtualHost{b.anythingElse()}), b.Err()
	}})
}

func isOwn(service *snapshot.Service, mark string) bool {
	return strings.Contains(service.Hostname, mark) ||
		slices.ContainsFunc(service.Aliases, func(alias string) bool { return strings.Contains(alias, mark) })
}
