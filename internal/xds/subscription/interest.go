package subscription

import "github.com/meshd/meshd/internal/xds/resource"

// Interest is what a client wants of one type, and where that comes from.
type Interest struct {
	Type     resource.Type
	Wildcard bool
	// Names are sorted. Those that came with the wildcard are not among them.
	Names []string
	// Source is what the client was last brought up to date with; nil if the type was not answered yet. While the
	// client owes an answer it is older than what is known.
	Source Source
}

// Interests lists what the client wants, by type in the order of a push. It shares nothing with the machine.
func (m *Machine) Interests() []Interest {
	out := make([]Interest, len(m.subs))
	for i, s := range m.subs {
		names := make([]string, 0, s.wants.len)
		for _, w := range s.wants.with(every) {
			names = append(names, w.name)
		}
		out[i] = Interest{Type: s.typ, Wildcard: s.wildcard, Names: names, Source: s.seen}
	}
	return out
}

// Resources gives what the client was sent of it, whether it accepted that or not: first the
// wildcard's in their order, then those of names. Names that do not exist are left out. known is false if the type was
// not answered yet.
func (i Interest) Resources() (resources []*resource.Resource, known bool) {
	if i.Source == nil {
		return nil, false
	}
	var all *resource.Set
	if i.Wildcard {
		if all = i.Source.All(); all == nil {
			return nil, false
		}
		resources = all.List()
	}
	for _, r := range i.Source.Named(i.Names) {
		if r != nil && (all == nil || all.Get(r.Name()) == nil) {
			resources = append(resources, r)
		}
	}
	return resources, true
}
