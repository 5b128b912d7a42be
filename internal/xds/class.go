package xds

import (
	"sync"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/xds/push"
	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// class is the resources of one type for all proxies that are alike in what the generator reads, at one moment. It is
// made of the class of the moment before, as far as that was asked for; see derive. What is asked for later is added.
type class struct {
	generator *generator
	value     model.ProxyClass
	snapshot  *snapshot.Snapshot
	push      *push.Push // where the snapshot comes from, or nil
	workers   *workers

	once       sync.Once
	generation *generation // what it belongs to, and
	last       *class      // what it is made of: both only until that is done

	mu sync.Mutex
	classState
}

// classState is what a class has.
type classState struct {
	listed bool          // all is asked for
	all    *resource.Set // nil if that is not known
	named  *resource.Set // what was asked for by name, and exists
	more   bool          // and not all of that is remembered
	// readers knows which parts of the listing, and which names, read what.
	readers snapshot.Readers
	// rough says that the listing is to be made from scratch: a part of it cannot be made, or two parts give a name.
	rough bool
	// withheld is what cannot be made.
	withheld withheld
}

var _ subscription.Source = (*class)(nil)

// get finds what the class has of a name.
func (s *classState) get(name string) *resource.Resource {
	if s.all != nil {
		if r := s.all.Get(name); r != nil {
			return r
		}
	}
	return s.named.Get(name)
}

// state gives what the class has now.
func (c *class) state() classState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.classState
}

// All gives all resources of the class. A resource that cannot be made stays as it was before, or is left out if it
// was not there. All is nil if nothing can be listed and there was nothing before: that is not an empty list.
func (c *class) All() *resource.Set {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.listed {
		c.workers.enter()
		defer c.workers.leave()
		defer c.push.Generate(c.generator.typ.Short).End()
		m := c.maker(c.snapshot, c.classState)
		m.listAll()
		c.classState = m.done()
	}
	return c.all
}

// Named gives resources by name, in the same order, nil for one that does not exist.
func (c *class) Named(names []string) []*resource.Resource {
	out := make([]*resource.Resource, len(names))
	if !c.state().lookup(names, out) {
		c.makeNamed(names, out)
	}
	return out
}

// lookup fills in what was made before, and reports whether that is all.
func (s classState) lookup(names []string, out []*resource.Resource) (complete bool) {
	complete = true
	for i, name := range names {
		out[i] = s.named.Get(name)
		complete = complete && out[i] != nil
	}
	return complete
}

func (c *class) makeNamed(names []string, out []*resource.Resource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lookup(names, out) {
		return // others have made it meanwhile
	}
	c.workers.enter()
	defer c.workers.leave()
	defer c.push.Generate(c.generator.typ.Short).End()
	m := c.maker(c.snapshot, c.classState)
	for i, name := range names {
		if out[i] == nil {
			out[i] = m.rename(name, snapshot.Reads{})
		}
	}
	// Only what exists is remembered: clients may ask for any number of names that do not.
	c.classState = m.done()
}

// Since tells what by name is another than at an older moment; nil if that is not known.
func (c *class) Since(old subscription.Source) *resource.Diff {
	was, ok := old.(*class)
	if !ok || was.generator != c.generator || was.value != c.value {
		return nil
	}
	now, then := c.state(), was.state()
	if now.more || then.more {
		return nil
	}
	return now.named.Since(then.named)
}

// frames is the set that most of a response is likely to be of, so that its frames are sent together.
func (c *class) frames() *resource.Set {
	have := c.state()
	if have.all != nil {
		return have.all
	}
	return have.named
}
