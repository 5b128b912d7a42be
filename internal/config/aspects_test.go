package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/meshd/meshd/internal/model"
)

// keys are the keys that every map of a filled object holds: some that are read somewhere, and some that never are.
var keys = []string{
	"app", "kubernetes.io/service-name", "topology.kubernetes.io/zone", "topology.istio.io/subzone",
	"networking.istio.io/exportTo", "istio.io/persistent-session", "example.com/note", "notistio.io/x", LabelImport,
}

// istioKeys are those of the keys that are meant for the mesh.
var istioKeys = []string{"topology.istio.io/subzone", "networking.istio.io/exportTo", "istio.io/persistent-session"}

// TestAspects fills an object of each kind with something in every field, changes one field after the other, and
// holds the fields that make a change equal to the list of what is read: no more, and no fewer.
func TestAspects(t *testing.T) {
	spec, endpoints := model.AspectSpec, model.AspectEndpoints

	t.Run("Service", func(t *testing.T) {
		checkAspects(t, func(s *Stores) *Store[*corev1.Service] { return s.Services }, map[string]model.Aspect{
			"labels{istio}":                 spec,
			"annotations{istio}":            spec,
			"creationTimestamp":             spec,
			"spec.type":                     spec,
			"spec.selector{*}":              spec,
			"spec.clusterIP":                spec,
			"spec.clusterIPs[]":             spec,
			"spec.externalName":             spec,
			"spec.publishNotReadyAddresses": spec,
			"spec.internalTrafficPolicy":    spec,
			"spec.trafficDistribution":      spec,
			"spec.ports[].name":             spec,
			"spec.ports[].protocol":         spec,
			"spec.ports[].appProtocol":      spec,
			"spec.ports[].port":             spec,
			"spec.ports[].targetPort":       spec,
		})
	})
	t.Run("EndpointSlice", func(t *testing.T) {
		checkAspects(t, func(s *Stores) *Store[*discoveryv1.EndpointSlice] { return s.EndpointSlices }, map[string]model.Aspect{
			"labels{kubernetes.io/service-name}": spec,
			"labels{" + LabelImport + "}":        spec,
			"addressType":                        spec,
			"ports[].name":                       spec,
			"ports[].port":                       spec,
			"endpoints[].addresses[]":            endpoints,
			"endpoints[].conditions.ready":       endpoints,
			"endpoints[].conditions.serving":     endpoints,
			"endpoints[].conditions.terminating": endpoints,
			"endpoints[].hostname":               endpoints,
			"endpoints[].targetRef.kind":         endpoints,
			"endpoints[].targetRef.namespace":    endpoints,
			"endpoints[].targetRef.name":         endpoints,
		})
	})
	t.Run("Pod", func(t *testing.T) {
		checkAspects(t, func(s *Stores) *Store[*corev1.Pod] { return s.Pods }, map[string]model.Aspect{
			"generateName":                                spec,
			"labels{*}":                                   spec,
			"annotations{istio}":                          spec,
			"ownerReferences[].apiVersion":                spec,
			"ownerReferences[].kind":                      spec,
			"ownerReferences[].name":                      spec,
			"ownerReferences[].controller":                spec,
			"spec.serviceAccountName":                     spec,
			"spec.nodeName":                               spec,
			"spec.containers[].ports[].name":              spec,
			"spec.containers[].ports[].containerPort":     spec,
			"spec.containers[].ports[].protocol":          spec,
			"spec.initContainers[].restartPolicy":         spec,
			"spec.initContainers[].ports[].name":          spec,
			"spec.initContainers[].ports[].containerPort": spec,
			"spec.initContainers[].ports[].protocol":      spec,
			"status.phase":                                spec,
			"status.podIP":                                spec,
			"status.podIPs[].ip":                          spec,
		})
	})
	t.Run("Node", func(t *testing.T) {
		checkAspects(t, func(s *Stores) *Store[*corev1.Node] { return s.Nodes }, map[string]model.Aspect{
			"labels{topology.kubernetes.io/zone}": spec,
			"labels{topology.istio.io/subzone}":   spec,
		})
	})
	t.Run("Namespace", func(t *testing.T) {
		checkAspects(t, func(s *Stores) *Store[*corev1.Namespace] { return s.Namespaces }, map[string]model.Aspect{
			"labels{*}":          spec,
			"annotations{istio}": spec,
		})
	})
	t.Run("ServiceAccount", func(t *testing.T) {
		checkAspects(t, func(s *Stores) *Store[*corev1.ServiceAccount] { return s.ServiceAccounts }, map[string]model.Aspect{})
	})
}

func checkAspects[O any, T interface {
	*O
	metav1.Object
	DeepCopy() *O
}](t *testing.T, store func(*Stores) *Store[T], want map[string]model.Aspect) {
	for path, what := range maps.Clone(want) {
		for suffix, which := range map[string][]string{"{*}": keys, "{istio}": istioKeys} {
			if before, ok := strings.CutSuffix(path, suffix); ok {
				delete(want, path)
				for _, k := range which {
					want[before+"{"+k+"}"] = what
				}
			}
		}
	}
	base := T(new(O))
	fill(reflect.ValueOf(base).Elem())
	base.SetNamespace("shop")
	base.SetName("cart")
	if pod, ok := any(base).(*corev1.Pod); ok {
		*pod.Spec.InitContainers[0].RestartPolicy = corev1.ContainerRestartPolicyAlways
	}

	got := map[string]model.Aspect{}
	fields := 0
	for leaf := range leaves(reflect.ValueOf(base).Elem(), "") {
		if leaf.path == "name" || leaf.path == "namespace" {
			continue // another object
		}
		fields++
		other := T(base.DeepCopy())
		leaf.change(reflect.ValueOf(other).Elem())
		if reflect.DeepEqual(leaf.find(reflect.ValueOf(base).Elem()).Interface(), leaf.find(reflect.ValueOf(other).Elem()).Interface()) {
			t.Fatalf("%s: the test did not change anything", leaf.path)
		}
		what, changed := put(t, store, base, other)
		if !changed {
			continue
		}
		got[leaf.path] = what
		if back, changed := put(t, store, other, base); !changed || back != what {
			t.Errorf("%s: aspect %d one way, and %d (%v) the other", leaf.path, what, back, changed)
		}
	}
	t.Logf("%d fields, %d of them read", fields, len(got))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields whose change is seen (-want +got):\n%s", diff)
	}
}

// put puts one object and then another in its place, and gives the change that the second one made.
func put[T metav1.Object](t *testing.T, store func(*Stores) *Store[T], first, second T) (what model.Aspect, changed bool) {
	t.Helper()
	var seen []model.Change
	stores := NewStores(func(c model.Change) { seen = append(seen, c) })
	store(stores).Put(first)
	if len(seen) != 1 || seen[0].What != model.AspectSpec {
		t.Fatalf("a new object gave the changes %v", seen)
	}
	seen = nil
	store(stores).Put(second)
	switch len(seen) {
	case 0:
		return 0, false
	case 1:
		return seen[0].What, true
	}
	t.Fatalf("one put gave the changes %v", seen)
	return 0, false
}

// TestEmptyIsNil checks that an empty map or list and none are the same object.
func TestEmptyIsNil(t *testing.T) {
	var seen []model.Change
	stores := NewStores(func(c model.Change) { seen = append(seen, c) })
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "cart"}
	stores.Pods.Put(&corev1.Pod{ObjectMeta: meta})
	seen = nil
	meta.Labels, meta.Annotations, meta.OwnerReferences = map[string]string{}, map[string]string{}, []metav1.OwnerReference{}
	stores.Pods.Put(&corev1.Pod{
		ObjectMeta: meta,
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example.com/cart:2"}}},
		Status:     corev1.PodStatus{PodIPs: []corev1.PodIP{}, Conditions: []corev1.PodCondition{}},
	})
	if len(seen) != 0 {
		t.Errorf("empty maps and lists made the changes %v", seen)
	}
}

// TestTrimDrops checks that what is not read is not kept either, and that the object given is left alone.
func TestTrimDrops(t *testing.T) {
	var pod corev1.Pod
	fill(reflect.ValueOf(&pod).Elem())
	before := pod.DeepCopy()
	trimmed := TrimPod(&pod)
	if !reflect.DeepEqual(&pod, before) {
		t.Error("TrimPod wrote to its argument")
	}
	if trimmed.ManagedFields != nil || trimmed.Spec.Containers[0].Env != nil || trimmed.Spec.Volumes != nil {
		t.Errorf("TrimPod kept what is not read: %v", trimmed)
	}
	if !reflect.DeepEqual(TrimPod(trimmed), trimmed) {
		t.Error("trimming twice is not trimming once")
	}
}

// leaf is one value in an object that can be changed by itself.
type leaf struct {
	path   string
	find   func(object reflect.Value) reflect.Value // the value itself, or the map that it is in
	change func(object reflect.Value)
}

var opaque = map[reflect.Type]any{
	reflect.TypeFor[metav1.Time]():        metav1.Unix(1700000000, 0),
	reflect.TypeFor[metav1.MicroTime]():   metav1.NewMicroTime(time.Unix(1700000000, 0)),
	reflect.TypeFor[intstr.IntOrString](): intstr.FromString("http"),
	reflect.TypeFor[resource.Quantity]():  resource.MustParse("1Gi"),
}

// leaves lists what fill filled. The value is only looked at for its shape.
func leaves(v reflect.Value, path string) func(yield func(leaf) bool) {
	return func(yield func(leaf) bool) {
		walk(v, path, func(o reflect.Value) reflect.Value { return o }, yield)
	}
}

func walk(v reflect.Value, path string, find func(reflect.Value) reflect.Value, yield func(leaf) bool) bool {
	if other, ok := opaque[v.Type()]; ok {
		return yield(leaf{path, find, func(o reflect.Value) { find(o).Set(reflect.ValueOf(other)) }})
	}
	switch v.Kind() {
	case reflect.Pointer:
		return walk(v.Elem(), path, func(o reflect.Value) reflect.Value { return find(o).Elem() }, yield)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return yield(leaf{path, find, func(o reflect.Value) { find(o).SetBytes([]byte("other")) }})
		}
		return walk(v.Index(0), path+"[]", func(o reflect.Value) reflect.Value { return find(o).Index(0) }, yield)
	case reflect.Map:
		for _, k := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			if !yield(leaf{fmt.Sprintf("%s{%s}", path, k), find, func(o reflect.Value) { find(o).SetMapIndex(k, reflect.Value{}) }}) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			sub := path
			if name != "" && name != "metadata" {
				sub = strings.TrimPrefix(path+"."+name, ".")
			}
			if !walk(v.Field(i), sub, func(o reflect.Value) reflect.Value { return find(o).Field(i) }, yield) {
				return false
			}
		}
		return true
	case reflect.String:
		return yield(leaf{path, find, func(o reflect.Value) { find(o).SetString("other") }})
	case reflect.Bool:
		return yield(leaf{path, find, func(o reflect.Value) { find(o).SetBool(!find(o).Bool()) }})
	case reflect.Int, reflect.Int32, reflect.Int64:
		return yield(leaf{path, find, func(o reflect.Value) { find(o).SetInt(find(o).Int() + 1) }})
	}
	panic("no way to change a " + v.Type().String() + " at " + path)
}

// fill puts something into every field.
func fill(v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[metav1.Time]():
		v.Set(reflect.ValueOf(metav1.Unix(1600000000, 0)))
		return
	case reflect.TypeFor[metav1.MicroTime]():
		v.Set(reflect.ValueOf(metav1.NewMicroTime(time.Unix(1600000000, 0))))
		return
	case reflect.TypeFor[intstr.IntOrString]():
		v.Set(reflect.ValueOf(intstr.FromInt32(80)))
		return
	case reflect.TypeFor[resource.Quantity]():
		v.Set(reflect.ValueOf(resource.MustParse("2Gi")))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for _, k := range keys {
			value := reflect.New(v.Type().Elem()).Elem()
			fill(value)
			v.SetMapIndex(reflect.ValueOf(k).Convert(v.Type().Key()), value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.String:
		v.SetString("value")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8:
		v.SetUint(7)
	default:
		panic("no way to fill a " + v.Type().String())
	}
}
