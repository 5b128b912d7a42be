package xds

import (
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/meshd/meshd/internal/model"
)

func metadata(t *testing.T, m map[string]any) *structpb.Struct {
	s, err := structpb.NewStruct(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestProxyFromNode(t *testing.T) {
	all := map[string]any{
		"CLUSTER_ID": "Kubernetes", "MESH_ID": "cluster.local", "ISTIO_VERSION": "1.32.0", "NAMESPACE": "default",
		"SERVICE_ACCOUNT": "reviews", "WORKLOAD_NAME": "reviews-v1", "NODE_NAME": "node-1", "INTERCEPTION_MODE": "REDIRECT",
		"NETWORK": "net-1", "LABELS": map[string]any{"app": "reviews", "number": 1.0}, "INSTANCE_IPS": "10.0.0.1, fd00::1",
		"UNKNOWN": []any{"x"},
	}
	const id = "sidecar~10.0.0.1~reviews-v1-abc.default~default.svc.cluster.local"
	for _, tc := range []struct {
		name string
		node *corev3.Node
		want *model.Proxy
	}{
		{"everything", &corev3.Node{Id: id, Metadata: metadata(t, all), Locality: &corev3.Locality{Region: "r", Zone: "z", SubZone: "s"}},
			&model.Proxy{
				ID: id, Type: model.Sidecar, Flavor: model.FlavorEnvoy, Pod: "reviews-v1-abc", Namespace: "default",
				DNSDomain: "default.svc.cluster.local", IPs: []string{"10.0.0.1", "fd00::1"}, Locality: model.Locality{Region: "r", Zone: "z", SubZone: "s"},
				Metadata: model.Metadata{
					ClusterID: "Kubernetes", MeshID: "cluster.local", IstioVersion: "1.32.0", Namespace: "default",
					ServiceAccount: "reviews", WorkloadName: "reviews-v1", NodeName: "node-1", InterceptionMode: "REDIRECT",
					Network: "net-1", Labels: map[string]string{"app": "reviews"}, Raw: all,
				},
			}},
		{"nothing but the id", &corev3.Node{Id: id}, &model.Proxy{
			ID: id, Type: model.Sidecar, Flavor: model.FlavorEnvoy, Pod: "reviews-v1-abc", Namespace: "default",
			DNSDomain: "default.svc.cluster.local", IPs: []string{"10.0.0.1"}, Metadata: model.Metadata{Raw: map[string]any{}},
		}},
		{"a gRPC library; values of another kind are nothing", &corev3.Node{Id: id, Metadata: metadata(t, map[string]any{"GENERATOR": "grpc", "LABELS": "x", "CLUSTER_ID": 7.0})},
			&model.Proxy{
				ID: id, Type: model.Sidecar, Flavor: model.FlavorGRPC, Pod: "reviews-v1-abc", Namespace: "default",
				DNSDomain: "default.svc.cluster.local", IPs: []string{"10.0.0.1"},
				Metadata: model.Metadata{Generator: "grpc", Raw: map[string]any{"GENERATOR": "grpc", "LABELS": "x", "CLUSTER_ID": 7.0}},
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := proxyFromNode(tc.node)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(model.Identity{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	for want, node := range map[string]*corev3.Node{
		"node id is empty": nil,
		"NAMESPACE":        {Id: id, Metadata: metadata(t, map[string]any{"NAMESPACE": "other"})},
		"GENERATOR":        {Id: id, Metadata: metadata(t, map[string]any{"GENERATOR": strings.Repeat("x", 1000)})},
		"INSTANCE_IPS":     {Id: id, Metadata: metadata(t, map[string]any{"INSTANCE_IPS": "10.0.0.1,somewhere"})},
	} {
		if p, err := proxyFromNode(node); p != nil || err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%v, %.500v: want an error about %q", p, err, want)
		}
	}
}
