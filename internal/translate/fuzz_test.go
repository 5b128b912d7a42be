package translate_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/config/directory"
	"github.com/meshd/meshd/internal/config/filewatch"
	"github.com/meshd/meshd/internal/model"
)

// FuzzManifests serves a directory with any manifests to one of several clients, and then with the same ones changed at
// random; see follows. What it begins with is small, because what it finds out is worth little next to how often it tries.
func FuzzManifests(f *testing.F) {
	clients, dir := clients(f), f.TempDir()
	for _, manifests := range []string{
		serviceYAML("a", "None", "tcp", 90, 1) + endpointsYAML("a-1", "a", "p@10.2.0.1", "10.2.0.2") + podYAML("p", "a", "10.2.0.1", "Running"),
		serviceYAML("b", `"FD00::A"`, "http", 80, 1) + externalYAML("pay", "b.shop.svc.cluster.local"),
		portsYAML("x", 1, "http-a:80:9000", "tcp-b:81:9000"),
	} {
		for seed := range uint64(len(clients)) {
			f.Add([]byte(manifests), seed)
		}
	}
	f.Fuzz(func(t *testing.T, manifests []byte, seed uint64) {
		i := seed % uint64(len(clients))
		follows(t, dir, manifests, seed, clients[i:i+1]...)
	})
}

// TestManifestsChange does the same with more of them, to all clients at once.
func TestManifestsChange(t *testing.T) {
	shop, err := os.ReadFile(filepath.Join("testdata", "shop", "input.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(6) {
		follows(t, t.TempDir(), shop, seed, clients(t)...)
	}
}

func clients(t testing.TB) []*model.Proxy {
	return []*model.Proxy{
		proxy(t, cart0, nil), proxy(t, front0, nil), proxy(t, edge, nil),
		proxy(t, "sidecar~fd00::2~p.shop~shop.svc.cluster.local", func(m map[string]any) { delete(m, "ISTIO_VERSION"); m["LABELS"] = map[string]any{"app": "a"} }),
		proxy(t, cart0, func(m map[string]any) { m["GENERATOR"] = "grpc" }),
	}
}

// follows checks manifests, and what becomes of them when they are changed: whatever stands in them, the directory loads,
// every client gets valid resources, and after the change those that a process would make that begins with it. The
// directory is one for all, because to make and remove it takes longer than what is looked at.
func follows(t *testing.T, dir string, manifests []byte, seed uint64, clients ...*model.Proxy) {
	w := newWorld(t, clients...)
	for i, manifests := range [][]byte{manifests, edited(manifests, rand.New(rand.NewPCG(seed, 0)))} {
		follow(w.stores, load(t, dir, manifests))
		w.step(fmt.Sprintf("manifests %d:\n%s", i, manifests))
	}
}

// load reads manifests as meshd does, from a directory.
func load(t *testing.T, dir string, manifests []byte) config.View {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "objects.yaml"), manifests, 0o600); err != nil {
		t.Fatal(err)
	}
	stores := config.NewStores(func(model.Change) {})
	source, err := directory.New(dir, directory.Options{
		Stores: stores, Log: zap.NewNop(), Registerer: prometheus.NewRegistry(),
		Timing: filewatch.Timing{PollOnly: true}, // to announce a watch to the system takes longer than all the rest
	})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	synced, err := source.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	view, err := stores.Read(synced)
	if err != nil {
		t.Fatal(err)
	}
	return view
}

// follow makes stores hold what others do.
func follow(stores *config.Stores, others config.View) {
	mine, err := stores.Read(stores.MarkSynced())
	if err != nil {
		panic(err)
	}
	followStore(stores.Services, mine.Services, others.Services)
	followStore(stores.EndpointSlices, mine.EndpointSlices, others.EndpointSlices)
	followStore(stores.Pods, mine.Pods, others.Pods)
	followStore(stores.Nodes, mine.Nodes, others.Nodes)
	followStore(stores.Namespaces, mine.Namespaces, others.Namespaces)
	followStore(stores.ServiceAccounts, mine.ServiceAccounts, others.ServiceAccounts)
}

func followStore[T metav1.Object](store *config.Store[T], mine, others config.Reader[T]) {
	for _, o := range mine.List() {
		name := model.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
		if _, stays := others.Get(name); !stays {
			store.Delete(name)
		}
	}
	for _, o := range others.List() {
		store.Put(o)
	}
}

// edited changes values here and there in the documents that can be read, and leaves some documents out.
func edited(manifests []byte, r *rand.Rand) []byte {
	var out []byte
	for _, document := range bytes.Split(manifests, []byte("\n---\n")) {
		var value any
		if r.IntN(8) == 0 || yaml.Unmarshal(document, &value) != nil {
			continue
		}
		text, err := yaml.Marshal(mutated(value, r))
		if err != nil {
			continue
		}
		out = append(append(out, text...), "---\n"...)
	}
	return out
}

// odd are values that are a problem somewhere.
func odd(r *rand.Rand) any {
	values := []any{
		nil, "", "None", "a", "other", "http", "tcp-x", "grpc", "UDP", "10.2.0.1", "10.2.0.2", "FD00::A", "fd00:0::a", "::ffff:10.2.0.1", "x.example.com",
		"b.shop.svc.cluster.local", "pay.shop.svc.cluster.local", "*", "A B", "1", true, false, -1, 0, 1, 53, 80, 81, 90, 15001, 15006, 65535, 65536,
		[]any{}, map[string]any{}, "Failed", "ExternalName", "ClusterIP", "IPv6", "FQDN",
	}
	return values[r.IntN(len(values))]
}

func mutated(value any, r *rand.Rand) any {
	if r.IntN(40) == 0 {
		return odd(r)
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if r.IntN(40) == 0 {
				delete(v, key)
			} else if key != "kind" && key != "apiVersion" {
				v[key] = mutated(v[key], r)
			}
		}
		return v
	case []any:
		for i := range v {
			v[i] = mutated(v[i], r)
		}
		if len(v) > 0 && r.IntN(10) == 0 {
			v = append(v, v[r.IntN(len(v))])
		}
		return v
	}
	return value
}
