package xds

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/xds/resource"
)

// derive makes a class of the one before: the parts that a change touches are made anew, all others stay as they are.
// What cannot be made stays as it was too.
func (c *class) derive() {
	g, last := c.generation, c.last
	c.generation, c.last = nil, nil
	if last == nil {
		return
	}
	// It was found among the generation before and may be in the making there, by a stream that is late.
	last.once.Do(last.derive)
	was, delta := last.state(), g.since(last.snapshot)
	c.workers.enter()
	defer c.workers.leave()
	if last.value == c.value && !delta.Mesh && !was.rough {
		if now, ok := c.incremental(g, last.snapshot, was); ok {
			c.set(now)
			return
		}
	}
	c.set(c.scratch(was))
}

func (c *class) set(s classState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.withheld = s.withheld.aged()
	c.classState = s
}

// scratch makes everything that was asked for of a class.
func (c *class) scratch(was classState) classState {
	defer c.push.Generate(c.generator.typ.Short).End()
	m := c.maker(c.snapshot, was)
	m.state.readers, m.state.withheld = snapshot.Readers{}, was.withheld.missing()
	if was.listed {
		m.listAll()
	}
	for _, r := range was.named.List() {
		m.rename(r.Name(), snapshot.Reads{})
	}
	return m.done()
}

// incremental makes the parts of a class that are touched. It is false if that is not enough.
func (c *class) incremental(g *generation, old *snapshot.Snapshot, was classState) (classState, bool) {
	touched := was.readers.Touched(g.since(old))
	if len(touched) == 0 {
		return was, true
	}
	defer c.push.Generate(c.generator.typ.Short).End()
	before, m := c.maker(old, was), c.maker(c.snapshot, was)
	var added []string
	gone := map[string]struct{}{}
	for part := range touched {
		if part.Kind == snapshot.PartName {
			_, _, reads, _ := before.find(part.Name)
			m.rename(part.Name, reads)
			continue
		}
		if !was.listed || !m.listing.Has(part.Kind) {
			continue
		}
		d := g.difference(part, before, m)
		if d.err != nil {
			return was, false
		}
		m.rereads = append(m.rereads, snapshot.Reread{Part: part, Was: d.was, Is: d.is})
		for _, name := range d.gone {
			gone[name] = struct{}{}
		}
		for _, r := range d.changed {
			if _, twice := m.all[r.Name]; twice {
				return was, false
			}
			if made := m.finish(part, r); made != nil {
				m.all[r.Name] = made
			}
		}
		added = append(added, d.added...)
	}
	for _, name := range added {
		if _, moved := gone[name]; !moved && was.all.Get(name) != nil {
			return was, false // another part gives the name too
		}
	}
	for name := range gone {
		if _, still := m.all[name]; !still {
			m.all[name] = nil
		}
	}
	return m.done(), true
}

// difference is what is another in one part of a listing than it was, before recipes are finished.
type difference struct {
	once    sync.Once
	changed []translate.Recipe // those that came among them
	added   []string
	gone    []string
	was, is snapshot.Reads
	err     error // it cannot be listed
}

// differenceKey tells differences apart: classes that share parts have them in common.
type differenceKey struct {
	generator *generator
	shared    any
	part      snapshot.Part
	old       *snapshot.Snapshot
}

// difference compares a part of a listing with what it was, once for all classes that share it. What it was is found by
// listing it again: it reads the old snapshot, and nothing else.
func (g *generation) difference(part snapshot.Part, before, now *maker) *difference {
	k := differenceKey{now.c.generator, now.listing.Shared, part, before.plain}
	if k.shared == nil || part.Kind == snapshot.PartRest {
		k.shared = now.c // of this class alone
	}
	g.mu.Lock()
	d := g.differences[k]
	if d == nil {
		d = &difference{}
		g.differences[k] = d
	}
	g.mu.Unlock()
	d.once.Do(func() { d.fill(part, before, now) })
	return d
}

func (d *difference) fill(part snapshot.Part, before, now *maker) {
	old, was, err := before.list(part)
	if err != nil {
		d.err = err
		return
	}
	recipes, is, err := now.list(part)
	if err != nil {
		d.err = err
		return
	}
	d.was, d.is = was, is
	d.err = recovered(now.c.generator, "compare", part.Name, func() { // keys that cannot be compared
		keys := make(map[string]any, len(old))
		for _, r := range old {
			if _, twice := keys[r.Name]; !twice {
				keys[r.Name] = r.Key
			}
		}
		seen := make(map[string]struct{}, len(recipes))
		for _, r := range recipes {
			if _, twice := seen[r.Name]; twice {
				continue
			}
			seen[r.Name] = struct{}{}
			key, had := keys[r.Name]
			if !had {
				d.added = append(d.added, r.Name)
			}
			if !had || key != r.Key {
				d.changed = append(d.changed, r)
			}
		}
		for name := range keys {
			if _, still := seen[name]; !still {
				d.gone = append(d.gone, name)
			}
		}
	})
}

// maker makes parts of a class.
type maker struct {
	c       *class
	plain   *snapshot.Snapshot
	noting  *snapshot.Snapshot // the same, and notes what is read
	reads   snapshot.Reads
	listing translate.Listing
	broken  error // why there is no listing

	state      classState // what the class had
	all, named map[string]*resource.Resource
	rereads    []snapshot.Reread

	now    time.Time
	held   withheld // what was withheld before
	failed withheld // and what cannot be made now
}

func (c *class) maker(s *snapshot.Snapshot, was classState) *maker {
	m := &maker{c: c, plain: s, state: was, all: map[string]*resource.Resource{}, named: map[string]*resource.Resource{},
		now: time.Now(), held: was.withheld, failed: withheld{}}
	m.noting = s.Noting(&m.reads)
	m.broken = recovered(c.generator, "list", "", func() { m.listing = c.generator.List(c.value) })
	return m
}

// view is what the class sees.
func (m *maker) view() snapshot.View { return m.plain.View(m.listing.Scope) }

// list enumerates a part, and says what of the snapshot it read.
func (m *maker) list(part snapshot.Part) (recipes []translate.Recipe, reads snapshot.Reads, err error) {
	if m.broken != nil {
		return nil, reads, m.broken
	}
	what := part.Name
	if part.Kind == snapshot.PartPort {
		what = strconv.FormatUint(uint64(part.Port), 10)
	}
	err = recovered(m.c.generator, "list", what, func() {
		switch part.Kind {
		case snapshot.PartService:
			if service := m.view().Service(part.Name); m.listing.Service != nil && service != nil {
				recipes = m.listing.Service(m.noting, service)
			}
		case snapshot.PartPort:
			if port := m.view().Port(part.Port); m.listing.Port != nil && port != nil {
				recipes = m.listing.Port(m.noting, port)
			}
		case snapshot.PartRest:
			if m.listing.Rest != nil {
				recipes = m.listing.Rest(m.noting)
			}
		}
	})
	return recipes, m.reads.Take(part), err
}

// relist makes the resources of a part.
func (m *maker) relist(part snapshot.Part) error {
	recipes, reads, err := m.list(part)
	if err != nil {
		return err
	}
	m.rereads = append(m.rereads, snapshot.Reread{Part: part, Is: reads})
	for i, r := range recipes {
		if _, twice := m.all[r.Name]; twice {
			ofAnother := !slices.ContainsFunc(recipes[:i], func(o translate.Recipe) bool { return o.Name == r.Name })
			m.state.rough = m.state.rough || ofAnother
			continue
		}
		if made := m.finish(part, r); made != nil {
			m.all[r.Name] = made
		}
	}
	return nil
}

// finish makes the resource of a recipe that a part gave, as make does.
func (m *maker) finish(part snapshot.Part, r translate.Recipe) *resource.Resource {
	if m.listing.Finish == nil || part.Kind == snapshot.PartRest {
		return m.make(r)
	}
	name := r.Name
	if err := recovered(m.c.generator, "list", name, func() { r = m.listing.Finish(m.plain.Mesh(), r) }); err != nil {
		m.c.generator.fail(name, err)
		m.hold(name, err)
		return m.state.get(name)
	}
	return m.make(r)
}

// listAll makes the resources of all parts. Of one that cannot be listed they stay as they were, and as long as that is
// so nothing is taken for gone.
func (m *maker) listAll() {
	var parts []snapshot.Part
	for _, s := range m.view().Services() {
		parts = append(parts, snapshot.Part{Kind: snapshot.PartService, Name: s.Hostname})
	}
	for _, p := range m.view().Ports() {
		parts = append(parts, snapshot.Part{Kind: snapshot.PartPort, Port: p.Number})
	}
	parts = append(parts, snapshot.Part{Kind: snapshot.PartRest})

	m.state.listed, m.state.rough = true, false
	var failed error
	for _, part := range parts {
		if err := m.relist(part); err != nil {
			m.c.generator.fail(part.Name, err)
			m.hold(part.Name, err)
			failed = err
		}
		if m.broken != nil {
			break
		}
	}
	m.state.rough = m.state.rough || failed != nil
	if m.state.all == nil {
		if failed != nil && len(m.all) == 0 {
			return
		}
		m.state.all = resource.NewSet(nil)
	}
	if failed == nil {
		for _, r := range m.state.all.List() {
			if _, still := m.all[r.Name()]; !still {
				m.all[r.Name()] = nil
			}
		}
	}
}

// find asks for the recipe of a name, and says what of the snapshot that read.
func (m *maker) find(name string) (recipe translate.Recipe, ok bool, reads snapshot.Reads, err error) {
	err = recovered(m.c.generator, "find", name, func() {
		recipe, ok = m.c.generator.Named(m.noting, m.c.value, name)
	})
	return recipe, ok, m.reads.Take(snapshot.Part{Kind: snapshot.PartName, Name: name}), err
}

// rename makes the resource of a name, which read something else before; nil if there is none.
func (m *maker) rename(name string, before snapshot.Reads) *resource.Resource {
	recipe, ok, reads, err := m.find(name)
	var made *resource.Resource
	switch {
	case err != nil:
		m.c.generator.fail(name, err)
		m.hold(name, err)
		made = m.state.get(name)
	case ok:
		made = m.make(recipe)
	}
	if made == nil {
		reads = snapshot.Reads{} // who wants it asks again
		if h, failed := m.failed[name]; failed {
			h.missing = true
			m.failed[name] = h
		}
	} else if m.state.named.Len()+len(m.named) >= maxNamed && m.state.named.Get(name) == nil {
		m.state.more = true
		return made
	}
	m.named[name] = made
	m.rereads = append(m.rereads, snapshot.Reread{Part: snapshot.Part{Kind: snapshot.PartName, Name: name}, Was: before, Is: reads})
	return made
}

// make gives the resource of a recipe, or the one of that name that the class had before. The pool reports failures.
func (m *maker) make(r translate.Recipe) *resource.Resource {
	made, err := m.c.generator.pool.Get(r)
	if err != nil {
		m.hold(r.Name, err)
		return m.state.get(r.Name)
	}
	return made
}

// done gives what the class has now.
func (m *maker) done() classState {
	store := m.c.generator.store
	if m.state.all != nil {
		m.state.all = store.Patch(m.state.all, m.all)
	}
	m.state.named = store.Patch(m.state.named, m.named)
	m.state.readers = m.state.readers.With(m.rereads)
	m.state.withheld = m.holding()
	return m.state
}

// recovered turns a panic of a generator into an error.
func recovered(g *generator, verb, name string, do func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s %s %q: the generator panicked: %v", verb, g.typ.Short, name, v)
		}
	}()
	do()
	return nil
}
