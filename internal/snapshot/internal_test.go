package snapshot

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

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
