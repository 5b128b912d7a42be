package snapshot

import (
	"maps"
	"slices"

	"github.com/meshd/meshd/internal/model"
)

// inbounds finds anew what leads to the workloads that the dirt touches.
func (b *build) inbounds(next *inbounds, d dirty) {
	b.selecting(next, d)
	pods := map[name]*Inbound{}
	for n := range d.pods {
		var in *Inbound
		if w := b.known.pods[n]; w != nil {
			in = b.intern.inbound(next.selected(n.Namespace, w.Labels, w))
		}
		if next.pods.get(n) != in {
			pods[n] = in
		}
	}
	owners := map[address]*name{}
	others := map[address]*Inbound{}
	for at := range d.addresses {
		old := next.owners.get(at)
		if n, ok := b.known.owner(at); !ok && old != nil {
			owners[at] = nil
		} else if ok && (old == nil || *old != n) {
			owners[at] = &n
		}
		if in := b.inboundAt(at); in != next.unselected.get(at) {
			others[at] = in
		}
	}
	b.changed = b.changed || len(pods)+len(owners)+len(others) > 0
	next.pods = next.pods.with(pods)
	next.owners = next.owners.with(owners)
	next.unselected = next.unselected.with(others)
}

// selecting brings the index of selectors up to date, and adds the pods that a new or an old selector may choose to
// the dirty ones.
func (b *build) selecting(next *inbounds, d dirty) {
	changes := map[pair]map[name]*model.Service{}
	change := func(svc *model.Service, now *model.Service) {
		p, ok := lookupPair(svc)
		if !ok {
			return
		}
		if changes[p] == nil {
			changes[p] = map[name]*model.Service{}
		}
		changes[p][svc.NamespacedName] = now
	}
	for n, old := range d.redefined {
		change(old, nil)
		change(b.known.services[n], b.known.services[n])
	}
	found := map[pair]*candidates{}
	for p, services := range changes {
		maps.Copy(d.pods, b.known.with(p))
		var list []*model.Service
		if old := next.selecting.get(p); old != nil {
			for _, svc := range old.services {
				if _, other := services[svc.NamespacedName]; !other {
					list = append(list, svc)
				}
			}
		}
		for _, svc := range services {
			if svc != nil {
				list = append(list, svc)
			}
		}
		found[p] = nil
		if len(list) > 0 {
			found[p] = &candidates{list}
		}
	}
	b.changed = b.changed || len(found) > 0
	next.selecting = next.selecting.with(found)
}

// unselected notes the addresses behind a service that its selector did not choose, and marks the old and new ones.
func (b *build) unselected(n name, svc *model.Service, lists [][]*model.Endpoint, d dirty) {
	for ip := range b.known.unselected[n] {
		at := address{n.Namespace, ip}
		b.known.behind.remove(at, n)
		d.addresses[at] = struct{}{}
	}
	delete(b.known.unselected, n)
	if svc == nil {
		return
	}
	found := map[string]map[int][]uint32{}
	for i, list := range lists {
		for _, ep := range list {
			if selects(svc.Selector, ep.Labels) {
				continue
			}
			ip := ep.Addresses[0]
			if found[ip] == nil {
				found[ip] = map[int][]uint32{}
				b.known.behind.add(address{n.Namespace, ip}, n)
				d.addresses[address{n.Namespace, ip}] = struct{}{}
			}
			found[ip][i] = append(found[ip][i], ep.Port)
		}
	}
	if len(found) > 0 {
		b.known.unselected[n] = found
	}
}

// inboundAt finds what leads to an address without a selector; nil if nothing does.
func (b *build) inboundAt(at address) *Inbound {
	var services []*model.Service
	for n := range b.known.behind[at] {
		services = append(services, b.known.services[n])
	}
	slices.SortFunc(services, before)
	var list []InboundTarget
	for _, svc := range services {
		ports := b.known.unselected[svc.NamespacedName][at.ip]
		list = append(list, targets(svc, func(i int) []uint32 { return ports[i] })...)
	}
	if len(list) == 0 {
		return nil
	}
	return b.intern.inbound(list)
}
