package subscription

import (
	"slices"

	"github.com/meshd/meshd/internal/xds/resource"
)

// all is the name that means everything.
const all = "*"

// delta is what a sub knows beyond what the state of the world needs, because no response says everything and the
// client may come with what it had.
type delta struct {
	part    []*resource.Resource // the wildcard's part of the unacknowledged response
	refused map[string]struct{}  // names of the wildcard that were refused and not acknowledged since
	again   []string             // names to be stated though the wildcard did not change
	told    told
}

// told is what was sent of a type before the type of the same names was subscribed.
type told struct {
	all   bool
	names map[string]struct{}
}

// maxTold bounds the names that are told apart. A client asks for the endpoints of its clusters at once.
const maxTold = 1000

func (t *told) note(out outgoing) {
	if t.all {
		return
	}
	if out.first || len(t.names)+len(out.response.Resources) > maxTold {
		*t = told{all: true}
		return
	}
	if t.names == nil {
		t.names = map[string]struct{}{}
	}
	for _, r := range out.response.Resources {
		t.names[r.Name()] = struct{}{}
	}
}

func (t *told) has(name string) bool {
	_, ok := t.names[name]
	return ok || t.all
}

// beginDelta takes in the first request. What the client has in the version that is current is not sent again; what
// is gone is found by comparing with that. parent is the type of the same names, or nil: what was sent of it on this
// stream starts without what the client had (case B2).
func (s *sub) beginDelta(r Request, parent *sub) {
	s.delta = &delta{}
	s.wildcard = s.canWildcard && (len(r.Subscribe) == 0 || slices.Contains(r.Subscribe, all))
	if s.wildcard && len(r.Have) > 0 {
		claims := make([]*resource.Resource, 0, len(r.Have))
		for name, version := range r.Have {
			claims = append(claims, resource.Claim(name, version))
		}
		s.set = resource.NewSet(claims)
	}
	s.subscribe(r.Subscribe)
	for run, w := range s.wants.with(every) {
		version, ok := r.Have[w.name]
		if !ok {
			continue
		}
		s.wants.has(run, w, resource.Claim(w.name, version).Hash())
		w.marks &^= resend
		if parent != nil && parent.delta.told.has(w.name) {
			w.marks |= resend
		}
	}
	if parent != nil {
		parent.delta.told = told{}
	}
	s.owed = true
}

// change takes in what a later request says of the subscription, and reports whether anything is asked for, or
// dropped. To subscribe a name again is to ask for it again.
func (s *sub) change(r Request) (added, dropped bool) {
	if len(r.Unsubscribe) > 0 {
		dropped = s.unsubscribe(r.Unsubscribe)
		added = len(s.delta.again) > 0
	}
	if s.canWildcard && slices.Contains(r.Subscribe, all) {
		s.full = s.full || s.wildcard
		s.wildcard = true
	}
	return s.subscribe(r.Subscribe) || added, dropped
}

// subscribe adds names, and reports whether any were given.
func (s *sub) subscribe(names []string) bool {
	if len(names) == 0 {
		return false
	}
	names = slices.Clone(names)
	slices.Sort(names)
	fresh := make([]want, 0, len(names))
	for _, name := range slices.Compact(names) {
		if name == all && s.canWildcard {
			continue
		}
		if s.wants.mark(name, resend|asked) {
			continue
		}
		fresh = append(fresh, newWant(name, 0, resend|asked))
	}
	s.wants.add(fresh)
	return true
}

// unsubscribe drops names, and reports whether there were any. A client that drops a name and still wants everything
// does not know whether that is part of it, and has to be told.
func (s *sub) unsubscribe(names []string) (dropped bool) {
	if s.wildcard && slices.Contains(names, all) {
		s.wildcard, s.set, dropped, s.unsure = false, nil, true, true
		s.delta.part, s.delta.refused, s.delta.again = nil, nil, nil
	}
	names = slices.Clone(names)
	slices.Sort(names)
	for _, name := range names {
		if s.wants.remove(name) {
			dropped = true
			if s.wildcard {
				s.delta.again = append(s.delta.again, name)
			}
		}
	}
	return dropped
}

// bookChanges adds to a response what leads from the set that the client has to another one, and books that.
func (s *sub) bookChanges(set *resource.Set, out *outgoing) {
	d, before := s.delta, s.set
	s.set = set
	r := &out.response
	if before == nil {
		out.first = true
	} else {
		diff := set.Since(before)
		if s.typ.FullState {
			r.Removed = slices.Clone(diff.Removed)
		}
		if !s.full {
			for _, name := range slices.Concat(diff.Added, diff.Changed) {
				r.Resources = append(r.Resources, set.Get(name))
			}
		}
	}
	if before == nil || s.full {
		r.Resources = set.List()
		if before != nil { // some of it may only be claimed by the client
			r.Resources = slices.DeleteFunc(slices.Clone(r.Resources), (*resource.Resource).Claimed)
		}
	}
	for _, name := range d.again {
		now, was := set.Get(name), (*resource.Resource)(nil)
		if before != nil {
			was = before.Get(name)
		}
		switch {
		case now == nil && was == nil:
			r.Removed = append(r.Removed, name)
		case now == nil, now.Claimed(), before == nil, s.full:
		case was != nil && was.Hash() == now.Hash():
			r.Resources = append(r.Resources, now)
		}
	}
	d.again = nil
	d.part = slices.Clip(r.Resources)
	for _, res := range d.part {
		if _, ok := d.refused[res.Name()]; ok {
			delete(d.refused, res.Name())
			s.cured = true
		}
	}
}

// inPart gives the wildcard's part of the response as a set.
func (d *delta) inPart() map[*resource.Resource]struct{} {
	out := make(map[*resource.Resource]struct{}, len(d.part))
	for _, r := range d.part {
		out[r] = struct{}{}
	}
	return out
}

// refuse books that the wildcard's part of the last response was refused.
func (d *delta) refuse() {
	if d.refused == nil && len(d.part) > 0 {
		d.refused = make(map[string]struct{}, len(d.part))
	}
	for _, r := range d.part {
		d.refused[r.Name()] = struct{}{}
	}
	d.part = nil
}

// cure has everything of the wildcard that was refused sent again.
func (d *delta) cure(set *resource.Set) {
	for name := range d.refused {
		if set != nil && set.Get(name) != nil {
			d.again = append(d.again, name)
		}
	}
	slices.Sort(d.again)
	d.refused = nil
}
