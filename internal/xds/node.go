package xds

import (
	"fmt"
	"net/netip"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/meshd/meshd/internal/model"
)

// proxyFromNode reads who a client says it is. The names of the metadata are those that Istio's agents send
// (ISTIO_META_* in https://istio.io/latest/docs/reference/commands/pilot-agent/). What is missing stays empty.
func proxyFromNode(node *corev3.Node) (*model.Proxy, error) {
	p, err := model.ParseNodeID(node.GetId())
	if err != nil {
		return nil, err
	}
	if l := node.GetLocality(); l != nil {
		p.Locality = model.Locality{Region: l.GetRegion(), Zone: l.GetZone(), SubZone: l.GetSubZone()}
	}
	fields := node.GetMetadata().GetFields()
	text := func(name string) string { return fields[name].GetStringValue() }
	p.Metadata = model.Metadata{
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
		Labels:           labels(fields["LABELS"]),
		Raw:              node.GetMetadata().AsMap(),
	}
	if ns := p.Metadata.Namespace; ns != "" && ns != p.Namespace {
		return nil, fmt.Errorf("node id %q: its namespace is %q, its metadata NAMESPACE %.80q: they must be equal", p.ID, p.Namespace, ns)
	}
	for _, ip := range strings.Split(text("INSTANCE_IPS"), ",") {
		ip = strings.TrimSpace(ip)
		if ip == "" || ip == p.IPs[0] {
			continue
		}
		if _, err := netip.ParseAddr(ip); err != nil {
			return nil, fmt.Errorf("node id %q: metadata INSTANCE_IPS: %.80q is not an address", p.ID, ip)
		}
		p.IPs = append(p.IPs, ip)
	}
	switch p.Metadata.Generator {
	case "":
	case "grpc":
		p.Flavor = model.FlavorGRPC
	default:
		return nil, fmt.Errorf("node id %q: metadata GENERATOR is %.80q: meshd serves grpc, and Envoy proxies without it", p.ID, p.Metadata.Generator)
	}
	return p, nil
}

// labels reads a map of strings; other values are left out, as no selector can match them.
func labels(v *structpb.Value) map[string]string {
	fields := v.GetStructValue().GetFields()
	if len(fields) == 0 {
		return nil
	}
	out := make(map[string]string, len(fields))
	for k, v := range fields {
		if s, ok := v.GetKind().(*structpb.Value_StringValue); ok {
			out[k] = s.StringValue
		}
	}
	return out
}
