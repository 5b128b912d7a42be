package subscription

import (
	"slices"
	"strings"

	"github.com/meshd/meshd/internal/xds/resource"
)

// sub is the state of one type.
type sub struct {
	typ         resource.Type
	canWildcard bool

	wildcard bool
	implicit bool          // wildcard because the first request had no names
	set      *resource.Set // what a wildcard was sent last
	wants    wants

	nonce, sent, acked      string
	refusal, refusedVersion string

	flying    bool // a response is not acknowledged yet
	owed      bool // a response is owed, even one without resources
	full      bool // and with everything
	armed     bool // a parent was sent since the last request that was answered
	renewed   bool // and it is not known which names that is about: all
	cured     bool // the unacknowledged response replaces something that was refused
	overtaken bool // what is owed waits already since something went that nobody asked for
	pending   bool // something newer waits: for Status
	behind    bool // what was seen last is not all sent: what is gone goes later
	unsure    bool // it is not enough to look at what changed since what was seen last: of a name, that was not looked at
	seen      Source

	delta *delta // nil in the state of the world
}

func (s *sub) begin(r Request) {
	s.replace(r.Names, true)
	s.owed, s.full = true, true
}

func (s *sub) request(r Request) Outcome {
	current := r.Nonce != "" && r.Nonce == s.nonce
	answered := current && s.flying
	outcome := Changed
	switch {
	case r.Nonce != "" && !current, r.Refused != nil && !answered:
		outcome = Stale
	case r.Refused != nil:
		s.refuse(*r.Refused)
		outcome = Refused
	case answered:
		s.acknowledge()
		outcome = Acknowledged
	}
	var added, dropped bool
	switch {
	case s.delta != nil:
		added, dropped = s.change(r)
	case !r.Same:
		added, dropped = s.replace(r.Names, false)
	}

	switch {
	case added && s.delta != nil:
		// Answered for exactly the names that it has: who wants others again can say so.
		s.owed = true
		s.disarm()
	case added && (s.typ.FullState || s.renewed):
		s.owed, s.full = true, true
		s.disarm()
	case added:
		s.owed = true
		s.resendRenewed()
		s.disarm()
	case r.Refused != nil || answered || dropped || !s.armed:
		// Nothing is asked for.
	case current || r.Nonce == "":
		// Neither an answer nor a change: the client warms a parent and asks again (case B1).
		s.owed, s.full = true, true
		s.disarm()
	default:
		// The same, but sent before the last response was read. That response need not be what was asked for.
		s.resendRenewed()
	}
	return outcome
}

func (s *sub) acknowledge() {
	s.flying = false
	s.acked = s.sent
	s.refusal, s.refusedVersion = "", ""
	for _, w := range s.wants.with(flying) {
		w.marks &^= flying | refused
	}
	if s.delta != nil {
		s.delta.part = nil
	}
	if !s.cured {
		return
	}
	// What was refused together with something that is accepted now may have been refused because of it.
	s.cured = false
	for _, w := range s.wants.with(refused) {
		w.marks = w.marks&^refused | resend
	}
	if s.delta != nil {
		s.delta.cure(s.set)
	}
}

func (s *sub) refuse(text string) {
	s.flying, s.cured = false, false
	s.refusal, s.refusedVersion = text, s.sent
	for _, w := range s.wants.with(flying) {
		w.marks = w.marks&^flying | refused
	}
	if s.delta != nil {
		s.delta.refuse()
	}
}

// refusing reports whether the client refused anything that it still wants.
func (s *sub) refusing() bool {
	return s.refusedVersion != "" || s.delta != nil && len(s.delta.refused) > 0 ||
		s.wants.any(refused)
}

func (s *sub) disarm() {
	s.armed, s.renewed = false, false
	s.wants.clear(renewed)
}

func (s *sub) resendRenewed() {
	which := renewed
	if s.renewed {
		which = every
	}
	for _, w := range s.wants.with(which) {
		w.marks = w.marks&^renewed | resend
	}
	s.renewed = false
}

// parentSent books that the client now has parents that it did not have before, and may ask again for what is theirs.
func (s *sub) parentSent(out outgoing) {
	s.armed = true
	if s.delta != nil {
		if s.typ.SameName {
			// It follows at once, also for a parent that is new: a client that has the name already does not ask again.
			for _, r := range out.response.Resources {
				s.wants.mark(r.Name(), resend)
			}
		}
		return
	}
	if !s.typ.SameName || out.first {
		s.renewed = true
		if s.flying {
			// The acknowledgement that is awaited may be the renewed request at the same time.
			s.resendRenewed()
		}
		return
	}
	for _, name := range out.changed {
		// A parent that was replaced starts without what it had: it follows at once (cases B2, B6).
		s.wants.mark(name, renewed|resend)
	}
	marks := renewed
	if s.flying {
		marks |= resend
	}
	for _, name := range out.added {
		s.wants.mark(name, marks)
	}
}

// replace sets what is wanted, and reports whether anything is wanted that was not before, or the reverse. No
// names at all mean everything if the first request of the type says so, and nothing later.
func (s *sub) replace(names []string, first bool) (added, dropped bool) {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	star := false
	if s.canWildcard {
		i, ok := slices.BinarySearch(names, all)
		if star = ok; ok {
			names = slices.Delete(names, i, i+1)
		}
	}
	switch had := s.wildcard; {
	case len(names) == 0 && !star && (first && s.canWildcard || s.implicit):
		s.wildcard, s.implicit = true, true
	default:
		s.wildcard, s.implicit = star, false
		added, dropped = star && !had, had && !star
	}

	var old []want
	runs, list, kept := s.wants.runs, make([]want, 0, len(names)), 0
	for _, name := range names {
		for len(old) == 0 && len(runs) > 0 || len(old) > 0 && old[0].name < name {
			if len(old) == 0 {
				old, runs = runs[0].list, runs[1:]
			} else {
				old = old[1:]
			}
		}
		switch {
		case len(old) > 0 && old[0].name == name:
			list = append(list, old[0])
			kept++
		case s.set != nil && s.set.Get(name) != nil:
			// It came with the wildcard.
			has := s.set.Get(name)
			list = append(list, newWant(has.Name(), has.Hash(), 0))
			s.unsure = true
		default:
			// The request that it came with is not kept for it.
			list = append(list, newWant(strings.Clone(name), 0, resend))
			added = true
		}
	}
	dropped = dropped || kept < s.wants.len
	s.wants = newWants(list)
	if !s.wildcard {
		s.set = nil
	}
	return added, dropped
}
