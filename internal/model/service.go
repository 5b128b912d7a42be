package model

import (
	"net/netip"
	"strings"
)

// Protocol is what a service port speaks, as far as translation is concerned.
// The values and the detection rules are Istio's (https://istio.io/latest/docs/ops/configuration/traffic-management/protocol-selection/).
type Protocol string

// The protocols that translation tells apart. Auto is "not declared": the proxy sniffs.
const (
	ProtocolAuto    Protocol = "auto"
	ProtocolHTTP    Protocol = "HTTP"
	ProtocolHTTP2   Protocol = "HTTP2"
	ProtocolGRPC    Protocol = "GRPC"
	ProtocolGRPCWeb Protocol = "GRPC-Web"
	ProtocolHTTPS   Protocol = "HTTPS"
	ProtocolTLS     Protocol = "TLS"
	ProtocolTCP     Protocol = "TCP"
	ProtocolMongo   Protocol = "Mongo"
	ProtocolMySQL   Protocol = "MySQL"
	ProtocolRedis   Protocol = "Redis"
	ProtocolUDP     Protocol = "UDP"
)

// IsHTTP reports whether requests can be routed one by one.
func (p Protocol) IsHTTP() bool {
	switch p {
	case ProtocolHTTP, ProtocolHTTP2, ProtocolGRPC, ProtocolGRPCWeb:
		return true
	}
	return false
}

// IsHTTP2 reports whether upstreams of this protocol are spoken to in HTTP/2.
func (p Protocol) IsHTTP2() bool {
	switch p {
	case ProtocolHTTP2, ProtocolGRPC, ProtocolGRPCWeb:
		return true
	}
	return false
}

// Port is one port of a service.
type Port struct {
	Name     string
	Number   uint32
	Protocol Protocol
	// TargetPort is the number or the container port's name that traffic goes to; empty means Number.
	TargetPort string
}

// Resolution says how a service's addresses are found.
type Resolution uint8

const (
	// ResolutionEDS: endpoints are sent to the proxy.
	ResolutionEDS Resolution = iota
	// ResolutionPassthrough: the proxy uses the address the client dialled (headless services).
	ResolutionPassthrough
	// ResolutionDNS: the proxy resolves a name (ExternalName services).
	ResolutionDNS
)

// Distribution says which endpoints of a service its clients prefer
// (https://kubernetes.io/docs/reference/networking/virtual-ips/#traffic-distribution).
type Distribution uint8

const (
	// DistributeAny prefers none.
	DistributeAny Distribution = iota
	// DistributeZone prefers the client's zone, then its region, then its network.
	DistributeZone
	// DistributeNode prefers the client's node, then its subzone, then as DistributeZone.
	DistributeNode
)

// Service is a name in the mesh with ports. It says nothing of endpoints, so that endpoints can change without it.
type Service struct {
	NamespacedName
	// Hostname is the fully qualified name, for example "reviews.default.svc.cluster.local".
	Hostname string
	// Addresses are the virtual addresses, the primary one first; none for a headless service.
	Addresses  []string
	Ports      []Port
	Selector   map[string]string
	Resolution Resolution
	// ExternalName is the DNS name that stands behind an ExternalName service.
	ExternalName string
	// PublishNotReady gives names to endpoints that are not ready, too.
	PublishNotReady bool
	// Sticky says that sessions are bound to endpoints, by a cookie or a header (labels istio.io/persistent-session and
	// istio.io/persistent-session-header). Those by a cookie also KeepDraining: endpoints that are shutting down but
	// still serve are told to proxies, as Draining.
	Sticky, KeepDraining bool
	// NodeLocal keeps traffic on the node of its client (internalTrafficPolicy: Local).
	NodeLocal bool
	// Distribution says which endpoints are preferred.
	Distribution Distribution
	// Exported says that the service names those whom it is shown to: the namespaces of ExportTo, sorted, or everybody if
	// "*" is among them; none if it is shown to nobody. A service that is not Exported is shown to whom the mesh says.
	Exported bool
	ExportTo []string
	// Accounts are service accounts of its namespace, and Identities other names, that may answer for it beside those of
	// the workloads behind it: it says so itself.
	Accounts, Identities []string
	// Created orders services that claim the same thing: seconds since 1970, 0 if unknown; ties break by name.
	Created int64
}

// Headless reports whether the service has no virtual address.
func (s *Service) Headless() bool { return len(s.Addresses) == 0 && s.Resolution != ResolutionDNS }

// Port gives the port with that number. A number may stand for two ports, UDP and TCP (DNS does it): the one that is
// not UDP is meant then, because UDP is not proxied.
func (s *Service) Port(number uint32) (port Port, found bool) {
	for _, p := range s.Ports {
		if p.Number == number {
			if p.Protocol != ProtocolUDP {
				return p, true
			}
			port, found = p, true
		}
	}
	return port, found
}

// Locality is a place: region, zone and subzone. It is comparable.
type Locality struct{ Region, Zone, SubZone string }

// ParseLocality reads "region/zone/subzone"; what is missing is empty.
func ParseLocality(s string) Locality {
	parts := append(strings.SplitN(s, "/", 3), "", "", "")
	return Locality{parts[0], parts[1], parts[2]}
}

// String gives "region/zone/subzone" without trailing empty parts.
func (l Locality) String() string {
	return strings.TrimRight(l.Region+"/"+l.Zone+"/"+l.SubZone, "/")
}

// Health of an endpoint.
type Health uint8

// The states that Kubernetes' ready, serving and terminating conditions come to.
const (
	// Healthy endpoints take requests.
	Healthy Health = iota
	// Unhealthy endpoints exist and may become healthy: proxies are told of them as such.
	Unhealthy
	// Draining endpoints serve only the clients that are bound to them.
	Draining
	// Terminating endpoints are going, and serve nobody.
	Terminating
)

// Endpoint is one address behind one port of a service.
type Endpoint struct {
	// Addresses are the addresses of one backend, the primary one first (two for dual stack).
	Addresses []string
	Port      uint32
	Health    Health
	Locality  Locality
	Weight    uint32
	// Hostname is the name of this one backend in the domain of a headless service (StatefulSets give it); empty for none.
	Hostname string

	// What the workload behind the address is; empty for an address without a pod.
	Pod            string
	Namespace      string
	Workload       string
	ServiceAccount string
	Labels         map[string]string
	Node           string

	ClusterID string
	Network   string
	// MutualTLS reports that the workload's sidecar accepts Istio mutual TLS (label security.istio.io/tlsMode: istio).
	MutualTLS bool
}

// CanonicalAddress spells an IP address in the one way in which all its spellings are equal; what is none stays as it is.
// Addresses are compared as text, so whoever takes one in from outside asks for this first.
func CanonicalAddress(s string) string {
	a, err := netip.ParseAddr(s)
	if err != nil || a.Is4() { // IPv4 has one spelling
		return s
	}
	return a.Unmap().String()
}
