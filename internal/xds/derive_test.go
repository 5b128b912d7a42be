package xds

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/xds/resource"
)

// deriving gives a generator of clusters, and snapshots in which there is one, "a", of a text.
func deriving(t *testing.T) (gen *generator, compile func(text string) *snapshot.Snapshot) {
	w := &world{data: map[*snapshot.Mesh]map[string]map[string]string{}}
	store := resource.NewStore(valid)
	ignore := func(resource.Failure) {}
	gen = &generator{
		Generator: fakeGenerator{w, model.FlavorEnvoy, resource.ClusterType}, store: store, report: ignore,
		pool: store.NewPool(model.FlavorEnvoy, resource.ClusterType, ignore), typ: resource.TypeOf(resource.ClusterType),
	}
	src := newSource(t)
	compile = func(text string) *snapshot.Snapshot {
		s := src.remesh()
		w.data[s.Mesh()] = map[string]map[string]string{resource.ClusterType: {"a": text}}
		return s
	}
	return gen, compile
}

// TestDeriveOfUnderived: a class may be wanted for a new snapshot before the one of the snapshot before is made by whom
// wants that. It has what both are made of all the same, be it the last good version of what fails now.
func TestDeriveOfUnderived(t *testing.T) {
	gen, compile := deriving(t)
	p := &model.Proxy{}
	first := newGeneration(compile("1"), nil, newWorkers(2))
	good, err := first.class(gen, p, nil)
	if err != nil || good.All().Get("a") == nil {
		t.Fatalf("no cluster to begin with: %v", err)
	}
	second := newGeneration(compile("!broken"), first, first.workers)
	second.find(classKey{gen, ""}, nil) // whoever found it did not get to make it
	third := newGeneration(compile("!broken still"), second, first.workers)
	c, err := third.class(gen, p, nil)
	if err != nil || c.All().Get("a") != good.All().Get("a") {
		t.Errorf("the last good version is lost: %v (%v)", c.All().List(), err)
	}
}

// TestLastGoodOfAMissedGeneration: what cannot be made stays as it was in the newest class that a stream still has, though
// nobody asked in the generation before, and though it is a new stream, which had none, that asks first now.
func TestLastGoodOfAMissedGeneration(t *testing.T) {
	p := &model.Proxy{}
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("late=%t", late), func(t *testing.T) {
			gen, compile := deriving(t)
			first := newGeneration(compile("1"), nil, newWorkers(2))
			var second *generation
			if late { // the stream that has it looked when there was a newer one already
				second = newGeneration(compile("2"), first, first.workers)
			}
			had, err := first.class(gen, p, nil)
			if err != nil {
				t.Fatal(err)
			}
			good := had.All().Get("a")
			if !late {
				second = newGeneration(compile("2"), first, first.workers)
			}
			third := newGeneration(compile("!broken"), second, first.workers)
			c, err := third.class(gen, p, nil)
			if err != nil || c.All() == nil || c.All().Get("a") != good {
				t.Errorf("the last good version is lost (%v)", err)
			}
			again, err := third.class(gen, p, had)
			if err != nil || again != c {
				t.Errorf("the stream that had it has another class (%v)", err)
			}
			runtime.KeepAlive(had)
		})
	}
}

// TestLastGoodOfAForgottenClass: a generation that had too many classes forgot them, and a new stream asks for one again.
// What cannot be made is in it as in the one that was forgotten.
func TestLastGoodOfAForgottenClass(t *testing.T) {
	p := &model.Proxy{}
	gen, compile := deriving(t)
	first := newGeneration(compile("1"), nil, newWorkers(2))
	good, err := first.class(gen, p, nil)
	if err != nil || good.All().Get("a") == nil {
		t.Fatalf("no cluster to begin with: %v", err)
	}
	second := newGeneration(compile("!broken"), first, first.workers)
	had, err := second.class(gen, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	clear(second.classes)
	again, err := second.class(gen, p, nil)
	if err != nil || again == had || again.All() == nil || again.All().Get("a") != good.All().Get("a") {
		t.Errorf("the last good version is lost (%v)", err)
	}
	runtime.KeepAlive(had)
}
