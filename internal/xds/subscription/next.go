package subscription

import (
	"slices"

	"github.com/meshd/meshd/internal/xds/resource"
)

// outgoing is a response, and what of its type is new to the client.
type outgoing struct {
	response       Response
	first          bool // the first one of the type: everything is new
	added, changed []string
}

// changed reports whether a source has something that the client does not, or something is owed anyway.
func (s *sub) changed(src Source) bool {
	if s.owed || s.repeats() {
		return true
	}
	if src == s.seen && !s.resends() && !s.behind {
		return false
	}
	if s.wildcard {
		set := src.All()
		if set != nil && (s.set == nil || s.set.Version() != set.Version()) {
			return true
		}
	}
	for _, l := range s.look(src) {
		if s.due(l.want, l.resource) {
			return true
		}
	}
	return false
}

// lacks reports whether a source has something new or changed, apart from what is gone.
func (s *sub) lacks(src Source) bool {
	if s.repeats() {
		return true
	}
	if s.wildcard {
		set := src.All()
		switch {
		case set == nil:
		case s.set == nil:
			return true
		default:
			if d := set.Since(s.set); len(d.Added)+len(d.Changed) > 0 {
				return true
			}
		}
	}
	for _, l := range s.look(src) {
		if l.want.outdated(l.resource, false) {
			return true
		}
	}
	return false
}

func (s *sub) resends() bool { return s.wants.any(resend | asked) }

// repeats reports whether something of the wildcard is to be stated though it did not change.
func (s *sub) repeats() bool { return s.delta != nil && len(s.delta.again) > 0 }

// outdated reports whether a response is worth it. That a resource is gone is said of types whose responses state
// everything, in delta too: of others it is known from their parents, and a client may not take it well (case B15).
func (w *want) outdated(r *resource.Resource, fullState bool) bool {
	if r == nil {
		return w.is(asked) || fullState && w.sent != 0
	}
	return w.is(resend) || w.sent != r.Hash()
}

// due is outdated for a type that may have a wildcard too, which then says what is gone.
func (s *sub) due(w *want, r *resource.Resource) bool {
	return w.outdated(r, s.typ.FullState && !s.keeps(w.name))
}

// looked is a wanted name and what there is of it, or nil.
type looked struct {
	run      *run
	want     *want
	resource *resource.Resource
}

// look resolves the wanted names, in order: those that may have another resource than the client has, if that can be told.
func (s *sub) look(src Source) []looked {
	if s.wants.len == 0 {
		return nil
	}
	out := s.suspects(src)
	names := make([]string, len(out))
	for i, l := range out {
		names[i] = l.want.name
	}
	for i, r := range src.Named(names) {
		out[i].resource = r
	}
	return out
}

// suspects are the wanted names to resolve. After a look, the client has of all of them what there was at that moment, so
// that it is enough to ask what has changed since. What did not exist is not remembered by anybody.
func (s *sub) suspects(src Source) []looked {
	var since *resource.Diff
	everything := s.full || s.typ.FullState && s.delta == nil
	if !s.wildcard && !s.unsure && !everything && s.seen != nil {
		since = src.Since(s.seen)
	}
	if since == nil {
		out := make([]looked, 0, s.wants.len)
		for r, w := range s.wants.with(every) {
			out = append(out, looked{run: r, want: w})
		}
		return out
	}
	for _, names := range [][]string{since.Added, since.Changed, since.Removed} {
		for _, name := range names {
			s.wants.mark(name, suspect)
		}
	}
	which := suspect | resend | asked
	if src != s.seen {
		which |= missing // in the same source they still are
	}
	var out []looked
	for r, w := range s.wants.with(which) {
		w.marks &^= suspect
		out = append(out, looked{run: r, want: w})
	}
	return out
}

// next makes the response that is due, if one is, and books its contents as sent. settled says whether everything that
// may refer to resources of this type is with the client.
func (s *sub) next(src Source, settled func() bool) (outgoing, bool) {
	s.pending = false
	if !s.owed && !s.repeats() && src == s.seen && !s.resends() && !s.behind {
		return outgoing{}, false
	}
	var set *resource.Set
	due := s.owed || s.repeats()
	if s.wildcard {
		if set = src.All(); set == nil {
			return outgoing{}, false // not known, which is not the same as none
		}
		set = s.keep(set, settled)
		due = due || s.set == nil || s.set.Version() != set.Version()
	}
	named := s.look(src)
	for _, l := range named {
		due = due || s.due(l.want, l.resource)
	}
	s.seen, s.unsure = src, false
	if !due {
		s.settle(named)
		return outgoing{}, false
	}

	out := outgoing{response: Response{Type: s.typ}, first: s.sent == "" && s.delta == nil}
	var sum resource.Sum
	if set != nil {
		if s.delta != nil {
			s.bookChanges(set, &out)
		} else {
			s.bookAll(set, &out)
		}
		out.response.Version = set.Version()
		for _, r := range set.List() {
			if s.wants.len == 0 {
				break
			}
			sum.Add(r)
		}
	}
	s.book(named, &out, &sum)
	if set == nil {
		sum = s.wants.sum
	}
	if set == nil || s.wants.len > 0 {
		out.response.Version = sum.Version()
	}
	s.owed, s.full = false, false
	return out, true
}

// bookAll adds a set to a response and books it.
func (s *sub) bookAll(set *resource.Set, out *outgoing) {
	if s.set != nil {
		diff := set.Since(s.set)
		out.added, out.changed = diff.Added, diff.Changed
	} else {
		out.first = true
	}
	out.response.Resources = set.List()
	s.set = set
}

// keep adds to a set what is gone from it and still referred to: clusters leave last.
func (s *sub) keep(set *resource.Set, settled func() bool) *resource.Set {
	s.behind = false
	if s.set == nil || s.typ.Refers || !s.typ.FullState || len(set.Since(s.set).Removed) == 0 {
		return set
	}
	// A client that comes back with clusters says only after it has subscribed to them what else it has.
	if s.sent != "" && settled() {
		return set
	}
	s.behind, s.pending = true, true
	return set.With(s.set)
}

// settle notes what is gone and forgets what was to be sent and does not exist.
func (s *sub) settle(named []looked) {
	for _, l := range named {
		if l.resource == nil {
			s.missing(l)
		}
	}
}

// missing books that a wanted name does not exist. What the wildcard keeps the client still has.
func (s *sub) missing(l looked) {
	if l.want.marks &^= resend; !s.keeps(l.want.name) {
		s.wants.has(l.run, l.want, 0)
	}
}

// book adds the named resources that go out to a response and notes them as sent. The version is that of everything
// the client then has, whether it is in this response or not, so that it does not depend on the way there.
func (s *sub) book(named []looked, out *outgoing, sum *resource.Sum) {
	everything := s.full || s.typ.FullState && s.delta == nil
	var part map[*resource.Resource]struct{} // what is in the response as part of the wildcard
	removed := out.response.Removed          // by the wildcard
	var stay []string                        // of that, what is still there for who asks for it by name
	if len(out.response.Resources) == 0 {
		out.response.Resources = make([]*resource.Resource, 0, len(named))
	}
	for _, l := range named {
		w, r := l.want, l.resource
		asks := w.is(asked)
		w.marks &^= asked
		if r == nil {
			if s.delta != nil && (asks && !s.typ.Unsaid || s.typ.FullState && w.sent != 0) && !slices.Contains(removed, w.name) && !s.keeps(w.name) {
				out.response.Removed = append(out.response.Removed, w.name)
			}
			s.missing(l)
			continue
		}
		if w.name == r.Name() {
			w.name = r.Name() // share the string with everyone who has the resource
		}
		if s.wildcard && s.inSet(r) {
			if s.delta != nil && w.is(resend) {
				if part == nil {
					part = s.delta.inPart()
				}
				if _, ok := part[r]; !ok {
					out.response.Resources = append(out.response.Resources, r)
					s.delta.part = append(s.delta.part, r)
				}
			}
			s.wants.has(l.run, w, r.Hash())
			w.marks &^= resend
			continue
		}
		if s.wildcard {
			sum.Add(r)
		}
		if slices.Contains(removed, r.Name()) {
			stay = append(stay, r.Name())
		}
		if !everything && !w.outdated(r, false) {
			continue
		}
		switch {
		case w.sent == 0:
			out.added = append(out.added, r.Name())
		case w.sent != r.Hash():
			out.changed = append(out.changed, r.Name())
		}
		s.cured = s.cured || w.is(refused)
		s.wants.has(l.run, w, r.Hash())
		w.marks = w.marks&^(resend|refused) | flying
		l.run.marks |= flying
		out.response.Resources = append(out.response.Resources, r)
	}
	if len(stay) > 0 {
		out.response.Removed = slices.DeleteFunc(out.response.Removed, func(name string) bool { return slices.Contains(stay, name) })
	}
}

// keeps reports whether the wildcard has a name, if only until nothing refers to it any more.
func (s *sub) keeps(name string) bool { return s.wildcard && s.set != nil && s.set.Get(name) != nil }

// inSet reports whether a resource that is wanted by name is what the wildcard has of that name.
func (s *sub) inSet(r *resource.Resource) bool {
	in := s.set.Get(r.Name())
	return in != nil && (s.delta == nil || in.Hash() == r.Hash())
}
