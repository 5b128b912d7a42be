package snapshot

import (
	"reflect"
	"slices"
	"testing"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/model"
)

// TestEverythingReadIsNoted calls each method of a snapshot and of a view: one that gives content and does not note it
// would let what was made of that content go stale.
func TestEverythingReadIsNoted(t *testing.T) {
	silent := []string{
		"Version",                 // says nothing of content
		"Mesh",                    // counts as read by all
		"Noting", "Since", "View", // give nothing themselves
	}
	base := &Snapshot{mesh: &Mesh{Config: &meshv1alpha1.MeshConfig{}}, all: &lists{}, public: &lists{}}
	base.inbounds.intern = newInterner()
	for _, of := range []func(*Snapshot) reflect.Value{
		func(s *Snapshot) reflect.Value { return reflect.ValueOf(s) },
		func(s *Snapshot) reflect.Value { return reflect.ValueOf(s.View("")) },
	} {
		called := 0
		for i := range of(base).NumMethod() {
			var reads Reads
			on := of(base.Noting(&reads))
			method := on.Type().Method(i)
			if slices.Contains(silent, method.Name) {
				continue
			}
			var args []reflect.Value
			for j := 1; j < method.Type.NumIn(); j++ {
				arg := reflect.Zero(method.Type.In(j))
				if arg.Type() == reflect.TypeFor[*model.Proxy]() {
					arg = reflect.ValueOf(&model.Proxy{})
				}
				args = append(args, arg)
			}
			on.Method(i).Call(args)
			called++
			if len(reads.keys) == 0 {
				t.Errorf("%s.%s reads and does not note it", on.Type(), method.Name)
			}
		}
		if called < 5 {
			t.Errorf("%d methods were called, which proves little", called)
		}
	}
}

// TestReaders: parts are touched by what they are made of, and by what they read beside it, as long as they do.
func TestReaders(t *testing.T) {
	service, port, named := Part{Kind: PartService, Name: "a"}, Part{Kind: PartPort, Port: 80}, Part{Kind: PartName, Name: "x"}
	read := func(p Part, keys ...key) Reads {
		r := Reads{}
		for _, k := range keys {
			r.note(k)
		}
		return r.Take(p)
	}
	ofPort, ofName := read(port, portKey(80), key{theEndpoints, "a", 80}), read(named, serviceKey("a"), portKey(80), serviceKey("a"))
	r := Readers{}.With([]Reread{{Part: port, Is: ofPort}, {Part: named, Is: ofName}})
	touched := func(r Readers, d *Delta) []Part {
		var out []Part
		for p := range r.Touched(d) {
			out = append(out, p)
		}
		slices.SortFunc(out, func(a, b Part) int { return int(a.Kind) - int(b.Kind) })
		return out
	}
	endpoints := &Delta{keys: set[key]{{theEndpoints, "a", 80}: {}}}
	definition := &Delta{Services: []string{"a"}, Ports: []uint32{80}, keys: set[key]{serviceKey("a"): {}, portKey(80): {}}}
	if got := touched(r, endpoints); !slices.Equal(got, []Part{port}) {
		t.Errorf("endpoints touch %v", got)
	}
	if got := touched(r, definition); !slices.Equal(got, []Part{service, port, named}) {
		t.Errorf("a definition touches %v", got)
	}
	later := r.With([]Reread{{Part: port, Was: ofPort}, {Part: named, Was: ofName}})
	if got := touched(later, endpoints); len(got) != 0 || later.of.len != 0 {
		t.Errorf("what nobody reads any more touches %v, and %d keys stay", got, later.of.len)
	}
	if got := touched(r, endpoints); !slices.Equal(got, []Part{port}) {
		t.Errorf("what was known before is changed: %v", got)
	}
}
