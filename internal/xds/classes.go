package xds

import (
	"fmt"
	"maps"
	"sync"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/xds/push"
	"github.com/meshd/meshd/internal/xds/resource"
)

// generator is a generator with the pool of its resources.
type generator struct {
	translate.Generator
	store  *resource.Store
	pool   *resource.Pool
	typ    resource.Type
	report func(resource.Failure)
}

func (g *generator) fail(name string, err error) {
	g.report(resource.Failure{Flavor: g.Flavor(), TypeURL: g.typ.URL, Name: name, Err: err})
}

// classKey is what streams that share resources of one type have in common.
type classKey struct {
	generator *generator
	class     model.ProxyClass
}

// maxClasses bounds the classes that a generation remembers, and maxNamed the names that a class does. A mesh has far
// fewer of both, but clients say themselves who they are and what they want.
const (
	maxClasses = 10_000
	maxNamed   = 100_000
)

// generation is one snapshot and the classes that were computed from it, each once, for all streams.
type generation struct {
	snapshot *snapshot.Snapshot
	push     *push.Push // where the snapshot comes from, or nil if that is not known
	workers  *workers
	number   uint64 // counts up
	lasting  *lasting

	mu      sync.Mutex
	before  map[classKey]*class // those of the generation before that are not taken over yet
	classes map[classKey]*class
	deltas  map[*snapshot.Snapshot]*snapshot.Delta // what differs from older snapshots
	// differences are those of listings, found once for all classes that share them.
	differences map[differenceKey]*difference
}

func newGeneration(s *snapshot.Snapshot, before *generation, w *workers) *generation {
	g := &generation{
		snapshot: s, workers: w, lasting: newLasting(), classes: map[classKey]*class{},
		deltas: map[*snapshot.Snapshot]*snapshot.Delta{}, differences: map[differenceKey]*difference{},
	}
	if before != nil {
		g.number, g.lasting = before.number+1, before.lasting
		before.mu.Lock()
		g.before = maps.Clone(before.classes) // streams that are late may still add to those
		before.mu.Unlock()
	}
	return g
}

// since gives what differs from the snapshot of an older class, found once for all classes that come from there.
func (g *generation) since(old *snapshot.Snapshot) *snapshot.Delta {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.deltas[old]
	if d == nil {
		d = g.snapshot.Since(old)
		g.deltas[old] = d
	}
	return d
}

// class finds or makes the class of a proxy. last is the one that the proxy had before, or nil: what cannot be made
// now stays as it was there.
func (g *generation) class(gen *generator, p *model.Proxy, last *class) (*class, error) {
	value, err := project(gen, g.snapshot, p)
	if err != nil {
		return nil, err
	}
	c := g.find(classKey{gen, value}, last)
	// What is made for one stream the others of the class wait for, without the lock.
	c.once.Do(c.derive)
	return c, nil
}

// find finds or adds a class.
func (g *generation) find(k classKey, last *class) *class {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.classes[k]; c != nil {
		return c
	}
	if same := g.before[k]; same != nil {
		last = same
		delete(g.before, k) // what it has and nobody else needs is free when this one is derived
	} else if older := g.lasting.get(k, g.number); older != nil {
		last = older
	}
	c := &class{generator: k.generator, value: k.class, snapshot: g.snapshot, push: g.push, workers: g.workers, generation: g, last: last}
	c.named = resource.NewSet(nil)
	if len(g.classes) >= maxClasses {
		// Streams hold their classes themselves: what is forgotten here is only not shared with those who come later.
		clear(g.classes)
	}
	g.classes[k] = c
	g.lasting.put(k, g.number, c)
	return c
}

// project turns a panic of a generator, or a class that cannot be compared, into an error.
func project(gen *generator, s *snapshot.Snapshot, p *model.Proxy) (value model.ProxyClass, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s for node %s: its generator panicked: %v", gen.typ.Short, p.ID, v)
		}
	}()
	value = gen.Class(s, p)
	_ = map[model.ProxyClass]struct{}{value: {}}
	return value, nil
}

// workers bounds how many goroutines generate at once: more than there are cores only cost memory.
type workers struct{ slots chan struct{} }

func newWorkers(n int) *workers { return &workers{slots: make(chan struct{}, n)} }

func (w *workers) enter() { w.slots <- struct{}{} }
func (w *workers) leave() { <-w.slots }
