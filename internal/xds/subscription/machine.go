// Package subscription is the state machine of one xDS stream: what the client wants, what it has, what it said of it,
// and what goes to it next. It does no I/O, starts nothing and reads no clock.
//
// Wire encodings are not its business: state of the world and delta are two ways to fill in a Request and to write a
// Response.
package subscription

import (
	"fmt"
	"slices"

	"github.com/meshd/meshd/internal/xds/resource"
)

// Source gives the resources of one type for this client at one moment. Its dynamic type is comparable, and a source
// that is equal to an earlier one has the same resources.
type Source interface {
	// All gives what a wildcard subscription gets; nil if that is not known now, and the client keeps what it has.
	All() *resource.Set
	// Named gives the resources of these names in the same order, nil for one that does not exist.
	Named(names []string) []*resource.Resource
	// Since tells which names, of those that exist in this source or existed in an older one, have another resource than
	// there; nil if that is not known.
	Since(old Source) *resource.Diff
}

// Request is what a client said of one type.
type Request struct {
	TypeURL string
	// Nonce is that of the response it answers; empty if it answers none.
	Nonce string
	// Names are all names it wants now. This is the state of the world; the next three are delta's.
	Names []string
	// Same says that the names are those of the last request of the type, and left out.
	Same bool
	// Subscribe are names that it wants from now on, or again; Unsubscribe those it does not want any more.
	Subscribe, Unsubscribe []string
	// Have is what it has from an earlier stream, versions by name. It counts in the first request of a type.
	Have map[string]string
	// Refused is set if it could not use the response, and says why.
	Refused *string
}

// Response is what goes to the client.
type Response struct {
	Type      resource.Type
	Version   string
	Nonce     string
	Resources []*resource.Resource
	// Removed are names that the client does not have any more, or asked for and cannot have. Delta only.
	Removed []string
}

// Encoding is one of the two protocols.
type Encoding uint8

const (
	// StateOfTheWorld repeats all names in each request, and for some types all resources in each response.
	StateOfTheWorld Encoding = iota
	// Delta says what changes.
	Delta
)

// String gives the name for logs and pages.
func (e Encoding) String() string {
	if e == Delta {
		return "delta"
	}
	return "sotw"
}

// MarshalText writes the name, for debug pages.
func (e Encoding) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Outcome is what a request came to.
type Outcome uint8

const (
	// Subscribed: the first request of its type.
	Subscribed Outcome = iota
	// Acknowledged: it accepts the last response.
	Acknowledged
	// Refused: it refuses the last response.
	Refused
	// Changed: it answers nothing, and changed what is wanted or asked for it again.
	Changed
	// Stale: its nonce is not that of the last response.
	Stale
)

// String gives the name for metrics.
func (o Outcome) String() string {
	switch o {
	case Subscribed:
		return "subscribed"
	case Acknowledged:
		return "acknowledged"
	case Refused:
		return "refused"
	case Stale:
		return "stale"
	}
	return "changed"
}

// Machine is the state of one stream. It is not safe for concurrent use.
//
// These are its rules:
//   - the first request of a type is always answered, even with nothing;
//   - at most one response of a type is unacknowledged; what changes meanwhile waits, and only the newest of it is sent;
//   - a refused response is not sent again; what changes of it is, and once that is accepted, the rest of it;
//   - a nonce that is not the last one says nothing of the last response, but the names beside it count;
//   - a new name is answered, a dropped one is not;
//   - after a parent type was sent (CDS for EDS, LDS for RDS), the next request for the type is answered although it
//     looks like one that was answered before, because the client started to warm the parent again;
//   - endpoints of a cluster that was sent again follow it without being asked for;
//   - types go out in the order clusters, endpoints, listeners, routes, others, and listeners and routes are not pushed past
//     clusters that wait for an acknowledgement;
//   - what was asked for is overtaken once at the most by endpoints, or by other names, that changed meanwhile;
//   - of a wildcard, clusters that are gone stay until listeners and routes without them are acknowledged.
//
// docs/xds.md has them as a table, with what is different in delta.
type Machine struct {
	encoding Encoding
	wildcard func(typeURL string) bool
	nonce    func() string
	subs     []*sub // by rank
}

// New makes the state of a new stream. wildcard says for which types a request without names asks for everything;
// nonce gives a new one at each call.
func New(encoding Encoding, wildcard func(typeURL string) bool, nonce func() string) *Machine {
	return &Machine{encoding: encoding, wildcard: wildcard, nonce: nonce}
}

// Nonces counts up behind a prefix.
func Nonces(prefix string) func() string {
	n := 0
	return func() string {
		n++
		return fmt.Sprintf("%s-%d", prefix, n)
	}
}

// Request takes a request in. What it leads to comes from Next.
func (m *Machine) Request(r Request) Outcome {
	s := m.find(r.TypeURL)
	if s == nil {
		s = &sub{typ: resource.TypeOf(r.TypeURL), canWildcard: m.wildcard(r.TypeURL)}
		at, _ := slices.BinarySearchFunc(m.subs, s, func(a, b *sub) int { return a.typ.Compare(b.typ) })
		m.subs = slices.Insert(m.subs, at, s)
		if m.encoding == StateOfTheWorld {
			s.begin(r)
			return Subscribed
		}
		var parent *sub
		if s.typ.SameName {
			parent = m.find(s.typ.Parent)
		}
		s.beginDelta(r, parent)
		return Subscribed
	}
	return s.request(r)
}

// Next gives the next response that may be sent now, and books it as sent; false if there is none until another
// request comes or a source changes. source is asked for each subscribed type, with the source it gave when the type
// was last looked at, or nil; it gives nil if there is nothing to say of the type now.
func (m *Machine) Next(source func(typeURL string, last Source) Source) (Response, bool) {
	for _, s := range m.subs {
		if s.overtaken && s.owed && !s.flying && !m.refersToNew(s, source) {
			if src := source(s.typ.URL, s.seen); src != nil {
				if r, ok := m.send(s, src, source); ok {
					return r, true
				}
			}
		}
	}
	held := false // something of a lower rank is not with the client yet
	for _, s := range m.subs {
		src := source(s.typ.URL, s.seen)
		if src == nil {
			continue
		}
		if s.flying {
			s.pending = s.changed(src)
			held = held || s.pending && s.typ.FullState && s.lacks(src)
			continue
		}
		if held && s.typ.Refers && !s.owed {
			s.pending = s.changed(src)
			continue
		}
		if r, ok := m.send(s, src, source); ok {
			return r, true
		}
	}
	return Response{}, false
}

// refersToNew reports whether there is something new or changed that a type may refer to, and that can be sent now.
func (m *Machine) refersToNew(s *sub, source func(typeURL string, last Source) Source) bool {
	if !s.typ.Refers {
		return false
	}
	for _, other := range m.subs {
		if !other.typ.FullState || other.flying || other.typ.Rank >= s.typ.Rank {
			continue
		}
		if src := source(other.typ.URL, other.seen); src != nil && other.lacks(src) {
			return true
		}
	}
	return false
}

// send makes the response of a type that is due, if one is, and books it as sent.
func (m *Machine) send(s *sub, src Source, source func(typeURL string, last Source) Source) (Response, bool) {
	asked := s.owed
	out, ok := s.next(src, func() bool { return m.settled(source) })
	if !ok {
		return Response{}, false
	}
	s.overtaken = false
	out.response.Nonce = m.nonce()
	s.nonce, s.sent = out.response.Nonce, out.response.Version
	s.flying = !s.typ.Agent || len(out.response.Resources) > 0
	for _, other := range m.subs {
		if other.typ.NamedBy(s.typ.URL) {
			other.parentSent(out)
		}
		if !asked && !s.typ.FullState && other.owed {
			other.overtaken = true
		}
	}
	if s.delta != nil && s.typ.Twin != "" && m.find(s.typ.Twin) == nil {
		s.delta.told.note(out)
	}
	return out.response, true
}

// settled reports whether everything that refers to other resources is with the client in its newest version. A client
// that refused that goes on with what it had, which may refer to what is gone.
func (m *Machine) settled(source func(typeURL string, last Source) Source) bool {
	for _, s := range m.subs {
		if !s.typ.Refers {
			continue
		}
		if src := source(s.typ.URL, s.seen); src == nil || s.flying || s.refusing() || s.changed(src) {
			return false
		}
	}
	return true
}

// Answered reports whether the client has answered everything that was sent.
func (m *Machine) Answered() bool {
	return !slices.ContainsFunc(m.subs, func(s *sub) bool { return s.flying })
}

func (m *Machine) find(typeURL string) *sub {
	for _, s := range m.subs {
		if s.typ.URL == typeURL {
			return s
		}
	}
	return nil
}

// Waits reports whether something waits for an answer of the client before it can be sent.
func (m *Machine) Waits() bool {
	return slices.ContainsFunc(m.subs, func(s *sub) bool { return s.pending || s.owed || s.behind })
}

// Status is the state of one type, to be shown.
type Status struct {
	Type     resource.Type
	Wildcard bool
	// Names counts the names that are subscribed, and Resources what that comes to with a wildcard.
	Names, Resources int
	// Sent and Acked are versions, Nonce is that of the last response; empty if there was none.
	Sent, Acked, Nonce string
	// Refused is the text of the last refusal, until a later response is acknowledged; RefusedVersion what it was about.
	Refused, RefusedVersion string
	// Unacknowledged says that the last response was not answered yet, Pending that something newer waits.
	Unacknowledged, Pending bool
}

// resources counts what is subscribed: by name, or what the wildcard has.
func (s *sub) resources() int {
	if s.wildcard && s.set != nil {
		return max(s.set.Len(), s.wants.len)
	}
	return s.wants.len
}

// Status gives the state of all types in their order.
func (m *Machine) Status() []Status {
	out := make([]Status, len(m.subs))
	for i, s := range m.subs {
		out[i] = Status{
			Type: s.typ, Wildcard: s.wildcard, Names: s.wants.len, Resources: s.resources(),
			Sent: s.sent, Acked: s.acked, Nonce: s.nonce,
			Refused: s.refusal, RefusedVersion: s.refusedVersion,
			Unacknowledged: s.flying, Pending: s.pending || s.owed,
		}
	}
	return out
}
