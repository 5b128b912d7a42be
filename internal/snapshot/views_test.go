package snapshot_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/scenario"
)

const exported = `
apiVersion: v1
kind: Service
metadata: {name: open, namespace: shop}
spec: {clusterIP: 10.0.0.1, ports: [{name: http, port: 80}, {name: tcp, port: 90}]}
---
apiVersion: v1
kind: Service
metadata: {name: own, namespace: shop, annotations: {networking.istio.io/exportTo: "."}}
spec: {clusterIP: 10.0.0.2, trafficDistribution: PreferClose, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: friends, namespace: shop, annotations: {networking.istio.io/exportTo: "back, third"}}
spec: {clusterIP: None, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: secret, namespace: shop, annotations: {networking.istio.io/exportTo: "back,~"}}
spec: {clusterIP: 10.0.0.4, ports: [{name: http, port: 81}]}
`

// TestViews: what the clients of each namespace see, and that they share what they see alike.
func TestViews(t *testing.T) {
	sc := scenario.Parse(t, exported)
	seen := func(s *snapshot.Snapshot, namespace string) []string {
		view := s.View(s.Scope(namespace))
		var out []string
		for _, svc := range view.Services() {
			if view.Service(svc.Hostname) != svc || view.Endpoints(svc.Hostname, svc.Ports[0].Number) != s.Endpoints(svc.Hostname, svc.Ports[0].Number) {
				t.Errorf("%s sees %s in the list, and not by name", namespace, svc.Hostname)
			}
			out = append(out, svc.Name)
		}
		for _, svc := range s.Services() {
			if !slices.Contains(out, svc.Name) && (view.Service(svc.Hostname) != nil || view.Endpoints(svc.Hostname, svc.Ports[0].Number) != nil) {
				t.Errorf("%s finds %s, which is not shown to it", namespace, svc.Hostname)
			}
		}
		return out
	}
	for _, test := range []struct {
		name    string
		exports []string
		want    map[string][]string
	}{
		{"the mesh shows all", []string{"*"}, map[string][]string{"shop": {"open", "own"}, "back": {"friends", "open"}, "third": {"friends", "open"}, "far": {"open"}}},
		{"the mesh says nothing", nil, map[string][]string{"shop": {"open", "own"}, "back": {"friends", "open"}, "far": {"open"}}},
		{"the mesh shows to the own namespace", []string{"."}, map[string][]string{"shop": {"open", "own"}, "back": {"friends"}, "far": nil}},
		{"the mesh hides", []string{"~"}, map[string][]string{"shop": {"own"}, "back": {"friends"}, "far": nil}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := sc.Snapshot(t, func(m *meshv1alpha1.MeshConfig) { m.DefaultServiceExportTo = test.exports })
			for namespace, want := range test.want {
				if diff := cmp.Diff(want, seen(s, namespace)); diff != "" {
					t.Errorf("%s sees (-want +got):\n%s", namespace, diff)
				}
			}
		})
	}

	s := sc.Snapshot(t, nil)
	public, shop := s.View(s.Scope("far")), s.View(s.Scope("shop"))
	if s.Scope("far") != "" || s.Scope("other") != "" {
		t.Error("namespaces that see what everybody sees are of different scopes")
	}
	if public.Port(90) == nil || public.Port(90) != shop.Port(90) {
		t.Error("a port with nothing hidden is not shared")
	}
	if public.Port(80) == shop.Port(80) || len(shop.Port(80).Services) != 2 {
		t.Error("a port with something of its own is shared")
	}
	if public.Port(81) != nil || shop.Port(81) != nil || s.Port(81) == nil {
		t.Error("a port of what is shown to nobody")
	}
	if public.Placed() != 0 || shop.Placed() != snapshot.UsesZone {
		t.Errorf("places are read by what is not seen: %v, %v", public.Placed(), shop.Placed())
	}
	if len(public.Names().Services) != 1 || len(shop.Names().Services) != 2 || len(public.Names().Headless) != 0 ||
		len(s.View(s.Scope("back")).Names().Headless) != 1 {
		t.Error("names of what is not seen")
	}
}
