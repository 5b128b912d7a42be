package translate_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/scenario"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/proxyless"
	"github.com/meshd/meshd/internal/translate/validate"
)

var update = flag.Bool("update", false, "write the expected resources of testdata anew; review the difference")

// generators are those that serve a client, by the names that the expected files use.
func generators(p *model.Proxy) map[string]translate.Generator {
	if p.Flavor == model.FlavorEnvoy {
		return sidecar()
	}
	out := map[string]translate.Generator{}
	for i, kind := range []string{"listeners", "routes", "clusters", "endpoints"} {
		out[kind] = proxyless.Generators()[i]
	}
	return out
}

// meshes are the folders of testdata: small meshes of our own. What is expected of the clients that are Istio's build was
// held, when it was written, to what istiod 1.31 sends for the same objects: equal resource by resource.
var meshes = []string{
	"shop", "accounts", "dualstack", "endpoints", "external", "headless", "nearby", "places-shared", "protocols", "shapes", "visibility",
}

// TestMeshes compares all resources of small meshes with what was reviewed.
func TestMeshes(t *testing.T) {
	for _, name := range meshes {
		t.Run(name, func(t *testing.T) { golden(t, filepath.Join("testdata", name)) })
	}
}

func golden(t *testing.T, dir string) {
	sc := scenario.Load(t, dir)
	snap := sc.Snapshot(t, nil)
	for _, client := range sc.Clients {
		t.Run(client.Name, func(t *testing.T) {
			got := map[string]map[string]any{}
			for kind, g := range generators(client.Proxy) {
				got[kind] = resources(t, snap, g, client.Proxy)
			}
			if *update {
				write(t, filepath.Join(dir, "expected", client.Name+".json"), client, got)
				return
			}
			for kind := range got {
				compare(t, client.Expected[kind], got[kind], func(string, string) bool { return false })
			}
		})
	}
}

func write(t *testing.T, file string, client scenario.Client, resources map[string]map[string]any) {
	t.Helper()
	content := map[string]any{"node": map[string]any{"id": client.Proxy.ID, "metadata": client.Proxy.Metadata.Raw}}
	for kind, byName := range resources {
		content[kind] = byName
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(content); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestValid holds everything that is generated for any client of any scenario to Envoy's rules.
func TestValid(t *testing.T) {
	for _, name := range sharedScenarios {
		t.Run(name, func(t *testing.T) { valid(t, scenario.Shared(t, name)) })
	}
	for _, name := range meshes {
		t.Run(name, func(t *testing.T) { valid(t, filepath.Join("testdata", name)) })
	}
}

func valid(t *testing.T, dir string) {
	sc := scenario.Load(t, dir)
	snap := sc.Snapshot(t, nil)
	for _, client := range sc.Clients {
		checkAll(t, client.Name, snap, client.Proxy)
	}
}

// checker is shared by all tests, so that it looks into what resources have in common once.
var checker = validate.New()

// checkAll validates all resources of a client, each alone and all together.
func checkAll(t testing.TB, client string, snap *snapshot.Snapshot, p *model.Proxy) {
	t.Helper()
	var set validate.Set
	for kind, g := range generators(p) {
		for name, m := range messages(t, snap, g, p) {
			serialised, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := checker.Resource(m, serialised); err != nil {
				t.Errorf("%s: %s: %s: %v", client, kind, name, err)
			}
			switch m := m.(type) {
			case *clusterv3.Cluster:
				set.Clusters = append(set.Clusters, m)
			case *endpointv3.ClusterLoadAssignment:
				set.Endpoints = append(set.Endpoints, m)
			case *listenerv3.Listener:
				set.Listeners = append(set.Listeners, m)
			case *routev3.RouteConfiguration:
				set.Routes = append(set.Routes, m)
			default:
				t.Errorf("%s: %s: %s is a %T", client, kind, name, m)
			}
		}
	}
	if len(set.Clusters) == 0 && p.Flavor == model.FlavorEnvoy {
		t.Errorf("%s has no clusters", client)
	}
	if err := set.Check(); err != nil {
		t.Errorf("%s: %v", client, err)
	}
}
