package registry_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/registry"
)

func parse[T any](t testing.TB, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return out
}

func TestService(t *testing.T) {
	for _, c := range []struct {
		name, yaml string
		want       model.Service
		headless   bool
	}{
		{
			name: "cluster address, number, name and default as target",
			yaml: `{metadata: {name: web, namespace: shop}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], selector: {app: web}, ports: [
				{name: http, port: 80, targetPort: 8080}, {name: grpc-x, port: 81, targetPort: rpc}, {name: tcp, port: 82}]}}`,
			want: model.Service{Addresses: []string{"10.0.0.1"}, Selector: map[string]string{"app": "web"}, Ports: []model.Port{
				{Name: "http", Number: 80, Protocol: model.ProtocolHTTP, TargetPort: "8080"},
				{Name: "grpc-x", Number: 81, Protocol: model.ProtocolGRPC, TargetPort: "rpc"},
				{Name: "tcp", Number: 82, Protocol: model.ProtocolTCP}}},
		},
		{
			name: "clusterIP alone",
			yaml: `{metadata: {name: web, namespace: shop}, spec: {clusterIP: 10.0.0.1}}`,
			want: model.Service{Addresses: []string{"10.0.0.1"}},
		},
		{
			name: "dual stack",
			yaml: `{metadata: {name: web, namespace: shop}, spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, "fd00::1"]}}`,
			want: model.Service{Addresses: []string{"10.0.0.1", "fd00::1"}},
		},
		{
			name: "who may answer for it",
			yaml: `{metadata: {name: web, namespace: shop, annotations: {alpha.istio.io/kubernetes-serviceaccounts: "a,b", alpha.istio.io/canonical-serviceaccounts: web.example.com}},
				spec: {clusterIP: 10.0.0.1}}`,
			want: model.Service{Addresses: []string{"10.0.0.1"}, Accounts: []string{"a", "b"}, Identities: []string{"web.example.com"}},
		},
		{
			name:     "an address that is none",
			yaml:     `{metadata: {name: web, namespace: shop}, spec: {clusterIP: ten.zero}}`,
			want:     model.Service{},
			headless: true,
		},
		{
			name:     "headless",
			yaml:     `{metadata: {name: web, namespace: shop}, spec: {clusterIP: None, clusterIPs: [None], publishNotReadyAddresses: true}}`,
			want:     model.Service{Resolution: model.ResolutionPassthrough, PublishNotReady: true},
			headless: true,
		},
		{
			name: "external name",
			yaml: `{metadata: {name: web, namespace: shop}, spec: {type: ExternalName, externalName: web.example.com}}`,
			want: model.Service{Resolution: model.ResolutionDNS, ExternalName: "web.example.com"},
		},
		{
			name: "sticky sessions",
			yaml: `{metadata: {name: web, namespace: shop, labels: {istio.io/persistent-session-header: x-id}}, spec: {clusterIP: 10.0.0.1}}`,
			want: model.Service{Addresses: []string{"10.0.0.1"}, Sticky: true},
		},
		{
			name: "sticky sessions by cookie",
			yaml: `{metadata: {name: web, namespace: shop, labels: {istio.io/persistent-session: x-id}}, spec: {clusterIP: 10.0.0.1}}`,
			want: model.Service{Addresses: []string{"10.0.0.1"}, Sticky: true, KeepDraining: true},
		},
		{
			name: "on its node",
			yaml: `{metadata: {name: web, namespace: shop}, spec: {clusterIP: 10.0.0.1, internalTrafficPolicy: Local}}`,
			want: model.Service{Addresses: []string{"10.0.0.1"}, NodeLocal: true},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.want.NamespacedName = model.NamespacedName{Namespace: "shop", Name: "web"}
			c.want.Hostname = "web.shop.svc.example.org"
			got := registry.Service(parse[corev1.Service](t, c.yaml), nil, "example.org")
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got.Headless() != c.headless {
				t.Errorf("headless: got %v", got.Headless())
			}
		})
	}
}

func TestServiceAge(t *testing.T) {
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", CreationTimestamp: metav1.NewTime(time.Unix(1700000000, 5))}}
	if got := registry.Service(svc, nil, "d").Created; got != 1700000000 {
		t.Errorf("created %d", got)
	}
	svc.CreationTimestamp = metav1.Time{}
	if got := registry.Service(svc, nil, "d").Created; got != 0 {
		t.Errorf("unknown age is %d", got)
	}
}
