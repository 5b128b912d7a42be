package subscription

import "github.com/meshd/meshd/internal/xds/resource"

// outgoing is a response, and what of its type is new to the client.
type outgoing struct {
	response       Response
	first          bool // the first one of the type: everything is new
	added, changed []string
}

// changed reports whether a source has something that the client does not, or something is owed anyway.
func (s *sub) changed(src Source) bool {
	if s.owed {
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
	for i, r := range s.named(src) {
		if s.wants[i].outdated(r, s.typ.FullState) {
			return true
		}
	}
	return false
}

// lacks reports whether a source has something new or changed, apart from what is gone.
func (s *sub) lacks(src Source) bool {
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
	for i, r := range s.named(src) {
		if s.wants[i].outdated(r, false) {
			return true
		}
	}
	return false
}

func (s *sub) resends() bool {
	for i := range s.wants {
		if s.wants[i].resend {
			return true
		}
	}
	return false
}

// outdated reports whether a response is worth it. That a resource is gone can only be said where a response states
// everything.
func (w *want) outdated(r *resource.Resource, fullState bool) bool {
	if r == nil {
		return fullState && w.sent != 0
	}
	return w.resend || w.sent != r.Hash()
}

// named resolves the wanted names.
func (s *sub) named(src Source) []*resource.Resource {
	if len(s.wants) == 0 {
		return nil
	}
	names := make([]string, len(s.wants))
	for i := range s.wants {
		names[i] = s.wants[i].name
	}
	return src.Named(names)
}

// next makes the response that is due, if one is, and books its contents as sent. settled says whether everything that
// may refer to resources of this type is with the client.
func (s *sub) next(src Source, settled func() bool) (outgoing, bool) {
	s.pending = false
	if !s.owed && src == s.seen && !s.resends() && !s.behind {
		return outgoing{}, false
	}
	var set *resource.Set
	due := s.owed
	if s.wildcard {
		if set = src.All(); set == nil {
			return outgoing{}, false // not known, which is not the same as none
		}
		set = s.keep(set, settled)
		due = due || s.set == nil || s.set.Version() != set.Version()
	}
	named := s.named(src)
	for i, r := range named {
		due = due || s.wants[i].outdated(r, s.typ.FullState)
	}
	s.seen = src
	if !due {
		s.settle(named)
		return outgoing{}, false
	}

	out := outgoing{response: Response{Type: s.typ}, first: s.sent == ""}
	var sum resource.Sum
	if set != nil {
		if s.set != nil {
			diff := set.Since(s.set)
			out.added, out.changed = diff.Added, diff.Changed
		} else {
			out.first = true
		}
		out.response.Resources = set.List()
		out.response.Version = set.Version()
		s.set = set
		for _, r := range set.List() {
			if len(s.wants) == 0 {
				break
			}
			sum.Add(r)
		}
	}
	s.book(named, &out, &sum)
	if set == nil || len(s.wants) > 0 {
		out.response.Version = sum.Version()
	}
	s.owed, s.full = false, false
	return out, true
}

// keep adds to a set what is gone from it and still referred to: clusters leave last.
func (s *sub) keep(set *resource.Set, settled func() bool) *resource.Set {
	s.behind = false
	if s.set == nil || s.typ.Refers || !s.typ.FullState || len(set.Since(s.set).Removed) == 0 || settled() {
		return set
	}
	s.behind, s.pending = true, true
	return set.With(s.set)
}

// settle notes what is gone and forgets what was to be sent and does not exist.
func (s *sub) settle(named []*resource.Resource) {
	for i, r := range named {
		if r == nil {
			s.wants[i].sent, s.wants[i].resend = 0, false
		}
	}
}

// book adds the named resources that go out to a response and notes them as sent. The version is that of everything
// the client then has, whether it is in this response or not, so that it does not depend on the way there.
func (s *sub) book(named []*resource.Resource, out *outgoing, sum *resource.Sum) {
	everything := s.full || s.typ.FullState
	for i, r := range named {
		w := &s.wants[i]
		if s.wildcard && r != nil && s.set.Get(r.Name()) != nil {
			w.sent, w.resend = r.Hash(), false
			continue // it is in the set
		}
		if r == nil {
			w.sent, w.resend = 0, false
			continue
		}
		sum.Add(r)
		if !everything && !w.outdated(r, false) {
			continue
		}
		switch {
		case w.sent == 0:
			out.added = append(out.added, r.Name())
		case w.sent != r.Hash():
			out.changed = append(out.changed, r.Name())
		}
		if w.name == r.Name() {
			w.name = r.Name() // share the string with everyone who has the resource
		}
		s.cured = s.cured || w.refused
		w.sent, w.resend, w.flying, w.refused = r.Hash(), false, true, false
		out.response.Resources = append(out.response.Resources, r)
	}
}
