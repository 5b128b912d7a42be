// Package scenario loads cluster states and what an existing control plane sent for them, for tests.
//
// A scenario is a folder with input.yaml, the objects of a cluster, and expected/POD.json, the node that connected and
// the resources it got, by type and name, as canonical JSON. mesh.yaml, if there, is the mesh config. base/POD.json, if there, is what it got from the same
// cluster without Istio's and the Gateway API's objects.
package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
)

// Scenario is a loaded folder.
type Scenario struct {
	// Name is the folder's.
	Name   string
	Stores *config.Stores
	Synced config.Synced
	// Mesh is the mesh config of mesh.yaml, or Istio's default one.
	Mesh *meshv1alpha1.MeshConfig
	// Options of the compiler; a test may change them.
	Options snapshot.Options
	// Clients are those of expected/, Base those of base/, sorted by name.
	Clients, Base []Client
}

// Client is a proxy that connected, and what it got.
type Client struct {
	// Name is the file's without its ending.
	Name  string
	Proxy *model.Proxy
	// Expected are JSON objects by type ("clusters", "endpoints", "listeners", "routes") and resource name.
	Expected map[string]map[string]any
}

// Shared finds a folder of the scenarios that are kept beside the repository. Where they are absent the test is
// skipped, or fails if MESHD_REQUIRE_SHARED=1 says that they must be there.
func Shared(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(root(t), "..", "shared", "scenarios", name)
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("MESHD_REQUIRE_SHARED") == "1" {
			t.Fatalf("MESHD_REQUIRE_SHARED=1, but the folder ../shared/scenarios/%s beside the repository cannot be read: %v", name, err)
		}
		t.Skipf("the folder ../shared/scenarios/%s beside the repository is absent", name)
	}
	return dir
}

// root is the repository's folder.
func root(t testing.TB) string {
	t.Helper()
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		t.Fatal("the path of this source file is not known")
	}
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// Load reads a scenario's folder; expected/ and base/ may be missing.
func Load(t testing.TB, dir string) *Scenario {
	t.Helper()
	s := &Scenario{Name: filepath.Base(dir), Mesh: mesh.Default()}
	if text, err := os.ReadFile(filepath.Join(dir, "mesh.yaml")); err == nil {
		if s.Mesh, _, err = mesh.Parse(text); err != nil {
			t.Fatalf("%s/mesh.yaml: %v", dir, err)
		}
	}
	s.Stores, s.Synced = Objects(t, filepath.Join(dir, "input.yaml"))
	s.Clients = readClients(t, filepath.Join(dir, "expected"))
	s.Base = readClients(t, filepath.Join(dir, "base"))
	return s
}

func readClients(t testing.TB, dir string) []Client {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out []Client
	for _, file := range files {
		client, err := readClient(file)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, client)
	}
	return out
}

// Compiler makes a compiler of the scenario's objects with its mesh config, changed by edit if it is not nil. A test that
// changes objects compiles more than once with one compiler, as meshd does.
func (s *Scenario) Compiler(edit func(*meshv1alpha1.MeshConfig)) *snapshot.Compiler {
	m := proto.CloneOf(s.Mesh)
	if edit != nil {
		edit(m)
	}
	return snapshot.NewCompiler(s.Stores, func() *meshv1alpha1.MeshConfig { return m }, s.Options)
}

// Snapshot compiles the scenario once.
func (s *Scenario) Snapshot(t testing.TB, edit func(*meshv1alpha1.MeshConfig)) *snapshot.Snapshot {
	t.Helper()
	snap, err := s.Compiler(edit).Compile(context.Background(), s.Synced, nil)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	return snap
}

func readClient(file string) (Client, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Client{}, err
	}
	var content struct {
		Node struct {
			ID       string
			Metadata map[string]any
		}
		Clusters, Endpoints, Listeners, Routes map[string]any
	}
	if err := json.Unmarshal(data, &content); err != nil {
		return Client{}, fmt.Errorf("%s: %w", file, err)
	}
	p, err := model.NewProxy(content.Node.ID, content.Node.Metadata)
	if err != nil {
		return Client{}, fmt.Errorf("%s: %w", file, err)
	}
	return Client{
		Name:  strings.TrimSuffix(filepath.Base(file), ".json"),
		Proxy: p,
		Expected: map[string]map[string]any{
			"clusters":  content.Clusters,
			"endpoints": content.Endpoints,
			"listeners": content.Listeners,
			"routes":    content.Routes,
		},
	}, nil
}

// JSON is a resource as the expected files show it, ready for Diff.
func JSON(m proto.Message) (any, error) {
	data, err := marshal.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	var out any
	return out, json.Unmarshal(data, &out)
}
