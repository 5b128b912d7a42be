package model

import (
	"fmt"
	"net/netip"
	"strings"
)

// ProxyType is the first field of a node id.
type ProxyType string

// The node types that Istio's node ids carry.
const (
	Sidecar  ProxyType = "sidecar"
	Router   ProxyType = "router"
	Waypoint ProxyType = "waypoint"
	Ztunnel  ProxyType = "ztunnel"
)

// Flavor selects the set of generators that serve a client.
type Flavor string

const (
	// FlavorEnvoy is a full proxy beside a workload.
	FlavorEnvoy Flavor = "envoy"
	// FlavorGRPC is a gRPC library that is its own proxy (node metadata GENERATOR: grpc).
	FlavorGRPC Flavor = "grpc"
)

// MaxNodeID bounds a node id in bytes. Kubernetes names are at most 253 bytes and a node id holds three of them and
// an address; anything longer is not a node id.
const MaxNodeID = 2048

// Proxy is a client of the control plane as it introduced itself. Translation never sees it: generators see its class.
type Proxy struct {
	ID        string
	Type      ProxyType
	Flavor    Flavor
	Pod       string
	Namespace string
	// DNSDomain is the search domain of the proxy, for example "default.svc.cluster.local".
	DNSDomain string
	// IPs are the proxy's own addresses, the primary one first.
	IPs      []string
	Locality Locality
	Metadata Metadata
}

// Metadata is what meshd reads of a node's metadata (https://istio.io/latest/docs/reference/config/proxy_extensions/,
// environment variables ISTIO_META_*).
type Metadata struct {
	ClusterID        string
	MeshID           string
	IstioVersion     string
	Namespace        string
	ServiceAccount   string
	WorkloadName     string
	NodeName         string
	InterceptionMode string
	Generator        string
	Network          string
	Labels           map[string]string
	// Raw is the whole of it, for debug pages and for translators of later features.
	Raw map[string]any
}

// ProxyClass is the projection of a proxy and a snapshot that one generator reads: equal classes have equal resources.
// Its dynamic type belongs to the generator and is comparable.
type ProxyClass any

// ParseNodeID reads a node id of four fields, "type~address~pod.namespace~domain".
// The error names the field that is wrong and shows at most 80 bytes of what was sent.
func ParseNodeID(id string) (*Proxy, error) {
	if id == "" {
		return nil, fmt.Errorf("node id is empty: want type~address~pod.namespace~domain")
	}
	shown := id
	if len(shown) > 80 {
		shown = shown[:80] + "…"
	}
	if len(id) > MaxNodeID {
		return nil, fmt.Errorf("node id %q has %d bytes, more than %d", shown, len(id), MaxNodeID)
	}
	f := strings.Split(id, "~")
	if len(f) != 4 {
		return nil, fmt.Errorf("node id %q has %d fields separated by ~: want type~address~pod.namespace~domain", shown, len(f))
	}
	p := &Proxy{ID: id, Type: ProxyType(f[0]), Flavor: FlavorEnvoy, DNSDomain: f[3]}
	switch p.Type {
	case Sidecar, Router, Waypoint, Ztunnel:
	default:
		return nil, fmt.Errorf("node id %q: unknown type %q: want sidecar, router, waypoint or ztunnel", shown, f[0])
	}
	if _, err := netip.ParseAddr(f[1]); err != nil {
		return nil, fmt.Errorf("node id %q: %q is not an address", shown, f[1])
	}
	p.IPs = []string{f[1]}
	dot := strings.LastIndexByte(f[2], '.')
	if dot <= 0 || dot == len(f[2])-1 {
		return nil, fmt.Errorf("node id %q: %q is not pod.namespace", shown, f[2])
	}
	p.Pod, p.Namespace = f[2][:dot], f[2][dot+1:]
	return p, nil
}
