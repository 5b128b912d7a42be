// Package snapshot compiles the stores into one immutable, indexed view of the mesh.
//
// A snapshot shares everything that did not change with its predecessor, down to the pointer: a record whose pointer
// is the same has the same content, which is what makes pointers good keys for resources made from them.
package snapshot

import (
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/model"
)

// Snapshot is the mesh at one moment. It is safe for concurrent use, and never changes.
type Snapshot struct {
	version uint64
	mesh    *Mesh

	// all are the services of the mesh; public those that everybody sees, which are all where nothing is hidden, and
	// scoped, by namespace, those that a namespace sees to which more is shown.
	all, public *lists
	scoped      map[string]*lists
	// entries are by hostname.
	entries table[string, entry]

	inbounds inbounds
	places   places

	// reads notes what is read of this snapshot; nil if nobody wants to know.
	reads *Reads
}

// entry is a service with what is behind it.
type entry struct {
	service *Service
	// endpoints of each port, in the order of the service's ports.
	endpoints []*Endpoints
}

// port finds the endpoints of a port. Where a number is a UDP port too, the other one counts.
func (e *entry) port(number uint32) *Endpoints {
	if e == nil {
		return nil
	}
	var found *Endpoints
	for _, eps := range e.endpoints {
		if eps.Port.Number == number && (found == nil || found.Port.Protocol == model.ProtocolUDP) {
			found = eps
		}
	}
	return found
}

// Mesh is what the mesh config says. A new one is made when, and only when, the config changed.
type Mesh struct {
	Config *meshv1alpha1.MeshConfig
	// DNSDomain is the cluster's domain, "cluster.local" unless configured.
	DNSDomain string
	// DualStack: proxies and endpoints of both address families use both.
	DualStack bool
}

// Service is a service as translation reads it: its definition and, apart from it, the identities behind it.
// Its pointer changes only when something in it does; a new endpoint with a known identity does not count.
type Service struct {
	*model.Service
	// Identities are the SPIFFE identities of the workloads behind the service, sorted, without duplicates.
	Identities []string
	// Aliases are the hostnames of ExternalName services that lead here, also through each other, by namespace and name.
	Aliases []string
	// Mutual are the numbers of the ports of a headless service behind which there is somebody, and everybody takes mutual
	// TLS: a client that dials a member does not know which it is.
	Mutual []uint32
	// ShownTo are the namespaces whose clients see the service, sorted: registry.Everybody alone for all, none for nobody.
	ShownTo []string
}

// Endpoints are the addresses behind one port of a service. Its pointer changes when one of them does.
type Endpoints struct {
	Service *model.Service
	Port    model.Port
	// All are sorted by address and port, whatever their health.
	All []*model.Endpoint
}

// PortServices are the services that have a port of one number, sorted by hostname.
// Its pointer changes when one of the services does, or when the list does.
type PortServices struct {
	Number   uint32
	Services []*Service
}

// Inbound is what a workload is asked to accept: the service ports that lead to it. Equal contents are one pointer,
// so workloads behind the same services share it. An empty Inbound is shared by all workloads behind none.
type Inbound struct{ Targets []InboundTarget }

// InboundTarget is one service port that leads to a port of the workload.
type InboundTarget struct {
	Service *model.Service
	Port    model.Port
	// TargetPort is the workload's own port, resolved from a number or a container port's name.
	TargetPort uint32
}

// Version counts compilations in this process; it says nothing about content.
func (s *Snapshot) Version() uint64 { return s.version }

// Mesh gives the mesh config of this moment.
func (s *Snapshot) Mesh() *Mesh { return s.mesh }

// Services lists all services, whoever sees them, sorted by hostname.
func (s *Snapshot) Services() []*Service {
	s.reads.note(key{what: allServices})
	if s.all == nil {
		return nil
	}
	return s.all.services
}

// Service finds a service by hostname, whoever sees it, or gives nil.
func (s *Snapshot) Service(hostname string) *Service {
	s.reads.note(serviceKey(hostname))
	if e := s.entries.get(hostname); e != nil {
		return e.service
	}
	return nil
}

// Ports lists all services by port number, sorted by number.
func (s *Snapshot) Ports() []*PortServices {
	s.reads.note(key{what: allServices})
	if s.all == nil {
		return nil
	}
	return s.all.ports
}

// Port finds all services that have a port of this number, or gives nil.
func (s *Snapshot) Port(number uint32) *PortServices {
	s.reads.note(portKey(number))
	if s.all == nil {
		return nil
	}
	return s.all.port(number)
}

// Endpoints finds the endpoints of a service port. It is nil if there is no such port, and empty, not nil, if there
// is nobody behind it. Endpoints that are not healthy are among them. Where a number is a UDP port too, as for DNS, it
// is the other one that counts: proxies carry no UDP.
func (s *Snapshot) Endpoints(hostname string, port uint32) *Endpoints {
	s.reads.note(key{theEndpoints, hostname, port})
	return s.entries.get(hostname).port(port)
}

// Inbound finds what leads to a proxy's workload. It is never nil.
func (s *Snapshot) Inbound(p *model.Proxy) *Inbound {
	s.reads.note(key{what: anyInbound})
	return s.inbounds.of(p)
}
