package xds

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/xds/resource"
)

// TestVersionsAreBounded: clients say what they run, and each version that is counted apart stays for ever.
func TestVersionsAreBounded(t *testing.T) {
	m, err := newMetrics(prometheus.NewRegistry(), resource.NewStore(nil).Stats)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i := range 10 * maxVersions {
		seen[m.version(fmt.Sprint("1.", i))] = true
	}
	if len(seen) != maxVersions+1 || !seen["other"] {
		t.Errorf("%d labels, other among them: %t", len(seen), seen["other"])
	}
	for said, want := range map[string]string{"": "unknown", "1.0": "1.0", "new": "other"} {
		if got := m.version(said); got != want {
			t.Errorf("%q is counted as %q, want %q", said, got, want)
		}
	}
}

// TestClassesAreBounded: clients say who they are, and a mesh may go without a change for a long time.
func TestClassesAreBounded(t *testing.T) {
	w := &world{}
	gen := &generator{Generator: fakeGenerator{w, model.FlavorEnvoy, resource.ClusterType}, store: resource.NewStore(nil), typ: resource.TypeOf(resource.ClusterType)}
	g := newGeneration(&snapshot.Snapshot{}, nil, newWorkers(1))
	class := func(workload string) *class {
		c, err := g.class(gen, &model.Proxy{Metadata: model.Metadata{WorkloadName: workload}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for i := range maxClasses {
		class(fmt.Sprint(i))
	}
	if known := g.classes[classKey{gen, "0"}]; known == nil || class("0") != known {
		t.Error("a class that is known is made again")
	}
	class("one more")
	if n := len(g.classes); n > maxClasses {
		t.Errorf("%d classes are remembered", n)
	}
}

// TestLastingIsBounded: classes that nobody has any more are forgotten.
func TestLastingIsBounded(t *testing.T) {
	l := newLasting()
	kept := &class{}
	l.put(classKey{class: "kept"}, 1, kept)
	for i := range 10 * minLasting {
		l.put(classKey{class: i}, 1, &class{})
		if i%minLasting == 0 {
			runtime.GC()
		}
	}
	if n := len(l.classes); n > 4*minLasting {
		t.Errorf("%d classes are remembered", n)
	}
	if l.get(classKey{class: "kept"}, 1) != kept || l.get(classKey{class: "kept"}, 0) != nil {
		t.Error("a class that somebody has is found by its generation and newer ones, and by no other")
	}
	runtime.KeepAlive(kept)
}
