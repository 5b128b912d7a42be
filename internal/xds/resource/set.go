package resource

import (
	"slices"
	"sync"
	"weak"
)

// Set is an ordered list of resources with unique names, for example all clusters of a class. It is immutable, safe
// for concurrent use, and shared by every stream of the class.
type Set struct {
	list    []*Resource
	byName  map[string]*Resource
	version string
	claimed bool // some of it is only claimed

	mu    sync.Mutex
	diffs map[weak.Pointer[Set]]*Diff
}

// Diff says what leads from one set to another, by name in the order of the sets.
type Diff struct {
	Added, Changed, Removed []string
	union                   weak.Pointer[Set]
}

// NewSet makes a set. Of several resources of one name the first stays.
func NewSet(list []*Resource) *Set {
	s := &Set{list: make([]*Resource, 0, len(list)), byName: make(map[string]*Resource, len(list))}
	var sum Sum
	for _, r := range list {
		if _, twice := s.byName[r.name]; twice {
			continue
		}
		s.byName[r.name] = r
		s.list = append(s.list, r)
		s.claimed = s.claimed || r.Claimed()
		sum.Add(r)
	}
	s.list = slices.Clip(s.list) // who appends to it gets a copy
	s.version = sum.Version()
	return s
}

// List gives the resources in order. It must not be changed.
func (s *Set) List() []*Resource { return s.list }

// Get finds a resource by name, or gives nil.
func (s *Set) Get(name string) *Resource { return s.byName[name] }

// Len counts the resources.
func (s *Set) Len() int { return len(s.list) }

// Version is a hash over the contents, whatever their order.
func (s *Set) Version() string { return s.version }

// maxDiffs bounds what a set remembers of its predecessors. Streams of one class nearly always come from the same one.
const maxDiffs = 8

// Since gives what leads from an older set to this one. It is computed once for all streams that take that way.
func (s *Set) Since(old *Set) *Diff {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since(old)
}

// With gives this set and behind it what only the older one has, for a client that still refers to that. It is made
// once for all streams that take that way.
func (s *Set) With(old *Set) *Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.since(old)
	if u := d.union.Value(); u != nil {
		return u
	}
	list := slices.Clone(s.list)
	for _, name := range d.Removed {
		list = append(list, old.byName[name])
	}
	u := NewSet(list)
	d.union = weak.Make(u)
	return u
}

// since is Since under the mutex.
func (s *Set) since(old *Set) *Diff {
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
	if s.diffs == nil || len(s.diffs) >= maxDiffs {
		s.diffs = map[weak.Pointer[Set]]*Diff{}
	}
	s.diffs[key] = d
	return d
}

func (d *Diff) fill(s, old *Set) {
	for _, r := range s.list {
		switch was := old.byName[r.name]; {
		case was == nil:
			d.Added = append(d.Added, r.name)
		case was.hash != r.hash:
			d.Changed = append(d.Changed, r.name)
		}
	}
	for _, r := range old.list {
		if s.byName[r.name] == nil {
			d.Removed = append(d.Removed, r.name)
		}
	}
}

// Sum hashes a set of resources, whatever their order. The zero value is the sum of none.
type Sum struct{ sum uint64 }

// Add takes a resource in.
func (s *Sum) Add(r *Resource) { s.sum += r.hash }

// Version is the sum as a version: 16 hexadecimal digits.
func (s *Sum) Version() string { return FormatVersion(s.sum) }
