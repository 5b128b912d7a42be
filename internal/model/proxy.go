package model

import (
	"fmt"
	"net/netip"
	"slices"
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
	// FlavorTool is a tool that asks questions, such as istioctl, and is sent no configuration (GENERATOR: event).
	FlavorTool Flavor = "tool"
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
	// DNSDomain is the search domain of the proxy in lower case, for example "default.svc.cluster.local".
	DNSDomain string
	// IPs are the proxy's own addresses, the primary one first.
	IPs      []string
	Locality Locality
	// Identity is what the client's connection proved; nobody if it proved nothing. All else here the client only says.
	Identity Identity
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

// NewProxy makes a proxy of a node's id and metadata, which it keeps. The names of the metadata are those that Istio's
// agents send (ISTIO_META_* in https://istio.io/latest/docs/reference/commands/pilot-agent/). What is missing, or is not
// of the kind that it should be, stays empty. The error names the id and the field that is wrong.
func NewProxy(id string, metadata map[string]any) (*Proxy, error) {
	p, err := ParseNodeID(id)
	if err != nil {
		return nil, err
	}
	text := func(name string) string {
		s, _ := metadata[name].(string)
		return s
	}
	p.Metadata = Metadata{
		ClusterID:        text("CLUSTER_ID"),
		MeshID:           text("MESH_ID"),
		IstioVersion:     text("ISTIO_VERSION"),
		Namespace:        text("NAMESPACE"),
		ServiceAccount:   text("SERVICE_ACCOUNT"),
		WorkloadName:     text("WORKLOAD_NAME"),
		NodeName:         text("NODE_NAME"),
		InterceptionMode: text("INTERCEPTION_MODE"),
		Generator:        text("GENERATOR"),
		Network:          text("NETWORK"),
		Labels:           labels(metadata["LABELS"]),
		Raw:              metadata,
	}
	tool := p.Metadata.Generator == "event" // istioctl's node id has another namespace, and it is sent nothing of either
	if ns := p.Metadata.Namespace; ns != "" && ns != p.Namespace && !tool {
		return nil, fmt.Errorf("node id %q: its namespace is %q, its metadata NAMESPACE %.80q: they must be equal", id, p.Namespace, ns)
	}
	if ips, err := addresses(text("INSTANCE_IPS")); err != nil {
		return nil, fmt.Errorf("node id %q: metadata INSTANCE_IPS: %w", id, err)
	} else if len(ips) > 0 {
		p.IPs = ips // which has all of them, in the order of the pod; the id has one
	}
	switch p.Metadata.Generator {
	case "":
	case "grpc":
		p.Flavor = FlavorGRPC
	case "event":
		p.Flavor = FlavorTool
	default:
		return nil, fmt.Errorf("node id %q: metadata GENERATOR is %.80q: meshd serves grpc, event, and Envoy proxies without it", id, p.Metadata.Generator)
	}
	return p, nil
}

// labels reads a map of strings; other values are left out, as no selector can match them.
func labels(value any) map[string]string {
	fields, _ := value.(map[string]any)
	if len(fields) == 0 {
		return nil
	}
	out := make(map[string]string, len(fields))
	for k, v := range fields {
		if s, ok := v.(string); ok {
			out[k] = s
		}
	}
	return out
}

// addresses reads a list with commas, without what is in it twice.
func addresses(list string) ([]string, error) {
	var out []string
	for ip := range strings.SplitSeq(list, ",") {
		ip = CanonicalAddress(strings.TrimSpace(ip))
		if ip == "" || slices.Contains(out, ip) {
			continue
		}
		if _, err := netip.ParseAddr(ip); err != nil {
			return nil, fmt.Errorf("%.80q is not an address", ip)
		}
		out = append(out, ip)
	}
	return out, nil
}

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
	p := &Proxy{ID: id, Type: ProxyType(f[0]), Flavor: FlavorEnvoy, DNSDomain: strings.ToLower(f[3])}
	switch p.Type {
	case Sidecar, Router, Waypoint, Ztunnel:
	default:
		return nil, fmt.Errorf("node id %q: unknown type %q: want sidecar, router, waypoint or ztunnel", shown, f[0])
	}
	if _, err := netip.ParseAddr(f[1]); err != nil {
		return nil, fmt.Errorf("node id %q: %q is not an address", shown, f[1])
	}
	p.IPs = []string{CanonicalAddress(f[1])}
	dot := strings.LastIndexByte(f[2], '.')
	if dot <= 0 || dot == len(f[2])-1 {
		return nil, fmt.Errorf("node id %q: %q is not pod.namespace", shown, f[2])
	}
	p.Pod, p.Namespace = f[2][:dot], f[2][dot+1:]
	return p, nil
}
