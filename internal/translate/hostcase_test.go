package translate_test

import (
	"slices"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/scenario"
	"github.com/meshd/meshd/internal/translate/listener"
	"github.com/meshd/meshd/internal/translate/proxyless"
	"github.com/meshd/meshd/internal/translate/route"
)

// Host names are compared without case wherever one comes in: in the target of a name that stands for another, in what a
// client without a proxy asks for, in the domain of a node, in the domain of the cluster; and so are the letters of IPv6
// addresses, of which routes have domains and listeners addresses. Names of services have no capitals: the source refuses
// them, as an API server does. Hosts of route objects and gateways are not read yet.
func TestCaseD16(t *testing.T) {
	const capitals = "sidecar~10.30.0.2~cart-0.shop~Shop.svc.CLUSTER.Local"
	t.Run("aliases", func(t *testing.T) {
		for _, target := range []string{"web.shop.svc.cluster.local", "Web.Shop.svc.Cluster.LOCAL", "WEB.shop.svc.cluster.local."} {
			for _, id := range []string{cart0, capitals} {
				w := newWorld(t, proxy(t, id, nil))
				w.apply(serviceYAML("web", "10.1.0.1", "http", 80, 1), externalYAML("pay", `"`+target+`"`))
				for _, domain := range []string{"pay", "pay.shop.svc", "pay.shop.svc.cluster.local", "web", "web.shop.svc"} {
					if got := w.hosts(domain); !slices.Equal(got, []string{"web"}) {
						t.Errorf("%s, target %s: requests for %s go to %q", id, target, domain, got)
					}
				}
			}
		}
	})
	t.Run("clients without a proxy", func(t *testing.T) {
		s := scenario.Parse(t, serviceYAML("web", "10.1.0.1", "http", 80, 1)).Snapshot(t, nil)
		for _, id := range []string{cart0, capitals} {
			p := proxy(t, id, func(m map[string]any) { m["GENERATOR"] = "grpc" })
			g := proxyless.Generators()[0]
			for _, name := range []string{"Web:80", "wEb.Shop:80", "Web.Shop.Svc:80", "WEB.SHOP.SVC.CLUSTER.LOCAL:80", "web.shop.svc.cluster.local:80"} {
				r, ok := g.Named(s, g.Class(s, p), name)
				if !ok {
					t.Errorf("%s: there is no %s", id, name)
					continue
				}
				m, err := r.Build()
				if err != nil {
					t.Fatal(err)
				}
				manager := &hcmv3.HttpConnectionManager{}
				if err := m.(*listenerv3.Listener).GetApiListener().GetApiListener().UnmarshalTo(manager); err != nil {
					t.Fatal(err)
				}
				if got := manager.GetRds().GetRouteConfigName(); got != webCluster || r.Name != name {
					t.Errorf("%s: %s is %q with the routes %q", id, name, r.Name, got)
				}
			}
		}
	})
	t.Run("domain of the cluster", func(t *testing.T) {
		sc := scenario.Parse(t, serviceYAML("web", "10.1.0.1", "http", 80, 1))
		mesh := newWorld(t).mesh
		c := snapshot.NewCompiler(sc.Stores, func() *meshv1alpha1.MeshConfig { return mesh }, snapshot.Options{DNSDomain: "Cluster.Local"})
		s, err := c.Compile(t.Context(), sc.Synced, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Service("web.shop.svc.cluster.local") == nil {
			t.Error("a service has no host name in lower case")
		}
	})
	t.Run("IPv6", func(t *testing.T) {
		p := proxy(t, "sidecar~FD00::2~cart-0.shop~shop.svc.cluster.local", nil)
		w := newWorld(t, p)
		w.apply(
			serviceYAML("a", `"FD00::A"`, "http", 80, 1), serviceYAML("b", `"fd00:0::a"`, "http", 80, 2),
			serviceYAML("c", `"FD00::A"`, "tcp", 90, 1), serviceYAML("d", `"fd00:0::a"`, "tcp", 90, 2),
		)
		// The world has checked that the listeners' addresses and the domains are there once. One of each has them.
		if got := w.hosts("[fd00::a]"); !slices.Equal(got, []string{"a"}) {
			t.Errorf("the address leads to %q", got)
		}
		if m := messages(t, w.now, listener.New(), p)["fd00::a_90"]; m == nil || summary(t, "", m) != " outbound|90||c" {
			t.Errorf("connections to the address: %v", m)
		}
	})
	t.Run("virtual hosts", func(t *testing.T) {
		s := scenario.Parse(t, serviceYAML("web", "10.1.0.1", "http", 80, 1)+externalYAML("pay", "WEB.shop.svc.cluster.local")).Snapshot(t, nil)
		seen := map[string]bool{}
		for _, h := range messages(t, s, route.New(), proxy(t, cart0, nil))["80"].(*routev3.RouteConfiguration).GetVirtualHosts() {
			for _, d := range h.GetDomains() {
				if d = strings.ToLower(d); seen[d] {
					t.Errorf("the domain %s is there twice", d)
				}
				seen[d] = true
			}
		}
	})
}
