package route

import (
	"cmp"
	"hash/maphash"
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
	"github.com/meshd/meshd/internal/translate/names"
)

// The table of a port has a virtual host for each of a thousand services, and there is a table for each namespace that
// has proxies. They differ only in the services of that namespace, which have a name more in it. So a virtual host is a
// piece, and nearly all of a table is the same pieces.

// neutral is the namespace of nobody: what it sees of the names of services all others see too.
const neutral = ""

// shape is what the tables of one port have in common, for clients with addresses of some families and one DNS domain.
type shape struct {
	// list is the table of a namespace without services: the head, a host for each service, and the tail. It is nil if
	// two services have a domain: who has it then depends on the others.
	list  *translate.PieceList
	hosts []*snapshot.Service // in the order of the table
	// own are the indexes in hosts of services that have another name in a namespace, by the last label of that.
	own map[string][]int
	// domains are whose they are, as an index in hosts, by their hash: if two have the same, the table is built whole.
	domains map[uint64]int
}

type shapeKey struct {
	mesh     *snapshot.Mesh
	families envoy.Families
	cluster  string // the DNS domain
}

// tables remembers shapes as long as the list of services is in use that they are made of.
type tables struct {
	seed maphash.Seed

	mu     sync.Mutex
	shapes map[weak.Pointer[snapshot.PortServices]]map[shapeKey]*shape
}

func newTables() *tables {
	return &tables{seed: maphash.MakeSeed(), shapes: map[weak.Pointer[snapshot.PortServices]]map[shapeKey]*shape{}}
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
	if known == nil {
		if len(t.shapes[of]) >= maxShapes {
			clear(t.shapes[of])
		}
		known = t.newShape(ps, k)
		t.shapes[of][k] = known
	}
	return known
}

func (t *tables) forget(of weak.Pointer[snapshot.PortServices]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.shapes, of)
}

func (t *tables) newShape(ps *snapshot.PortServices, k shapeKey) *shape {
	s := &shape{own: map[string][]int{}, domains: make(map[uint64]int, 5*len(ps.Services))}
	for _, service := range ps.Services {
		if hasHost(service, ps.Number) {
			s.hosts = append(s.hosts, service)
		}
	}
	slices.SortStableFunc(s.hosts, func(a, b *snapshot.Service) int {
		return cmp.Compare(hostName(a.Service, ps.Number), hostName(b.Service, ps.Number))
	})
	as := class{domain: domain(neutral, k.cluster), families: k.families}
	list := make([]translate.Piece, 0, len(s.hosts)+2)
	name := names.PortRoute(ps.Number)
	list = append(list, translate.Piece{Key: headKey{name}, Build: func() (proto.Message, error) {
		return &routev3.RouteConfiguration{Name: name}, nil
	}})
	for i, service := range s.hosts {
		for _, d := range domains(service, as) {
			d := t.hash(d)
			if _, taken := s.domains[d]; taken {
				return &shape{}
			}
			s.domains[d] = i
		}
		for _, label := range labels(service) {
			s.own[label] = append(s.own[label], i)
		}
		list = append(list, hostPiece(k.mesh, service, ps.Number, as))
	}
	list = append(list, translate.Piece{Key: tailKey{k.mesh}, Build: func() (proto.Message, error) {
		b := newBuilder(k.mesh)
		return configuration("", []*routev3.VirtualHost{b.anythingElse()}), b.Err()
	}})
	s.list = &translate.PieceList{Pieces: list}
	return s
}

// hash is that of a domain, in which case does not matter.
func (t *tables) hash(domain string) uint64 { return maphash.String(t.seed, strings.ToLower(domain)) }

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
func (g generator) pieces(mesh *snapshot.Mesh, ps *snapshot.PortServices, c class) *translate.Pieces {
	namespace, cluster, ok := strings.Cut(c.domain, svc)
	if !ok {
		return nil
	}
	shape := g.tables.shape(ps, shapeKey{mesh, c.families, cluster})
	if shape.list == nil {
		return nil
	}
	mark := "." + namespace + svc // in the hostname of each service that has another name here
	more := map[uint64]struct{}{}
	out := &translate.Pieces{Common: shape.list, Instead: map[int]translate.Piece{}}
	for _, i := range shape.own[namespace[strings.LastIndexByte(namespace, '.')+1:]] {
		service := shape.hosts[i]
		if !isOwn(service, mark) {
			continue
		}
		for _, d := range domains(service, c) {
			d := g.tables.hash(d)
			_, twice := more[d]
			if other, taken := shape.domains[d]; twice || taken && other != i {
				return nil
			}
			more[d] = struct{}{}
		}
		const head = 1
		out.Instead[head+i] = hostPiece(mesh, service, ps.Number, c)
	}
	return out
}

// hostPiece is the virtual host of a service, as a class sees it.
func hostPiece(mesh *snapshot.Mesh, service *snapshot.Service, port uint32, c class) translate.Piece {
	as := class{domain: c.domain, families: c.families}
	return translate.Piece{
		Key: hostKey{mesh, service, port, as.domain, as.families},
		Build: func() (proto.Message, error) {
			b := newBuilder(mesh)
			host := b.virtualHost(service.Service, port, domains(service, as))
			return &routev3.RouteConfiguration{VirtualHosts: []*routev3.VirtualHost{host}}, b.Err()
		},
	}
}

func isOwn(service *snapshot.Service, mark string) bool {
	return strings.Contains(service.Hostname, mark) ||
		slices.ContainsFunc(service.Aliases, func(alias string) bool { return strings.Contains(alias, mark) })
}

// labels are the last labels of the namespaces in which a service has another name than elsewhere, each once.
func labels(service *snapshot.Service) []string {
	var out []string
	for _, hostname := range append([]string{service.Hostname}, service.Aliases...) {
		for at := 0; ; {
			i := strings.Index(hostname[at:], svc)
			if i < 0 {
				break
			}
			before := hostname[:at+i]
			if label := before[strings.LastIndexByte(before, '.')+1:]; !slices.Contains(out, label) {
				out = append(out, label)
			}
			at += i + 1
		}
	}
	return out
}
