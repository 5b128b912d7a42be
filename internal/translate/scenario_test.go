package translate_test

import (
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/scenario"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/cluster"
	"github.com/meshd/meshd/internal/translate/endpoint"
	"github.com/meshd/meshd/internal/translate/listener"
	"github.com/meshd/meshd/internal/translate/route"
)

// sidecar are the generators by the names that the expected files use.
func sidecar() map[string]translate.Generator {
	return map[string]translate.Generator{
		"clusters":  cluster.New(),
		"endpoints": endpoint.New(model.FlavorEnvoy),
		"listeners": listener.New(),
		"routes":    route.New(),
	}
}

var sharedScenarios = []string{
	"s01-bookinfo", "s02-routing", "s03-ingress", "s04-policy", "s05-external", "s06-protocols", "s10-gatewayapi",
}

// TestScenarios compares every resource of every proxy with what istiod sent it: where a scenario is about objects of
// Istio or the Gateway API, with what it sent without them.
func TestScenarios(t *testing.T) {
	exceptions := loadExceptions(t)
	for _, name := range sharedScenarios {
		t.Run(name, func(t *testing.T) {
			sc := scenario.Load(t, scenario.Shared(t, name))
			clients := sc.Clients
			if len(sc.Base) > 0 {
				clients = sc.Base
			}
			if len(clients) == 0 {
				t.Fatalf("%s has no clients", name)
			}
			exceptions.compare(name)
			snap := sc.Snapshot(t, nil)
			for _, client := range clients {
				t.Run(client.Name, func(t *testing.T) {
					for kind, generator := range sidecar() {
						compare(t, client.Expected[kind], resources(t, snap, generator, client.Proxy), func(resource, path string) bool {
							return exceptions.excuse(name, client.Name, kind, resource, path)
						})
					}
				})
			}
		})
	}
	exceptions.checkUsed(t)
}

// compare reports all differences that are not excused, between resources by name.
func compare(t *testing.T, want, got map[string]any, excused func(resource, path string) bool) {
	t.Helper()
	want = scenario.WithoutAPIServer(want)
	if missing, extra := keysWithout(want, got), keysWithout(got, want); len(missing)+len(extra) > 0 {
		t.Errorf("missing %q, and there should not be %q", missing, extra)
	}
	for _, resource := range slices.Sorted(maps.Keys(want)) {
		if got[resource] == nil {
			continue
		}
		for _, d := range scenario.Diff(want[resource], got[resource]) {
			if !excused(resource, d.Path) {
				t.Errorf("%s: %s", resource, d)
			}
		}
	}
}

// resources builds all resources of a proxy, as JSON by name.
func resources(t testing.TB, s *snapshot.Snapshot, g translate.Generator, p *model.Proxy) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, m := range messages(t, s, g, p) {
		v, err := scenario.JSON(m)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = v
	}
	return out
}

// messages builds all resources of a proxy, and holds the generator to its contract.
func messages(t testing.TB, s *snapshot.Snapshot, g translate.Generator, p *model.Proxy) map[string]proto.Message {
	t.Helper()
	out := map[string]proto.Message{}
	class := g.Class(s, p)
	if again := g.Class(s, p); class != again {
		t.Errorf("%s: two classes of one proxy differ: %v, %v", g.TypeURL(), class, again)
	}
	for _, r := range g.List(class).All(s) {
		if out[r.Name] != nil {
			t.Errorf("%s: All has %s twice", g.TypeURL(), r.Name)
		}
		m, err := r.Build()
		if err != nil {
			t.Fatalf("%s: %s: %v", g.TypeURL(), r.Name, err)
		}
		out[r.Name] = m
		named, ok := g.Named(s, class, r.Name)
		if !ok || named.Name != r.Name || named.Key != r.Key {
			t.Errorf("%s: Named(%s) is not the recipe that All has", g.TypeURL(), r.Name)
		}
	}
	return out
}

func keysWithout(a, b map[string]any) []string {
	var out []string
	for key := range a {
		if _, ok := b[key]; !ok {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}
