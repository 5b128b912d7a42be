package xds

import (
	"fmt"
	"slices"
	"sync"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/xds/push"
	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// generator is a generator with the pool of its resources.
type generator struct {
	translate.Generator
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

	mu      sync.Mutex
	classes map[classKey]*class
	before  map[classKey]*class // those of the generation before
}

func newGeneration(s *snapshot.Snapshot, before *generation, w *workers) *generation {
	g := &generation{snapshot: s, workers: w, classes: map[classKey]*class{}}
	if before != nil {
		before.mu.Lock()
		g.before = before.classes
		before.mu.Unlock()
	}
	return g
}

// class finds or makes the class of a proxy. last is the one that the proxy had before, or nil: what cannot be made
// now stays as it was there.
func (g *generation) class(gen *generator, p *model.Proxy, last *class) (*class, error) {
	value, err := project(gen, g.snapshot, p)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	k := classKey{gen, value}
	if c := g.classes[k]; c != nil {
		return c, nil
	}
	if same := g.before[k]; same != nil {
		last = same
	}
	c := &class{generator: gen, value: value, snapshot: g.snapshot, workers: g.workers, known: newKnown()}
	if last != nil {
		c.last = last.known
	}
	if len(g.classes) >= maxClasses {
		// Streams hold their classes themselves: what is forgotten here is only not shared with those who come later.
		clear(g.classes)
	}
	g.classes[k] = c
	return c, nil
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

// class is the resources of one type for all proxies that are alike in what the generator reads. It is computed as
// far as it is asked for.
type class struct {
	generator *generator
	value     model.ProxyClass
	snapshot  *snapshot.Snapshot
	workers   *workers
	known     *known // what was made
	last      *known // what the class before had, for what cannot be made now

	once sync.Once
}

var _ subscription.Source = (*class)(nil)

// known is the resources that a class has. It refers to no class, so that a chain of generations is not kept alive.
type known struct {
	mu     sync.Mutex
	set    *resource.Set // nil while nobody asked for all
	byName map[string]*resource.Resource
}

func newKnown() *known { return &known{byName: map[string]*resource.Resource{}} }

func (k *known) get(name string) *resource.Resource {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if r := k.byName[name]; r != nil || k.set == nil {
		return r
	}
	return k.set.Get(name)
}

func (k *known) all() *resource.Set {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.set
}

// All gives all resources of the class. A resource that cannot be made stays as it was before, or is left out if it
// was not there. All is nil if not even the list can be made and there was none before: that is not an empty list.
func (c *class) All() *resource.Set {
	c.once.Do(func() {
		set := c.makeAll()
		c.known.mu.Lock()
		defer c.known.mu.Unlock()
		c.known.set = set
	})
	return c.known.all()
}

func (c *class) makeAll() *resource.Set {
	c.workers.enter()
	defer c.workers.leave()
	recipes, err := c.recipes()
	if err != nil {
		c.generator.fail("", err)
		return c.last.all()
	}
	list := make([]*resource.Resource, 0, len(recipes))
	for _, r := range recipes {
		if made := c.make(r); made != nil {
			list = append(list, made)
		}
	}
	if last := c.last.all(); last != nil && slices.Equal(last.List(), list) {
		return last // so that streams see at a glance that nothing changed
	}
	return resource.NewSet(list)
}

func (c *class) recipes() (recipes []translate.Recipe, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("list %s: the generator panicked: %v", c.generator.typ.Short, v)
		}
	}()
	return c.generator.All(c.snapshot, c.value), nil
}

// Named gives resources by name, in the same order, nil for one that does not exist.
func (c *class) Named(names []string) []*resource.Resource {
	out := make([]*resource.Resource, len(names))
	if !c.lookup(names, out) {
		c.makeNamed(names, out)
	}
	return out
}

// lookup fills in what was made before, and reports whether that is all.
func (c *class) lookup(names []string, out []*resource.Resource) (complete bool) {
	c.known.mu.Lock()
	defer c.known.mu.Unlock()
	complete = true
	for i, name := range names {
		out[i] = c.known.byName[name]
		complete = complete && out[i] != nil
	}
	return complete
}

func (c *class) makeNamed(names []string, out []*resource.Resource) {
	c.workers.enter()
	defer c.workers.leave()
	var made []int
	for i, name := range names {
		if out[i] != nil {
			continue
		}
		recipe, ok, err := c.recipe(name)
		switch {
		case err != nil:
			c.generator.fail(name, err)
			out[i] = c.last.get(name)
		case ok:
			out[i] = c.make(recipe)
		}
		if out[i] != nil {
			made = append(made, i)
		}
	}
	// Only what exists is remembered: clients may ask for any number of names that do not.
	c.known.mu.Lock()
	defer c.known.mu.Unlock()
	for _, i := range made {
		if len(c.known.byName) < maxNamed {
			c.known.byName[names[i]] = out[i]
		}
	}
}

func (c *class) recipe(name string) (r translate.Recipe, ok bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("find %s %q: the generator panicked: %v", c.generator.typ.Short, name, v)
		}
	}()
	r, ok = c.generator.Named(c.snapshot, c.value, name)
	return r, ok, nil
}

// make gives the resource of a recipe, or the one of that name that the class had before. The pool reports failures.
func (c *class) make(r translate.Recipe) *resource.Resource {
	made, err := c.generator.pool.Get(r)
	if err != nil {
		return c.last.get(r.Name)
	}
	return made
}

// workers bounds how many goroutines generate at once: more than there are cores only cost memory.
type workers struct{ slots chan struct{} }

func newWorkers(n int) *workers { return &workers{slots: make(chan struct{}, n)} }

func (w *workers) enter() { w.slots <- struct{}{} }
func (w *workers) leave() { <-w.slots }
