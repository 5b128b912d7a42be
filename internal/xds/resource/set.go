package resource

import (
	"slices"
	"strings"
	"sync"
	"weak"
)

// Set is a list of resources with unique names, sorted by name, for example all clusters of a class. It is immutable,
// safe for concurrent use, and shared by every stream of the class. A set that is made from another one shares with it
// the chunks in which nothing changed.
type Set struct {
	chunks  []*chunk
	len     int
	version string
	claimed bool // some of it is only claimed

	list func() []*Resource

	mu    sync.Mutex
	diffs map[weak.Pointer[Set]]*Diff
}

// Diff says what leads from one set to another, by name and sorted.
type Diff struct {
	Added, Changed, Removed []string
	union                   weak.Pointer[Set]
}

// NewSet makes a set. Of several resources of one name the first stays.
func NewSet(list []*Resource) *Set { return newSet(list, unshared) }

// NewSet makes a set as the function does, that shares its chunks with equal ones of other sets of the store.
func (s *Store) NewSet(list []*Resource) *Set { return newSet(list, s.chunks.intern) }

// Patch makes a set of another one, with other resources by some names; nil removes the name. It costs a word for each
// chunk, and the chunks that the names are in. If nothing differs it is the set itself.
func (s *Store) Patch(old *Set, changes map[string]*Resource) *Set {
	return patch(old, changes, s.chunks.intern)
}

func newSet(list []*Resource, intern func([]*Resource) *chunk) *Set {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *Resource) int { return strings.Compare(a.name, b.name) })
	b := chunker{intern: intern}
	for i, r := range list {
		if i == 0 || list[i-1].name != r.name {
			b.add(r)
		}
	}
	return b.set()
}

func patch(old *Set, changes map[string]*Resource, intern func([]*Resource) *chunk) *Set {
	names := make([]string, 0, len(changes))
	for name, r := range changes {
		if old.Get(name) != r {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return old
	}
	slices.Sort(names)
	b := chunker{intern: intern, chunks: make([]*chunk, 0, len(old.chunks)+1)}
	for i, c := range old.chunks {
		// What comes before the first chunk belongs to it, as what comes before the next belongs to this one.
		n := len(names)
		if i+1 < len(old.chunks) {
			n, _ = slices.BinarySearch(names, old.chunks[i+1].list[0].name)
		}
		if n == 0 {
			b.keep(c)
			continue
		}
		b.merge(c.list, names[:n], changes)
		names = names[n:]
	}
	b.merge(nil, names, changes)
	return b.set()
}

// List gives the resources in order. It must not be changed.
func (s *Set) List() []*Resource { return s.list() }

// Get finds a resource by name, or gives nil.
func (s *Set) Get(name string) *Resource {
	i, found := slices.BinarySearchFunc(s.chunks, name, func(c *chunk, name string) int { return strings.Compare(c.list[0].name, name) })
	if found {
		return s.chunks[i].list[0]
	}
	if i == 0 {
		return nil
	}
	list := s.chunks[i-1].list
	if j, found := slices.BinarySearchFunc(list, name, func(r *Resource, name string) int { return strings.Compare(r.name, name) }); found {
		return list[j]
	}
	return nil
}

// Len counts the resources.
func (s *Set) Len() int { return s.len }

// Version is a hash over the contents.
func (s *Set) Version() string { return s.version }

// maxDiffs bounds what a set remembers of its predecessors. Streams of one class nearly always come from the same one.
const maxDiffs = 8

// Since gives what leads from an older set to this one. It is computed once for all streams that take that way.
func (s *Set) Since(old *Set) *Diff {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since(old)
}

// With gives this set and beside it what only the older one has, for a client that still refers to that. It is made
// once for all streams that take that way.
func (s *Set) With(old *Set) *Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.since(old)
	if u := d.union.Value(); u != nil {
		return u
	}
	stay := make(map[string]*Resource, len(d.Removed))
	for _, name := range d.Removed {
		stay[name] = old.Get(name)
	}
	u := patch(s, stay, unshared)
	d.union = weak.Make(u)
	return u
}

// since is Since under the mutex.
func (s *Set) since(old *Set) *Diff {
	if s == old {
		return &Diff{}
	}
	// Weak, because a set must not keep alive what it replaced.
	key := weak.Make(old)
	if d := s.diffs[key]; d != nil {
		return d
	}
	d := &Diff{}
	d.fill(s, old)
	if old.claimed {
		return d // nobody else comes from there
	}
	if len(s.diffs) >= maxDiffs {
		clear(s.diffs)
	}
	if s.diffs == nil {
		s.diffs = map[weak.Pointer[Set]]*Diff{}
	}
	s.diffs[key] = d
	return d
}

// fill compares two sets, and passes over the chunks that both have.
func (d *Diff) fill(s, old *Set) {
	now, was := cursor{chunks: s.chunks}, cursor{chunks: old.chunks}
	for {
		if a, b := now.chunk(), was.chunk(); a != nil && a == b {
			now.skip()
			was.skip()
			continue
		}
		a, b := now.resource(), was.resource()
		order := 0
		switch {
		case a == nil && b == nil:
			return
		case b == nil:
			order = -1
		case a == nil:
			order = 1
		default:
			order = strings.Compare(a.name, b.name)
		}
		switch {
		case order < 0:
			d.Added = append(d.Added, a.name)
		case order > 0:
			d.Removed = append(d.Removed, b.name)
		case a.hash != b.hash:
			d.Changed = append(d.Changed, a.name)
		}
		if order <= 0 {
			now.next()
		}
		if order >= 0 {
			was.next()
		}
	}
}

// Sum hashes a set of resources, whatever their order. The zero value is the sum of none.
type Sum struct{ sum uint64 }

// Add takes a resource in.
func (s *Sum) Add(r *Resource) { s.AddHash(r.hash) }

// AddHash takes a resource in, by its hash; 0 stands for none.
func (s *Sum) AddHash(hash uint64) { s.sum += hash }

// Version is the sum as a version: 16 hexadecimal digits.
func (s *Sum) Version() string { return FormatVersion(s.sum) }
