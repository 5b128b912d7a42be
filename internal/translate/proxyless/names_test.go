package proxyless_test

import (
	"testing"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/testkit/scenario"
	"github.com/meshd/meshd/internal/translate/proxyless"
	"github.com/meshd/meshd/internal/translate/validate"
)

const more = `
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: ops}
spec:
  selector: {app: db}
  clusterIP: 10.1.0.2
  clusterIPs: [10.1.0.2]
  ports:
  - {name: tcp, port: 5432, protocol: TCP}
  - {name: any, port: 6000, protocol: TCP}
  - {name: udp-x, port: 7000, protocol: UDP}
`

// TestNames: which names there are resources of, and that a resource bears the name it was asked for by.
func TestNames(t *testing.T) {
	s := scenario.Parse(t, objects(7171)+more).Snapshot(t, nil)
	p, err := model.NewProxy("sidecar~127.0.0.1~echo-0.shop~shop.svc.cluster.local", map[string]any{
		"GENERATOR": "grpc", "NAMESPACE": "shop", "LABELS": map[string]any{"app": "echo"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const listeners, routes, clusters, endpoints = 0, 1, 2, 3
	tests := map[int]struct{ good, bad []string }{
		listeners: {
			good: []string{
				"echo.shop.svc.cluster.local:7070", "echo.shop.svc:7070", "echo.shop:7070", "echo:7070", "ECHO:7070",
				"db.ops.svc.cluster.local:6000", "db.ops:6000",
				"xds.istio.io/grpc/lds/inbound/0.0.0.0:7171", "xds.istio.io/grpc/lds/inbound/[::]:7171",
			},
			bad: []string{
				"", ":7070", "echo", "echo.shop.svc.cluster.local", "echo:7071", "echo:", "echo:x", "echo:07070", "db:6000", "echo.ops:7070",
				"db.ops.svc.cluster.local:5432", "db.ops.svc.cluster.local:7000", "0.0.0.0_7070", "virtualInbound", "*",
				"xds.istio.io/grpc/lds/inbound/0.0.0.0:7070", "xds.istio.io/grpc/lds/inbound/7171", "xds.istio.io/grpc/lds/inbound/somewhere:7171", "xds.istio.io/grpc/lds/inbound/",
			},
		},
		routes: {
			good: []string{"outbound|7070||echo.shop.svc.cluster.local", "outbound|6000||db.ops.svc.cluster.local"},
			bad:  []string{"", "7070", "outbound|7070||echo", "outbound|7070|v1|echo.shop.svc.cluster.local", "outbound|5432||db.ops.svc.cluster.local"},
		},
		clusters: {
			good: []string{"outbound|7070||echo.shop.svc.cluster.local"},
			bad:  []string{"", "BlackHoleCluster", "outbound|7071||echo.shop.svc.cluster.local", "inbound|7171||"},
		},
		endpoints: {
			good: []string{"outbound|7070||echo.shop.svc.cluster.local"},
			bad:  []string{"", "outbound|7071||echo.shop.svc.cluster.local", "outbound|7000||db.ops.svc.cluster.local"},
		},
	}
	for kind, test := range tests {
		g := proxyless.Generators()[kind]
		class := g.Class(s, p)
		for _, name := range test.good {
			r, ok := g.Named(s, class, name)
			if !ok {
				t.Errorf("%s: there is no %q", g.TypeURL(), name)
				continue
			}
			m, err := r.Build()
			if err != nil {
				t.Errorf("%s: %q: %v", g.TypeURL(), name, err)
				continue
			}
			if err := validate.Resource(m); err != nil {
				t.Errorf("%s: %q: %v", g.TypeURL(), name, err)
			}
			v, err := scenario.JSON(m)
			if err != nil {
				t.Fatal(err)
			}
			field := "name"
			if kind == endpoints {
				field = "clusterName"
			}
			if got := v.(map[string]any)[field]; got != name || r.Name != name {
				t.Errorf("%s: asked for %q, the recipe is called %q and the resource %q", g.TypeURL(), name, r.Name, got)
			}
		}
		for _, name := range test.bad {
			if _, ok := g.Named(s, class, name); ok {
				t.Errorf("%s: there is a %q", g.TypeURL(), name)
			}
		}
		if g.Wildcard() {
			t.Errorf("%s: a request without names subscribes to everything", g.TypeURL())
		}
	}
}
