package translate_test

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/scenario"
	"github.com/meshd/meshd/internal/translate"
)

func shop(t testing.TB) *scenario.Scenario {
	t.Helper()
	return scenario.Load(t, filepath.Join("testdata", "shop"))
}

// proxy is a sidecar of the shop. The edit gets its metadata.
func proxy(t testing.TB, id string, edit func(metadata map[string]any)) *model.Proxy {
	t.Helper()
	metadata := map[string]any{
		"CLUSTER_ID":            "Kubernetes",
		"ENVOY_PROMETHEUS_PORT": 15090.0,
		"ENVOY_STATUS_PORT":     15021.0,
		"INTERCEPTION_MODE":     "REDIRECT",
		"ISTIO_VERSION":         "1.31.0",
		"MESH_ID":               "cluster.local",
		"NAMESPACE":             "shop",
		"NODE_NAME":             "rack-a1",
		"LABELS": map[string]any{
			"app":                                 "cart",
			"pod-template-hash":                   "5f5f5f",
			"service.istio.io/canonical-name":     "cart",
			"service.istio.io/canonical-revision": "v1",
		},
	}
	if edit != nil {
		edit(metadata)
	}
	p, err := model.NewProxy(id, metadata)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const cart0 = "sidecar~10.30.0.2~cart-0.shop~shop.svc.cluster.local"

// changed lists the generators that see a difference between two proxies.
func changed(s *snapshot.Snapshot, a, b *model.Proxy) []string {
	out := []string{}
	for kind, g := range sidecar() {
		if g.Class(s, a) != g.Class(s, b) {
			out = append(out, kind)
		}
	}
	slices.Sort(out)
	return out
}

// TestEqualClasses: proxies that differ in nothing that is read are one class.
func TestEqualClasses(t *testing.T) {
	s := shop(t).Snapshot(t, nil)
	other := proxy(t, "sidecar~10.30.0.3~cart-1.shop~shop.svc.cluster.local", func(m map[string]any) {
		m["NODE_NAME"] = "rack-b1"
		m["INSTANCE_IPS"] = "10.30.0.3"
		m["LABELS"].(map[string]any)["pod-template-hash"] = "6a6a6a"
		m["LABELS"].(map[string]any)["nobody-selects-on"] = "this"
	})
	other.Locality = model.Locality{Region: "north", Zone: "b"}
	if got := changed(s, proxy(t, cart0, nil), other); len(got) > 0 {
		t.Errorf("proxies that differ only in pod, address, node and template hash are of different classes for %q", got)
	}
}

// TestClassesDiffer: each thing that is read makes a class of its own, and only for those who read it.
func TestClassesDiffer(t *testing.T) {
	s := shop(t).Snapshot(t, nil)
	label := func(name string) func(map[string]any) {
		return func(m map[string]any) { m["LABELS"].(map[string]any)[name] = "other" }
	}
	tests := []struct {
		name string
		id   string
		edit func(map[string]any)
		want []string
	}{
		{"nothing", cart0, nil, []string{}},
		{"stock Envoy", cart0, func(m map[string]any) { delete(m, "ISTIO_VERSION") }, []string{"clusters", "listeners"}},
		{"another Istio version", cart0, func(m map[string]any) { m["ISTIO_VERSION"] = "1.30.2" }, []string{}},
		{"cluster", cart0, func(m map[string]any) { m["CLUSTER_ID"] = "other" }, []string{"listeners"}},
		{"mesh", cart0, func(m map[string]any) { m["MESH_ID"] = "other" }, []string{"listeners"}},
		{"canonical service", cart0, label("service.istio.io/canonical-name"), []string{"listeners"}},
		{"canonical revision", cart0, label("service.istio.io/canonical-revision"), []string{"listeners"}},
		{"redirection", cart0, func(m map[string]any) { m["INTERCEPTION_MODE"] = "TPROXY" }, []string{"listeners"}},
		{"no redirection", cart0, func(m map[string]any) { m["INTERCEPTION_MODE"] = "NONE" }, []string{"clusters", "listeners"}},
		{"status port", cart0, func(m map[string]any) { m["ENVOY_STATUS_PORT"] = "15022" }, []string{"listeners"}},
		{"metrics port", cart0, func(m map[string]any) { m["ENVOY_PROMETHEUS_PORT"] = 15091.0 }, []string{"listeners"}},
		{"DNS domain", "sidecar~10.30.0.2~cart-0.shop~ops.svc.cluster.local", nil, []string{"routes"}},
		{"gateway", "router~10.30.0.2~cart-0.shop~shop.svc.cluster.local", nil, []string{"clusters", "endpoints", "listeners", "routes"}},
		{"IPv6", "sidecar~fd00::2~cart-0.shop~shop.svc.cluster.local", nil, []string{"clusters", "listeners", "routes"}},
		{"workload", "sidecar~10.30.0.1~front-0.shop~shop.svc.cluster.local", func(m map[string]any) {
			m["LABELS"].(map[string]any)["app"] = "front"
		}, []string{"clusters", "listeners"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, changed(s, proxy(t, cart0, nil), proxy(t, test.id, test.edit))); diff != "" {
				t.Errorf("generators whose class differs (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("own address in a headless service", func(t *testing.T) {
		queue := func(n, ip string) *model.Proxy {
			return proxy(t, "sidecar~"+ip+"~queue-"+n+".shop~shop.svc.cluster.local", func(m map[string]any) {
				m["LABELS"].(map[string]any)["app"] = "queue"
			})
		}
		got := changed(s, queue("0", "10.30.0.5"), queue("1", "10.30.0.6"))
		if diff := cmp.Diff([]string{"listeners"}, got); diff != "" {
			t.Errorf("generators whose class differs (-want +got):\n%s", diff)
		}
	})
	t.Run("tags without tracing", func(t *testing.T) {
		s := shop(t).Snapshot(t, func(m *meshv1alpha1.MeshConfig) { m.EnableTracing = false })
		if got := changed(s, proxy(t, cart0, nil), proxy(t, cart0, label("service.istio.io/canonical-name"))); len(got) > 0 {
			t.Errorf("nothing is traced, and yet classes differ for %q", got)
		}
	})
}

// keys are those of all recipes, by type and name.
func keys(s *snapshot.Snapshot, p *model.Proxy) map[string]any {
	out := map[string]any{}
	for kind, g := range sidecar() {
		for _, r := range g.List(g.Class(s, p)).All(s) {
			out[kind+" "+r.Name] = r.Key
		}
	}
	return out
}

// different lists what is not one recipe in both.
func different(a, b map[string]any) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	out := []string{}
	for name := range all {
		if a[name] != b[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// TestOneResourceForTheMesh: what two workloads of different namespaces do not share is only what is about them.
func TestOneResourceForTheMesh(t *testing.T) {
	s := shop(t).Snapshot(t, nil)
	charts := proxy(t, "sidecar~10.30.9.9~charts-0.ops~ops.svc.cluster.local", func(m map[string]any) {
		m["NAMESPACE"] = "ops"
		m["LABELS"] = map[string]any{"app": "charts"}
	})
	want := []string{
		"clusters inbound|3000||",
		"clusters inbound|7000||",
		"clusters inbound|7001||",
		// Requests are traced with the name of the workload.
		"listeners 0.0.0.0_7000",
		"listeners 0.0.0.0_80",
		"listeners 10.20.0.2_7001",
		"listeners virtualInbound",
		// Short names of services are those of the namespace.
		"routes 7000",
		"routes 80",
	}
	if diff := cmp.Diff(want, different(keys(s, proxy(t, cart0, nil)), keys(s, charts))); diff != "" {
		t.Errorf("resources that are not shared (-want +got):\n%s", diff)
	}
}

// TestChangesTouchWhatTheyMust: after a change of the objects, the recipes that are not what they were.
func TestChangesTouchWhatTheyMust(t *testing.T) {
	sc := shop(t)
	compiler := sc.Compiler(nil)
	p := proxy(t, cart0, nil)
	compile := func(changes ...model.Change) map[string]any {
		t.Helper()
		set := map[model.Change]struct{}{}
		for _, c := range changes {
			set[c] = struct{}{}
		}
		s, err := compiler.Compile(context.Background(), sc.Synced, set)
		if err != nil {
			t.Fatal(err)
		}
		return keys(s, p)
	}
	before := compile()

	view, err := sc.Stores.Read(sc.Synced)
	if err != nil {
		t.Fatal(err)
	}
	cart := model.NamespacedName{Namespace: "shop", Name: "cart-1"}
	slice, ok := view.EndpointSlices.Get(cart)
	if !ok {
		t.Fatal("the shop has no slice cart-1")
	}
	slice = slice.DeepCopy()
	slice.Endpoints = slice.Endpoints[:1]
	sc.Stores.EndpointSlices.Put(slice)
	fewer := compile(model.Change{Kind: model.KindEndpointSlice, NamespacedName: cart, What: model.AspectEndpoints})
	want := []string{"endpoints outbound|7000||cart.shop.svc.cluster.local", "endpoints outbound|7001||cart.shop.svc.cluster.local"}
	if diff := cmp.Diff(want, different(before, fewer)); diff != "" {
		t.Errorf("an endpoint that left changed (-want +got):\n%s", diff)
	}

	name := model.NamespacedName{Namespace: "ops", Name: "rates"}
	sc.Stores.Services.Put(service(name, "10.20.1.9", "http", 80))
	more := compile(model.Change{Kind: model.KindService, NamespacedName: name})
	want = []string{
		"clusters outbound|80||rates.ops.svc.cluster.local",
		"endpoints outbound|80||rates.ops.svc.cluster.local",
		"routes 80",
	}
	if diff := cmp.Diff(want, different(fewer, more)); diff != "" {
		t.Errorf("a new service changed (-want +got):\n%s", diff)
	}
}

// TestMeshConfigIsAKey: a new mesh config makes every resource anew, except load assignments, which do not read it.
// Nothing else changes here, so that it is the mesh config and not a service that makes the keys differ.
func TestMeshConfigIsAKey(t *testing.T) {
	sc := shop(t)
	p := proxy(t, cart0, nil)
	current := mesh.Default()
	compiler := snapshot.NewCompiler(sc.Stores, func() *meshv1alpha1.MeshConfig { return current }, snapshot.Options{})
	compile := func(changes map[model.Change]struct{}) *snapshot.Snapshot {
		t.Helper()
		s, err := compiler.Compile(context.Background(), sc.Synced, changes)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := compile(nil)
	current = mesh.Default()
	current.AccessLogFile = "/dev/stdout"
	after := compile(map[model.Change]struct{}{{Kind: model.KindMeshConfig}: {}})
	if before.Service("cart.shop.svc.cluster.local") != after.Service("cart.shop.svc.cluster.local") {
		t.Fatal("a service changed too, so this test proves nothing")
	}
	a, b := keys(before, p), keys(after, p)
	for name := range a {
		if same := a[name] == b[name]; same != strings.HasPrefix(name, "endpoints ") {
			t.Errorf("%s: the key is what it was: %t", name, same)
		}
	}
}

// TestForeignClass: a class of another generator is not taken for "no resources".
func TestForeignClass(t *testing.T) {
	s := shop(t).Snapshot(t, nil)
	p := proxy(t, cart0, nil)
	for kind, g := range sidecar() {
		for otherKind, other := range sidecar() {
			if kind == otherKind {
				continue
			}
			for what, call := range map[string]func(translate.Generator, model.ProxyClass){
				"List":  func(g translate.Generator, c model.ProxyClass) { g.List(c) },
				"Named": func(g translate.Generator, c model.ProxyClass) { g.Named(s, c, "any") },
			} {
				func() {
					defer func() {
						r := recover()
						text, _ := r.(string)
						if !strings.Contains(text, g.TypeURL()) || !strings.Contains(text, "class") {
							t.Errorf("%s of %s with a class of %s: recovered %v", what, kind, otherKind, r)
						}
					}()
					call(g, other.Class(s, p))
				}()
			}
		}
	}
}
