package translate_test

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
)

// TestEveryFieldOfAProxy changes one field of a proxy at a time, of all that the type has. What a generator reads of a
// proxy is in its class: the table says which classes change, and a field that is new has to be added to it.
func TestEveryFieldOfAProxy(t *testing.T) {
	want := map[string]string{
		"ID": "", "Pod": "clusters listeners", "Namespace": "clusters listeners", "Locality": "",
		"Type": "clusters endpoints listeners routes", "DNSDomain": "routes", "IPs": "clusters listeners routes",
		// It chooses the generators, which are other ones then.
		"Flavor":                    "",
		"Metadata.ClusterID":        "listeners",
		"Metadata.MeshID":           "listeners",
		"Metadata.IstioVersion":     "clusters listeners",
		"Metadata.Namespace":        "listeners",
		"Metadata.ServiceAccount":   "",
		"Metadata.WorkloadName":     "",
		"Metadata.NodeName":         "",
		"Metadata.InterceptionMode": "clusters listeners",
		"Metadata.Generator":        "",
		"Metadata.Network":          "",
		"Metadata.Labels":           "listeners",
		"Metadata.Raw":              "listeners",
	}
	others := map[string]any{
		"Type": model.Router, "DNSDomain": "ops.svc.cluster.local", "IPs": []string{"fd00::2"}, "Pod": "front-0", "Namespace": "ops",
		"Locality": model.Locality{Region: "other"}, "Metadata.InterceptionMode": "NONE", "Metadata.IstioVersion": "",
		"Metadata.Labels": map[string]string{"app": "cart"}, "Metadata.Raw": map[string]any{},
	}
	s := shop(t).Snapshot(t, nil)
	got := map[string]string{}
	var visit func(prefix string, of reflect.Type, in func(*model.Proxy) reflect.Value)
	visit = func(prefix string, of reflect.Type, in func(*model.Proxy) reflect.Value) {
		for i := range of.NumField() {
			name := prefix + of.Field(i).Name
			field := func(p *model.Proxy) reflect.Value { return in(p).Field(i) }
			switch of.Field(i).Type {
			case reflect.TypeFor[model.Metadata]():
				visit(name+".", of.Field(i).Type, field)
				continue
			case reflect.TypeFor[model.Identity]():
				continue // no generator here reads who a client proved to be, and no test may prove anything
			}
			changedProxy := proxy(t, cart0, nil)
			value := reflect.ValueOf("other")
			if other, ok := others[name]; ok {
				value = reflect.ValueOf(other)
			}
			f := field(changedProxy)
			if !value.CanConvert(f.Type()) {
				t.Errorf("%s: say what another value of it is", name)
				continue
			}
			f.Set(value.Convert(f.Type()))
			got[name] = strings.Join(changed(s, proxy(t, cart0, nil), changedProxy), " ")
		}
	}
	visit("", reflect.TypeFor[model.Proxy](), func(p *model.Proxy) reflect.Value { return reflect.ValueOf(p).Elem() })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("classes that change with each field (-want +got):\n%s", diff)
	}
}

// cache holds recipes to their keys: what was built under a key is what is built under it ever after.
type cache struct {
	t     *testing.T
	built map[cacheKey][]byte
}

type cacheKey struct {
	flavor        model.Flavor
	typeURL, name string
	key           any
}

func (c *cache) check(what string, s *snapshot.Snapshot, proxies []*model.Proxy) {
	c.t.Helper()
	for _, p := range proxies {
		for _, g := range generators(p) {
			for _, r := range g.List(g.Class(s, p)).All(s) {
				m, err := r.Build()
				if err != nil {
					c.t.Fatalf("%s: %s: %v", what, r.Name, err)
				}
				b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
				if err != nil {
					c.t.Fatalf("%s: %s: %v", what, r.Name, err)
				}
				at := cacheKey{g.Flavor(), g.TypeURL(), r.Name, r.Key}
				if before, ok := c.built[at]; ok && !bytes.Equal(before, b) {
					c.t.Errorf("%s: %s of %s (%s) is another resource under the key that it had before", what, r.Name, g.TypeURL(), p.ID)
				}
				c.built[at] = b
			}
		}
	}
}

// TestEveryFieldOfAnObject changes one field at a time of an object of each kind, of all that are read of it, and of the
// mesh config: a cache by key gives what a generator without one does, and the snapshot that was compiled step by step
// what one from scratch does. So no input is forgotten in a key, whoever reads it.
func TestEveryFieldOfAnObject(t *testing.T) {
	proxies := []*model.Proxy{
		proxy(t, cart0, nil),
		proxy(t, "sidecar~10.30.0.5~queue-0.shop~shop.svc.cluster.local", nil),
		proxy(t, edge, nil),
		proxy(t, cart0, func(m map[string]any) { m["GENERATOR"] = "grpc" }),
	}
	w := newWorld(t, proxies...)
	sc := shop(t)
	others, err := sc.Stores.Read(sc.Synced)
	if err != nil {
		t.Fatal(err)
	}
	follow(w.stores, others)
	w.step("the shop")
	c := &cache{t: t, built: map[cacheKey][]byte{}}
	c.check("the shop", w.now, proxies)
	fields := 0
	fields += eachField(t, w, c, w.stores.Services, others.Services, "shop/cart", "shop/queue")
	fields += eachField(t, w, c, w.stores.EndpointSlices, others.EndpointSlices, "shop/cart-1")
	fields += eachField(t, w, c, w.stores.Pods, others.Pods, "shop/cart-0")
	fields += eachField(t, w, c, w.stores.Nodes, others.Nodes, "/rack-a1")
	if fields < 40 {
		t.Errorf("%d fields were changed: the test does not see the objects", fields)
	}

	d := mesh.Default().ProtoReflect().Descriptor().Fields()
	for i := range d.Len() {
		w.mesh = mesh.Default()
		m, field := w.mesh.ProtoReflect(), d.Get(i)
		if field.Name() == "trust_domain" || !otherValue(m, field) {
			continue
		}
		what := "mesh config: " + string(field.Name())
		w.changes.Add(model.Change{Kind: model.KindMeshConfig})
		w.now = w.compile(w.compiler)
		c.check(what, w.now, proxies)
	}
}

// otherValue sets a field to another value, if that is simple.
func otherValue(m protoreflect.Message, field protoreflect.FieldDescriptor) bool {
	if field.IsList() || field.IsMap() {
		if !m.Has(field) {
			return false
		}
		m.Clear(field)
		return true
	}
	switch field.Kind() {
	case protoreflect.BoolKind:
		m.Set(field, protoreflect.ValueOfBool(!m.Get(field).Bool()))
	case protoreflect.StringKind:
		m.Set(field, protoreflect.ValueOfString("other"))
	case protoreflect.EnumKind:
		if field.Enum().Values().Len() < 2 {
			return false
		}
		other := field.Enum().Values().Get(1).Number()
		if m.Get(field).Enum() == other {
			other = field.Enum().Values().Get(0).Number()
		}
		m.Set(field, protoreflect.ValueOfEnum(other))
	case protoreflect.Int32Kind:
		m.Set(field, protoreflect.ValueOfInt32(12345))
	case protoreflect.MessageKind:
		if m.Has(field) {
			m.Clear(field)
			return true
		}
		return false
	default:
		return false
	}
	return true
}

// eachField changes each field of the named objects there and back, and counts them.
func eachField[T metav1.Object](t *testing.T, w *world, c *cache, store *config.Store[T], objects config.Reader[T], names ...string) int {
	t.Helper()
	n := 0
	for _, name := range names {
		namespace, short, _ := strings.Cut(name, "/")
		object, ok := objects.Get(model.NamespacedName{Namespace: namespace, Name: short})
		if !ok {
			t.Fatalf("the shop has no %s %s", store.Kind(), name)
		}
		fresh := func() reflect.Value { return deepCopy(reflect.ValueOf(object).Elem()) }
		for _, path := range leaves(fresh(), nil) {
			other := fresh()
			label := flip(other, path)
			if label == "" || strings.Contains(label, ".Name") && len(path) == 2 {
				continue
			}
			n++
			store.Put(other.Addr().Interface().(T))
			w.now = w.compile(w.compiler)
			what := fmt.Sprintf("%s %s: %s", store.Kind(), name, label)
			c.check(what, w.now, w.proxies)
			if n%10 == 0 {
				w.step(what) // with the comparison, which takes longer
			}
			store.Put(object)
			w.now = w.compile(w.compiler)
		}
	}
	return n
}

// deepCopy copies an object, by the method that objects have for it.
func deepCopy(v reflect.Value) reflect.Value {
	return v.Addr().MethodByName("DeepCopy").Call(nil)[0].Elem()
}

// leaves lists the paths to all values of an object that are set: indexes of fields and elements.
func leaves(v reflect.Value, path []int) [][]int {
	at := slices.Clone(path)
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return leaves(v.Elem(), path)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[metav1.Time]() {
			return [][]int{at}
		}
		var out [][]int
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out = append(out, leaves(v.Field(i), append(slices.Clone(path), i))...)
			}
		}
		return out
	case reflect.Slice:
		out := [][]int{at} // one less
		for i := range v.Len() {
			out = append(out, leaves(v.Index(i), append(slices.Clone(path), i))...)
		}
		return out
	}
	return [][]int{at}
}

// flip gives the value at a path another one, and says which it was; nothing if it stayed.
func flip(v reflect.Value, path []int) string {
	label := ""
	for _, i := range path {
		for v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() == reflect.Slice {
			label += fmt.Sprintf("[%d]", i)
			v = v.Index(i)
			continue
		}
		label += "." + v.Type().Field(i).Name
		v = v.Field(i)
	}
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(map[bool]string{true: "10.9.9.9", false: "other"}[strings.Count(v.String(), ".") == 3])
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(v.Int() + 1)
	case reflect.Slice:
		if v.Len() == 0 {
			return ""
		}
		v.Set(v.Slice(0, v.Len()-1))
	case reflect.Map:
		if v.Len() == 0 {
			return ""
		}
		first := slices.MinFunc(v.MapKeys(), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		v.SetMapIndex(first, reflect.Value{})
	case reflect.Struct:
		v.Set(reflect.ValueOf(metav1.Unix(1, 0)))
	default:
		return ""
	}
	return label
}
