package directory

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
)

const everyKind = `# a comment before the first marker
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: a}}
---
apiVersion: v1
kind: Node
metadata:
  name: node-1
  namespace: ignored
  labels: {topology.kubernetes.io/zone: z1}
--- # only a comment
# nothing here
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: cart, namespace: shop}
...
---
apiVersion: v1
kind: Service
metadata: {name: cart}
spec: {clusterIP: 10.96.0.1, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: cart-1, namespace: shop}
status: {podIPs: [{ip: 10.0.0.1}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: cart-a, namespace: shop, labels: {kubernetes.io/service-name: cart}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1]}]
ports: [{port: 8080}]
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart}
---
apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: not-ours}
`

const lists = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Service
  metadata: {name: one}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: one}
---
apiVersion: v1
kind: ServiceList
items:
- metadata: {name: two}
---
apiVersion: apps/v1
kind: DeploymentList
items: [{metadata: {name: two}}]
`

func TestLoad(t *testing.T) {
	r := start(t, map[string]string{
		"all.yaml":           everyKind,
		"lists.yml":          lists,
		"deep/er/three.json": "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"three\"}}\n{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"four\"}}",
		"windows.yaml":       "\xEF\xBB\xBF" + strings.ReplaceAll("---\n"+service("crlf", 81)+"---\n"+service("crlf2", 82), "\n", "\r\n"),
		".hidden.yaml":       service("hidden", 1),
		".git/x.yaml":        service("hidden", 1),
		"README.md":          "not a manifest",
		"empty.yaml":         "",
		"comment.yaml":       "# nothing yet\n",
	})
	r.wantNoProblem()
	r.wantPorts("cart:80 crlf:81 crlf2:82 four:0 one:0 three:0 two:0")
	status := r.source.Status()
	want := Status{
		Directory: r.dir, Loaded: true, Watching: "events of the file system", Scans: 1, LastScan: status.LastScan,
		Files: 6, Documents: 15,
		Objects: map[model.Kind]int{
			model.KindService: 7, model.KindPod: 1, model.KindNode: 1, model.KindNamespace: 1, model.KindServiceAccount: 1, model.KindEndpointSlice: 1,
		},
		Skipped: map[string]int{"VirtualService.networking.istio.io": 1, "Service.serving.knative.dev": 1, "Deployment.apps": 1, "DeploymentList.apps": 1},
	}
	if diff := cmp.Diff(want, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if _, ok := r.view.Services.Get(model.NamespacedName{Namespace: "default", Name: "cart"}); !ok {
		t.Error("a service without a namespace is not in default")
	}
	if _, ok := r.view.Nodes.Get(model.NamespacedName{Name: "node-1"}); !ok {
		t.Error("a node has a namespace")
	}
	cart := key{model.KindService, model.NamespacedName{Namespace: "default", Name: "cart"}}
	if stored, _ := r.view.Services.Get(cart.NamespacedName); r.source.claims.won[cart] != stored {
		t.Error("the source and the store hold a copy each")
	}
	pods := r.view.Pods.List()
	if len(pods) != 1 || pods[0].Spec.ServiceAccountName != "default" {
		t.Errorf("pods %v, want one with the default service account", pods)
	}
}

// TestNoManifests loads what lies about beside manifests: it is counted, not complained of.
func TestNoManifests(t *testing.T) {
	r := start(t, map[string]string{
		"a.yaml":      service("a", 1) + "---\nreplicas: 3\nimage: {tag: v1}\n",
		"values.yaml": "# values of a chart\nmetadata: {name: x}\nkinds: [Service]\n1: one\n",
		"dump.json":   "{\"configs\": [{\"kind\": \"Service\"}]}",
		"empty.json":  "{}",
		"null.yaml":   "kind: null\napiVersion:\n",
	})
	r.wantNoProblem()
	r.wantPorts("a:1")
	if s := r.source.Status(); s.Files != 5 || s.Skipped["no kind"] != 5 {
		t.Errorf("status %+v", s)
	}
}

// TestNotOfAKind loads documents of kinds that are not read: they need not be more than YAML.
func TestNotOfAKind(t *testing.T) {
	r := start(t, map[string]string{"a.yaml": "apiVersion: x/v1\nkind: Gadget\nmetadata: 5\n2: b\n---\n" + service("a", 1)})
	r.wantNoProblem()
	r.wantPorts("a:1")
	if s := r.source.Status(); s.Skipped["Gadget.x"] != 1 {
		t.Errorf("skipped %v", s.Skipped)
	}
}

func TestStartErrors(t *testing.T) {
	options := func() Options {
		return Options{Stores: config.NewStores(func(model.Change) {}), Log: zap.NewNop(), Registerer: prometheus.NewRegistry()}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"missing": filepath.Join(t.TempDir(), "none"), "a file": file, "below a file": filepath.Join(file, "x")} {
		t.Run(name, func(t *testing.T) {
			s, err := New(dir, options()) // reads nothing, so it has nothing to complain about
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			_, err = s.Load(t.Context())
			if err == nil || !strings.Contains(err.Error(), "--dir "+dir) {
				t.Errorf("load: %v; want an error that names --dir %s", err, dir)
			}
			if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "before it was loaded") {
				t.Errorf("run after a failed load: %v", err)
			}
		})
	}
	if _, err := New("", options()); err == nil || !strings.Contains(err.Error(), "--dir") {
		t.Errorf("no directory: %v", err)
	}
	if _, err := New("x", Options{}); err == nil {
		t.Error("no error without stores, logger and registerer")
	}
	same := options()
	if _, err := New("x", same); err != nil {
		t.Fatal(err)
	}
	if _, err := New("x", same); err == nil {
		t.Error("no error though the metrics are registered already")
	}
}

func TestLoadOnce(t *testing.T) {
	r, stores := newRig(t, nil)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.source.Load(ended); err == nil {
		t.Error("load under an ended context gave a token")
	}
	if r.source.Status().Loaded || r.source.Degraded() != nil {
		t.Error("loaded or degraded before the load")
	}
	r.load(stores) // an empty directory is fine
	if s := r.source.Status(); !s.Loaded || s.Files != 0 || s.Degraded != "" {
		t.Errorf("status of an empty directory: %+v", s)
	}
	if _, err := r.source.Load(t.Context()); err == nil {
		t.Error("a second load gave a token")
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	start(t, map[string]string{"a.yaml": service("a", 1) + "---\n" + service("a", 2), "bad.yaml": "{"}, func(o *Options) { o.Registerer = reg })
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += " " + l.GetValue()
			}
			got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	want := map[string]float64{
		"meshd_directory_files": 1, "meshd_directory_documents": 2, "meshd_directory_skipped_documents": 0,
		"meshd_directory_problems bad file": 1, "meshd_directory_problems duplicate": 1, "meshd_directory_problems unreadable": 0,
		"meshd_directory_degraded": 0, "meshd_directory_scans_total": 1,
		"meshd_directory_objects Service": 1, "meshd_directory_objects Pod": 0, "meshd_directory_objects Node": 0,
		"meshd_directory_objects Namespace": 0, "meshd_directory_objects ServiceAccount": 0, "meshd_directory_objects EndpointSlice": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
