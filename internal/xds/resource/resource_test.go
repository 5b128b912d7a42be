package resource

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/translate"
)

func noFailure(t *testing.T) func(Failure) {
	return func(f Failure) { t.Errorf("%s %s failed: %v", f.TypeURL, f.Name, f.Err) }
}

func recipe(name string, key any, value string) translate.Recipe {
	return translate.Recipe{Name: name, Key: key, Build: func() (proto.Message, error) { return wrapperspb.String(value), nil }}
}

func get(t *testing.T, p *Pool, r translate.Recipe) *Resource {
	t.Helper()
	res, err := p.Get(r)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// picky refuses texts, and wants to be given what is sent.
func picky(m proto.Message, serialised []byte) error {
	var sent wrapperspb.StringValue
	if err := proto.Unmarshal(serialised, &sent); err != nil || !proto.Equal(&sent, m) {
		return fmt.Errorf("serialised is %q, not %s: %v", serialised, m, err)
	}
	switch sent.GetValue() {
	case "bad":
		return errors.New("no client takes it")
	case "panic":
		panic("no client takes it")
	}
	return nil
}

// A frame is a valid piece of both protocols' responses.
func TestFrame(t *testing.T) {
	pool := NewStore(nil).NewPool(model.FlavorEnvoy, ClusterType, noFailure(t))
	want := &clusterv3.Cluster{Name: "outbound|80||a", AltStatName: "x"}
	res := get(t, pool, translate.Recipe{Name: want.Name, Build: func() (proto.Message, error) { return want, nil }})

	var response discoveryv3.DiscoveryResponse
	if err := proto.Unmarshal(res.Frame().Materialize(), &response); err != nil {
		t.Fatal(err)
	}
	var got clusterv3.Cluster
	if err := response.GetResources()[0].UnmarshalTo(&got); err != nil || !proto.Equal(&got, want) {
		t.Errorf("as a response: %v, %v", &got, err)
	}
	var delta discoveryv3.Resource
	if err := proto.Unmarshal(res.Frame().Materialize(), &delta); err != nil || !proto.Equal(delta.GetResource(), response.GetResources()[0]) {
		t.Errorf("as a resource of the delta protocol: %v, %v", &delta, err)
	}
	body, err := proto.Marshal(response.GetResources()[0])
	if err != nil || string(body) != string(res.Any()) {
		t.Errorf("Any gives %q, want %q (%v)", res.Any(), body, err)
	}
}

func TestBuiltOnceForAll(t *testing.T) {
	store := NewStore(nil)
	pool := store.NewPool(model.FlavorEnvoy, ClusterType, noFailure(t))
	var built atomic.Int32
	r := translate.Recipe{Name: "a", Key: 1, Build: func() (proto.Message, error) {
		built.Add(1)
		runtime.Gosched()
		return wrapperspb.String("x"), nil
	}}
	const callers = 50
	got := make([]*Resource, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() { got[i], _ = pool.Get(r) })
	}
	all.Wait()
	for i := range got {
		if got[i] == nil || got[i] != got[0] {
			t.Fatalf("caller %d has %p, caller 0 %p", i, got[i], got[0])
		}
	}
	if s := store.Stats(); built.Load() != 1 || s.Generated != 1 || s.Reused != callers-1 {
		t.Errorf("built %d times; %+v", built.Load(), s)
	}
}

func TestInternedByContent(t *testing.T) {
	store := NewStore(nil)
	pool := store.NewPool(model.FlavorEnvoy, ClusterType, noFailure(t))
	other := store.NewPool(model.FlavorGRPC, ClusterType, noFailure(t))
	a := get(t, pool, recipe("a", 1, "x"))
	if b := get(t, pool, recipe("a", 2, "x")); a != b {
		t.Error("equal bytes from another key are another resource")
	}
	if b := get(t, other, recipe("a", 1, "x")); a != b {
		t.Error("equal bytes from another generator are another resource")
	}
	if s := store.Stats(); s.Interned != 2 {
		t.Errorf("%+v: want 2 interned", s)
	}
	for what, b := range map[string]*Resource{
		"content": get(t, pool, recipe("a", 3, "y")),
		"name":    get(t, pool, recipe("b", 1, "x")),
		"type":    get(t, store.NewPool(model.FlavorEnvoy, RouteType, noFailure(t)), recipe("a", 1, "x")),
	} {
		if a == b || a.Version() == b.Version() || a.Hash() == b.Hash() {
			t.Errorf("another %s has the same version %s", what, a.Version())
		}
	}
	replica := NewStore(nil).NewPool(model.FlavorEnvoy, ClusterType, noFailure(t))
	if b := get(t, replica, recipe("a", 9, "x")); b.Version() != a.Version() {
		t.Errorf("replicas give equal content the versions %s and %s", a.Version(), b.Version())
	}
}

func TestFailuresAreNamedAndNotRepeated(t *testing.T) {
	for what, r := range map[string]translate.Recipe{
		"an error":          {Name: "shop", Build: func() (proto.Message, error) { return nil, errors.New("no port") }},
		"a panic":           {Name: "shop", Build: func() (proto.Message, error) { panic("no port") }},
		"nothing":           {Name: "shop", Build: func() (proto.Message, error) { return nil, nil }},
		"not serialisable":  {Name: "shop", Build: func() (proto.Message, error) { return wrapperspb.String("\xff"), nil }},
		"not valid":         recipe("shop", 0, "bad"),
		"a panicking check": recipe("shop", 0, "panic"),
	} {
		t.Run(what, func(t *testing.T) {
			store := NewStore(picky)
			var reported []Failure
			pool := store.NewPool(model.FlavorEnvoy, ClusterType, func(f Failure) { reported = append(reported, f) })
			for range 3 {
				if res, err := pool.Get(r); res != nil || err == nil || !strings.Contains(err.Error(), `"shop"`) {
					t.Fatalf("%v, %v: want an error that names the resource", res, err)
				}
			}
			if len(reported) != 1 || reported[0].Name != "shop" || reported[0].TypeURL != ClusterType || store.Stats().Failed != 1 {
				t.Errorf("reported %+v, want it once", reported)
			}
			get(t, pool, recipe("shop", "another key", "x"))
			if what == "not valid" && !strings.Contains(reported[0].Err.Error(), "not valid: no client takes it") {
				t.Errorf("%v: want an error that says why", reported[0].Err)
			}
		})
	}
	t.Run("a key that cannot be compared", func(t *testing.T) {
		var reported []Failure
		pool := NewStore(nil).NewPool(model.FlavorEnvoy, ClusterType, func(f Failure) { reported = append(reported, f) })
		if _, err := pool.Get(recipe("shop", []int{1}, "x")); err == nil || !strings.Contains(err.Error(), "[]int") {
			t.Errorf("%v: want an error that names the type of the key", err)
		}
		if len(reported) != 1 {
			t.Errorf("reported %+v", reported)
		}
		get(t, pool, recipe("shop", 1, "x"))
	})
}

// What nobody refers to is freed, with the recipe and what its key refers to.
func TestFreed(t *testing.T) {
	store := NewStore(nil)
	pool := store.NewPool(model.FlavorEnvoy, ClusterType, noFailure(t))
	kept := get(t, pool, recipe("kept", 0, "x"))
	for round := range 20 {
		for i := range 200 {
			get(t, pool, recipe("passing", fmt.Sprint(round, "-", i), fmt.Sprint(round, "-", i)))
		}
		runtime.GC()
	}
	if n := pool.Len(); n > 3*minSweep {
		t.Errorf("%d recipes are remembered after 4000, one of which is in use", n)
	}
	store.mu.Lock()
	contents := len(store.content)
	store.mu.Unlock()
	if contents > 3*minSweep {
		t.Errorf("%d contents are remembered", contents)
	}
	before := store.Stats().Generated
	if again := get(t, pool, recipe("kept", 0, "x")); again != kept || store.Stats().Generated != before {
		t.Error("a resource in use was made again")
	}
}

func TestSet(t *testing.T) {
	pool := NewStore(nil).NewPool(model.FlavorEnvoy, ClusterType, noFailure(t))
	a, b, c, b2 := get(t, pool, recipe("a", 0, "1")), get(t, pool, recipe("b", 0, "1")), get(t, pool, recipe("c", 0, "1")), get(t, pool, recipe("b", 1, "2"))
	old := NewSet([]*Resource{a, b, b2})
	if old.Len() != 2 || old.Get("b") != b || old.Get("c") != nil {
		t.Errorf("of two resources of a name, the first stays: %v", old.List())
	}
	if NewSet([]*Resource{b, a}).Version() != old.Version() {
		t.Error("the version depends on the order")
	}
	next := NewSet([]*Resource{b2, c})
	if next.Version() == old.Version() {
		t.Error("equal versions for different sets")
	}
	d := next.Since(old)
	if fmt.Sprint(d.Added, d.Changed, d.Removed) != "[c] [b] [a]" {
		t.Errorf("diff %+v", d)
	}
	if next.Since(old) != d {
		t.Error("the difference is computed for each stream")
	}
	union := next.With(old)
	if union.Len() != 3 || union.Get("b") != b2 || union.Get("a") != a || next.With(old) != union {
		t.Errorf("union %v", union.List())
	}
	runtime.KeepAlive(union)
	if d := next.Since(union); fmt.Sprint(d.Added, d.Changed, d.Removed) != "[] [] [a]" {
		t.Errorf("from the union: %+v", d)
	}
}

func TestTypeOrder(t *testing.T) {
	order := []string{ClusterType, EndpointType, ListenerType, RouteType, SecretType, ExtensionType, NameTableType, ProxyConfigType, "type.googleapis.com/a", "type.googleapis.com/b"}
	for i := 1; i < len(order); i++ {
		if TypeOf(order[i-1]).Compare(TypeOf(order[i])) >= 0 {
			t.Errorf("%s does not come before %s", order[i-1], order[i])
		}
	}
}

// What a client says it has is compared like resources, never sent, and leaves nothing behind in a set that all share.
func TestClaims(t *testing.T) {
	pool := NewStore(nil).NewPool(model.FlavorEnvoy, ClusterType, func(f Failure) { t.Error(f.Err) })
	var list []*Resource
	for _, name := range []string{"same", "old", "strange", "new"} {
		r, err := pool.Get(translate.Recipe{Name: name, Build: func() (proto.Message, error) { return &clusterv3.Cluster{Name: name}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	set := NewSet(list)
	same := list[0].Version()
	had := NewSet([]*Resource{Claim("same", same), Claim("old", FormatVersion(7)), Claim("strange", "2026-11-30/1"), Claim("gone", same)})
	d := set.Since(had)
	if got := fmt.Sprint(d.Added, d.Changed, d.Removed); got != "[new] [old strange] [gone]" {
		t.Errorf("added, changed, removed: %s", got)
	}
	if len(set.diffs) != 0 {
		t.Error("the set remembers what one client had")
	}
	if u := set.With(had); !u.Get("gone").Claimed() || u.Get("new").Claimed() || NewSet(u.List()).Version() == set.Version() {
		t.Error("with what is gone it is the same, or what is gone counts as real")
	}
}
