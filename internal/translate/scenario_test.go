package translate_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
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

// apiServer is part of every name in what the cluster's own service leads to. It is not among the scenarios' objects.
const apiServer = "kubernetes.default.svc.cluster.local"

// TestScenarios compares every resource of every proxy with what istiod sent it.
func TestScenarios(t *testing.T) {
	exceptions := loadExceptions(t)
	for _, name := range []string{"s01-bookinfo", "s06-protocols"} {
		t.Run(name, func(t *testing.T) {
			sc := scenario.Load(t, scenario.Shared(t, name))
			if len(sc.Clients) == 0 {
				t.Fatalf("%s has no expected/ files", name)
			}
			snap := sc.Snapshot(t, nil)
			for _, client := range sc.Clients {
				for kind, generator := range sidecar() {
					got := resources(t, snap, generator, client.Proxy)
					want := maps.Clone(client.Expected[kind])
					maps.DeleteFunc(want, func(_ string, r any) bool { return strings.Contains(fmt.Sprint(r), "||"+apiServer) })
					if missing, extra := keysWithout(want, got), keysWithout(got, want); len(missing)+len(extra) > 0 {
						t.Errorf("%s: %s: missing %q, and there should not be %q", client.Name, kind, missing, extra)
					}
					for _, resource := range slices.Sorted(maps.Keys(want)) {
						if got[resource] == nil {
							continue
						}
						for _, d := range scenario.Diff(want[resource], got[resource]) {
							if !exceptions.excuses(name, client.Name, kind, resource, d.Path) {
								t.Errorf("%s: %s: %s: %s", client.Name, kind, resource, d)
							}
						}
					}
				}
			}
		})
	}
	exceptions.checkUsed(t)
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
	for _, r := range g.All(s, class) {
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

// exception is a difference that is meant.
type exception struct {
	Scenario, Client, Type, Resource string
	// Path begins the paths of the differences, as scenario.Diff writes them.
	Path   string
	Reason string
	used   bool
	absent bool
}

type exceptions []*exception

func loadExceptions(t *testing.T) exceptions {
	t.Helper()
	data, err := os.ReadFile("testdata/exceptions.json")
	if err != nil {
		t.Fatal(err)
	}
	var out exceptions
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("testdata/exceptions.json: %v", err)
	}
	for _, e := range out {
		if e.Reason == "" {
			t.Errorf("the exception for %s of %s has no reason", e.Path, e.Resource)
		}
	}
	return out
}

func (list exceptions) excuses(scenario, client, kind, resource, path string) bool {
	for _, e := range list {
		if e.Scenario == scenario && e.Client == client && e.Type == kind && e.Resource == resource && strings.HasPrefix(path, e.Path) {
			e.used = true
			return true
		}
	}
	return false
}

func (list exceptions) checkUsed(t *testing.T) {
	for _, e := range list {
		if !e.used && !e.absent {
			t.Errorf("the exception for %s of %s (%s, %s) is not used: remove it", e.Path, e.Resource, e.Scenario, e.Client)
		}
	}
}
