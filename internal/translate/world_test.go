package translate_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/scenario"
)

// world is a mesh that changes, and some proxies in it. After each change everything that the proxies get is valid, and
// byte for byte what they would get from a process that begins with the objects as they are then.
type world struct {
	t        testing.TB
	changes  *config.Changes
	stores   *config.Stores
	mesh     *meshv1alpha1.MeshConfig
	compiler *snapshot.Compiler
	now      *snapshot.Snapshot
	proxies  []*model.Proxy
}

func newWorld(t testing.TB, proxies ...*model.Proxy) *world {
	w := &world{t: t, changes: config.NewChanges(), mesh: mesh.Default(), proxies: proxies}
	w.stores = config.NewStores(w.changes.Add)
	w.compiler = w.newCompiler()
	w.now = w.compile(w.compiler)
	return w
}

func (w *world) newCompiler() *snapshot.Compiler {
	return snapshot.NewCompiler(w.stores, func() *meshv1alpha1.MeshConfig { return w.mesh }, snapshot.Options{})
}

func (w *world) compile(c *snapshot.Compiler) *snapshot.Snapshot {
	w.t.Helper()
	changes, _ := w.changes.Take()
	s, err := c.Compile(context.Background(), w.stores.MarkSynced(), changes)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// apply creates and replaces objects, all at once.
func (w *world) apply(manifests ...string) {
	w.t.Helper()
	scenario.Put(w.t, w.stores, strings.Join(manifests, newObject))
	w.step("apply " + strings.Join(manifests, newObject))
}

// put is apply without a look at what comes of it.
func (w *world) put(manifests string) {
	w.t.Helper()
	scenario.Put(w.t, w.stores, manifests)
	w.now = w.compile(w.compiler)
}

// remove deletes an object: "Pod shop/cart-0".
func (w *world) remove(object string) {
	w.t.Helper()
	kind, n, _ := strings.Cut(object, " ")
	namespace, name, _ := strings.Cut(n, "/")
	at := model.NamespacedName{Namespace: namespace, Name: name}
	switch model.Kind(kind) {
	case model.KindService:
		w.stores.Services.Delete(at)
	case model.KindEndpointSlice:
		w.stores.EndpointSlices.Delete(at)
	case model.KindPod:
		w.stores.Pods.Delete(at)
	default:
		w.t.Fatalf("objects of kind %s are not deleted by any test yet", kind)
	}
	w.step("remove " + object)
}

func (w *world) step(what string) {
	w.t.Helper()
	w.now = w.compile(w.compiler)
	fresh := w.compile(w.newCompiler())
	for _, p := range w.proxies {
		checkAll(w.t, p.ID, w.now, p)
		got, want := serialised(w.t, w.now, p), serialised(w.t, fresh, p)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if !bytes.Equal(got[name], want[name]) {
				w.t.Errorf("%s: after the change, %s is not what a fresh process makes:\n%s", p.ID, name, what)
			}
		}
		for name := range got {
			if _, ok := want[name]; !ok {
				w.t.Errorf("%s: after the change there is %s, which a fresh process does not make:\n%s", p.ID, name, what)
			}
		}
	}
}

// serialised are all resources of a proxy, by type and name.
func serialised(t testing.TB, s *snapshot.Snapshot, p *model.Proxy) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for kind, g := range generators(p) {
		for name, m := range messages(t, s, g, p) {
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
			if err != nil {
				t.Fatalf("%s %s: %v", kind, name, err)
			}
			out[kind+" "+name] = b
		}
	}
	return out
}

// names lists the resources of a type that the world's first proxy gets, sorted.
func (w *world) names(kind string) []string {
	w.t.Helper()
	p := w.proxies[0]
	return slices.Sorted(maps.Keys(messages(w.t, w.now, generators(p)[kind], p)))
}

// resource is one that the world's first proxy gets; nil if it does not.
func (w *world) resource(kind, name string) proto.Message {
	w.t.Helper()
	p := w.proxies[0]
	return messages(w.t, w.now, generators(p)[kind], p)[name]
}

// endpoints are those of a cluster, as "address:port", with the workload behind if there is one, and the health if it is
// not good. One that occurs twice is there twice.
func (w *world) endpoints(cluster string) []string {
	w.t.Helper()
	m, ok := w.resource("endpoints", cluster).(*endpointv3.ClusterLoadAssignment)
	if !ok {
		return nil
	}
	out := []string{}
	for _, place := range m.GetEndpoints() {
		for _, e := range place.GetLbEndpoints() {
			a := e.GetEndpoint().GetAddress().GetSocketAddress()
			text := fmt.Sprintf("%s:%d", a.GetAddress(), a.GetPortValue())
			workload, _, _ := strings.Cut(e.GetMetadata().GetFilterMetadata()["istio"].GetFields()["workload"].GetStringValue(), ";")
			if workload != "" {
				text += " " + workload
			}
			if h := e.GetHealthStatus().String(); h != "HEALTHY" {
				text += " " + h
			}
			out = append(out, text)
		}
	}
	return out
}
