package snapshot

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
)

// TestSameEndpoint changes each field of an endpoint: a field that is not compared would be served stale.
func TestSameEndpoint(t *testing.T) {
	fresh := func() *model.Endpoint {
		return &model.Endpoint{Addresses: []string{"10.1.0.1"}, Labels: map[string]string{"app": "a"}}
	}
	if !sameEndpoint(fresh(), fresh()) {
		t.Fatal("equal endpoints differ")
	}
	for i := range reflect.TypeFor[model.Endpoint]().NumField() {
		other := fresh()
		f := reflect.ValueOf(other).Elem().Field(i)
		switch f.Kind() {
		case reflect.String:
			f.SetString("other")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Uint8, reflect.Uint32:
			f.SetUint(1)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{"10.1.0.1", "fd00::1"}))
		case reflect.Map:
			f.Set(reflect.ValueOf(map[string]string{"app": "b"}))
		case reflect.Struct:
			f.Set(reflect.ValueOf(model.Locality{Zone: "z"}))
		default:
			t.Fatalf("field %s has a kind that this test does not know", reflect.TypeFor[model.Endpoint]().Field(i).Name)
		}
		if sameEndpoint(fresh(), other) {
			t.Errorf("field %s is not compared", reflect.TypeFor[model.Endpoint]().Field(i).Name)
		}
	}
}

// TestTable holds a table to a map, and older tables to what they were.
func TestTable(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var now table[int, int]
	want := map[int]int{}
	type version struct {
		table table[int, int]
		want  map[int]int
	}
	var versions []version
	for range 400 {
		changes := map[int]*int{}
		for range r.IntN(30) {
			key := r.IntN(2000)
			if r.IntN(4) == 0 {
				changes[key] = nil
				delete(want, key)
				continue
			}
			value := r.Int()
			changes[key] = &value
			want[key] = value
		}
		now = now.with(changes)
		versions = append(versions, version{now, maps.Clone(want)})
	}
	for i, v := range versions {
		if v.table.len != len(v.want) {
			t.Fatalf("version %d: length %d, want %d", i, v.table.len, len(v.want))
		}
		for key := range 2000 {
			got := v.table.get(key)
			value, ok := v.want[key]
			if (got != nil) != ok || ok && *got != value {
				t.Fatalf("version %d: key %d: got %v, want %d %v", i, key, got, value, ok)
			}
		}
	}
	if most := 2 * perShard * len(now.shards); now.len > most || len(now.shards) < 8 {
		t.Errorf("%d keys in %d shards", now.len, len(now.shards))
	}
}

func TestReplace(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	self := func(n *int) int { return *n }
	var list []*int
	for range 500 {
		before := slices.Clone(list)
		want := map[int]*int{}
		for _, p := range list {
			want[*p] = p
		}
		changes := map[int]*int{}
		for range r.IntN(4) {
			n := r.IntN(20)
			switch r.IntN(3) {
			case 0:
				changes[n] = nil
				delete(want, n)
			case 1:
				changes[n] = &n
				want[n] = &n
			case 2:
				changes[n] = want[n] // as it is
			}
		}
		got, changed := replace(list, self, changes)
		sorted := slices.SortedFunc(maps.Values(want), func(a, b *int) int { return cmp.Compare(*a, *b) })
		if !slices.Equal(got, sorted) {
			t.Fatalf("not what was asked for, or not sorted")
		}
		if changed == slices.Equal(before, sorted) {
			t.Fatalf("reported a change: %v", changed)
		}
		if !slices.Equal(before, list) {
			t.Fatal("the old list changed")
		}
		list = got
	}
}

// TestInternerFreesWhatNobodyHolds: it must not keep the inbound of every workload there ever was.
func TestInternerFreesWhatNobodyHolds(t *testing.T) {
	n := newInterner()
	kept := n.inbound([]InboundTarget{{TargetPort: 1}})
	for i := range uint32(1000) {
		n.inbound([]InboundTarget{{TargetPort: 2 + i}})
	}
	left := func() int {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.known)
	}
	for tries := 0; left() > 1; tries++ {
		if tries == 1000 {
			t.Fatalf("%d inbounds are left", left())
		}
		runtime.GC()
		runtime.Gosched()
	}
	if n.inbound([]InboundTarget{{TargetPort: 1}}) != kept {
		t.Error("what is held has another pointer")
	}
	runtime.KeepAlive(kept)
}

// TestNothingIsLeft: what the compiler knows is what the stores hold, and no more.
func TestNothingIsLeft(t *testing.T) {
	stores := config.NewStores(func(model.Change) {})
	changes := set[model.Change]{}
	// meta names an object, and notes that it changed.
	meta := func(kind model.Kind, n string, labels map[string]string) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Namespace: "shop", Name: n, Labels: labels}
		if kind == model.KindNode {
			m.Namespace = ""
		}
		changes[model.Change{Kind: kind, NamespacedName: name{Namespace: m.Namespace, Name: n}}] = struct{}{}
		return m
	}
	port, moved := int32(80), "old"
	slice := func(service string) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta:  meta(model.KindEndpointSlice, "slice", map[string]string{discoveryv1.LabelServiceName: service}),
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Port: &port}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.9"}}, {Addresses: []string{"10.1.0.1"}, TargetRef: &corev1.ObjectReference{
				Kind: "Pod", Name: "pod"}}},
		}
	}
	c := NewCompiler(stores, func() *meshv1alpha1.MeshConfig { return &meshv1alpha1.MeshConfig{TrustDomain: "td"} }, Options{})
	compile := func() *Snapshot {
		s, err := c.Compile(context.Background(), stores.MarkSynced(), changes)
		if err != nil {
			t.Fatal(err)
		}
		clear(changes)
		return s
	}
	for _, service := range []string{moved, "service"} {
		stores.Nodes.Put(&corev1.Node{ObjectMeta: meta(model.KindNode, "node", map[string]string{corev1.LabelTopologyZone: service})})
		stores.Services.Put(&corev1.Service{ObjectMeta: meta(model.KindService, service, nil),
			Spec: corev1.ServiceSpec{Selector: map[string]string{"app": service}, Ports: []corev1.ServicePort{{Port: 80}}}})
		stores.Pods.Put(&corev1.Pod{ObjectMeta: meta(model.KindPod, "pod", map[string]string{"app": service}),
			Spec: corev1.PodSpec{NodeName: "node"}, Status: corev1.PodStatus{PodIP: "10.1.0." + service[:1]}})
		stores.EndpointSlices.Put(slice(service))
		compile()
	}
	for _, service := range []string{moved, "service"} {
		stores.Services.Delete(nameOf(meta(model.KindService, service, nil)))
	}
	stores.EndpointSlices.Delete(nameOf(meta(model.KindEndpointSlice, "slice", nil)))
	stores.Pods.Delete(nameOf(meta(model.KindPod, "pod", nil)))
	stores.Nodes.Delete(nameOf(meta(model.KindNode, "node", nil)))
	s := compile()

	// The keys that pods are looked up by stay: there are as many as there are conventions for labels.
	c.known.keys = nil
	known := reflect.ValueOf(*c.known)
	for i := range known.NumField() {
		if n := known.Field(i).Len(); n != 0 {
			t.Errorf("%d %s are left", n, known.Type().Field(i).Name)
		}
	}
	in := s.inbounds
	if n := len(s.Services()) + len(s.Ports()) + len(s.scoped) + s.places.pods.len + s.places.nodes.len + s.entries.len + in.pods.len + in.owners.len + in.unselected.len + in.selecting.len; n != 0 {
		t.Errorf("the snapshot still holds %d things: %+v", n, s)
	}
}

func nameOf(m metav1.ObjectMeta) name { return name{Namespace: m.Namespace, Name: m.Name} }
