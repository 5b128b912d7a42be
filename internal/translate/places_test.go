package translate_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/testkit/scenario"
)

// TestPlaceOfClients: where a client is makes a class of its own only for endpoints, and only where a service that it sees
// looks at it; and of the endpoints only those of such services differ.
func TestPlaceOfClients(t *testing.T) {
	in := func(policy string) string {
		return serviceYAML("plain", "10.1.0.1", "http", 80, 1) +
			`apiVersion: v1
kind: Service
metadata: {name: near, namespace: shop}
spec: {clusterIP: 10.1.0.2, ` + policy + `ports: [{name: http, port: 80, protocol: TCP}]}
` + newObject + "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {topology.kubernetes.io/zone: a}}\n" +
			newObject + "apiVersion: v1\nkind: Node\nmetadata: {name: n2, labels: {topology.kubernetes.io/zone: a}}\n" +
			newObject + "apiVersion: v1\nkind: Node\nmetadata: {name: n3, labels: {topology.kubernetes.io/zone: b}}\n" + newObject +
			placedPodYAML("c-1", "10.2.0.1", "n1") + placedPodYAML("c-2", "10.2.0.2", "n2") + placedPodYAML("c-3", "10.2.0.3", "n3")
	}
	near := []string{"endpoints outbound|80||near.shop.svc.cluster.local"}
	for _, test := range []struct {
		policy     string
		node, zone []string
	}{
		{"", []string{}, []string{}},
		{"internalTrafficPolicy: Local, ", near, near},
		{"trafficDistribution: PreferClose, ", []string{}, near},
		{"trafficDistribution: PreferSameNode, ", near, near},
	} {
		t.Run(test.policy, func(t *testing.T) {
			s := scenario.Parse(t, in(test.policy)).Snapshot(t, nil)
			client := func(n string) map[string]any {
				return keys(s, proxy(t, "sidecar~10.2.0."+n+"~c-"+n+".shop~shop.svc.cluster.local", func(m map[string]any) {
					m["NODE_NAME"], m["LABELS"] = "n"+n, map[string]any{"app": "c"}
				}))
			}
			if diff := cmp.Diff(test.node, different(client("1"), client("2"))); diff != "" {
				t.Errorf("on another node (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.zone, different(client("1"), client("3"))); diff != "" {
				t.Errorf("in another zone (-want +got):\n%s", diff)
			}
		})
	}
}

func placedPodYAML(name, address, node string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", namespace: shop, labels: {app: c}}\nspec: {nodeName: " + node +
		", containers: []}\nstatus: {phase: Running, podIPs: [{ip: " + address + "}]}\n" + newObject
}

// TestScopeOfClients: what is shown to one namespace makes a scope of it, for all that list services; the resources of
// what everybody sees stay shared.
func TestScopeOfClients(t *testing.T) {
	sc := scenario.Load(t, filepath.Join("testdata", "visibility"))
	// Requests are traced with the name of the namespace.
	s := sc.Snapshot(t, func(m *meshv1alpha1.MeshConfig) { m.EnableTracing = false })
	of := func(id, namespace string) map[string]any {
		return keys(s, proxy(t, id, func(m map[string]any) { m["NAMESPACE"] = namespace; m["LABELS"] = map[string]any{} }))
	}
	one := of("sidecar~10.9.0.1~a.far~x.svc.cluster.local", "far")
	if diff := cmp.Diff([]string{}, different(one, of("sidecar~10.9.0.2~b.away~x.svc.cluster.local", "away"))); diff != "" {
		t.Errorf("namespaces that see the same (-want +got):\n%s", diff)
	}
	back := of("sidecar~10.9.0.3~c.back~x.svc.cluster.local", "back")
	for name, key := range one {
		if back[name] != key && name != "routes 80" {
			t.Errorf("%s is not shared with a namespace that sees more", name)
		}
	}
	if len(back) <= len(one) || back["routes 80"] == one["routes 80"] {
		t.Error("a namespace that sees more has no more")
	}
}
