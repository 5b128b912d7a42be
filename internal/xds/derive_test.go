package xds

import (
	"testing"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/xds/resource"
)

// TestDeriveOfUnderived: a class may be wanted for a new snapshot before the one of the snapshot before is made by whom
// wants that. It has what both are made of all the same, be it the last good version of what fails now.
func TestDeriveOfUnderived(t *testing.T) {
	w := &world{data: map[*snapshot.Mesh]map[string]map[string]string{}}
	store := resource.NewStore(valid)
	ignore := func(resource.Failure) {}
	gen := &generator{
		Generator: fakeGenerator{w, model.FlavorEnvoy, resource.ClusterType}, store: store, report: ignore,
		pool: store.NewPool(model.FlavorEnvoy, resource.ClusterType, ignore), typ: resource.TypeOf(resource.ClusterType),
	}
	src := newSource(t)
	compile := func(text string) *snapshot.Snapshot {
		s := src.remesh()
		w.data[s.Mesh()] = map[string]map[string]string{resource.ClusterType: {"a": text}}
		return s
	}
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
