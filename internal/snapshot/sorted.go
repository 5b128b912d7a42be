package snapshot

import (
	"cmp"
	"slices"

	"github.com/meshd/meshd/internal/model"
)

// replace makes a sorted list from another one in which some elements are others; nil removes. Its cost is a copy of the
// list and a search per change. If nothing differs it gives the list itself, and false.
func replace[K cmp.Ordered, V any](list []*V, key func(*V) K, changes map[K]*V) ([]*V, bool) {
	keys := make([]K, 0, len(changes))
	for k := range changes {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]*V, 0, len(list)+len(changes))
	rest, same := list, true
	for _, k := range keys {
		i, had := slices.BinarySearchFunc(rest, k, func(v *V, k K) int { return cmp.Compare(key(v), k) })
		out = append(out, rest[:i]...)
		var old *V
		if had {
			old, i = rest[i], i+1
		}
		rest = rest[i:]
		if changes[k] != nil {
			out = append(out, changes[k])
		}
		same = same && old == changes[k]
	}
	if same {
		return list, false
	}
	if out = append(out, rest...); len(out) == 0 {
		return nil, true // an empty list is one thing
	}
	return out, true
}

func byHostname(s *Service) string { return s.Hostname }

func byNumber(p *PortServices) uint32 { return p.Number }

// before orders services by age, the oldest first, as Istio does where they compete.
func before(a, b *model.Service) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Hostname, b.Hostname))
}
