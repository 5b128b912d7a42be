package snapshot

import (
	"slices"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/registry"
)

// address is an address within a namespace. A proxy finds itself only in the namespace that it belongs to.
type address struct{ namespace, ip string }

// inbounds finds the Inbound of a proxy.
type inbounds struct {
	intern *interner
	// pods are by name; a pod behind no service is there too.
	pods table[model.NamespacedName, Inbound]
	// owners names the pod that has an address.
	owners table[address, model.NamespacedName]
	// unselected are by the addresses behind services whose endpoints were not chosen by a selector.
	unselected table[address, Inbound]
	// selecting are the services by one pair of their selector.
	selecting table[pair, candidates]
}

// pair is a label that a selector asks for.
type pair struct{ namespace, key, value string }

// labelKey is the key of a label in a namespace.
type labelKey struct{ namespace, key string }

// candidates are services that select the same pair, in no order.
type candidates struct{ services []*model.Service }

// of finds the services that lead to a proxy: those that select its pod, found by name or else by primary address, or
// the labels it came with while its pod is not known. If none does, services without selector count whose endpoints
// have its address. (Istio's order.)
func (b *inbounds) of(p *model.Proxy) *Inbound {
	at := address{namespace: p.Namespace}
	if len(p.IPs) > 0 {
		at.ip = p.IPs[0]
	}
	in := b.pods.get(b.podOf(p))
	if in == nil {
		in = b.intern.inbound(b.selected(p.Namespace, p.Metadata.Labels, nil))
	}
	if len(in.Targets) == 0 {
		if other := b.unselected.get(at); other != nil {
			return other
		}
	}
	return in
}

// podOf names the pod of a proxy: the one it says it is, or else the one that has its primary address.
func (b *inbounds) podOf(p *model.Proxy) model.NamespacedName {
	n := model.NamespacedName{Namespace: p.Namespace, Name: p.Pod}
	if b.pods.get(n) == nil && len(p.IPs) > 0 {
		if owner := b.owners.get(address{namespace: p.Namespace, ip: p.IPs[0]}); owner != nil {
			return *owner
		}
	}
	return n
}

// selected lists what leads to a workload with these labels. Without the workload itself, target ports that are names
// are not known.
func (b *inbounds) selected(namespace string, labels map[string]string, w *registry.Workload) []InboundTarget {
	var services []*model.Service
	for k, v := range labels {
		found := b.selecting.get(pair{namespace, k, v})
		if found == nil {
			continue
		}
		for _, svc := range found.services {
			if selects(svc.Selector, labels) {
				services = append(services, svc)
			}
		}
	}
	slices.SortFunc(services, before)
	var out []InboundTarget
	for _, svc := range services {
		out = append(out, targets(svc, func(i int) []uint32 {
			if number, ok := w.TargetPort(svc.Ports[i]); ok {
				return []uint32{number}
			}
			return nil
		})...)
	}
	return out
}

// targets lists a service's ports that lead to a workload, in the order of the service. Ports that lead to the same
// port in the same protocol count once: the workload can't tell them apart.
func targets(svc *model.Service, resolve func(port int) []uint32) []InboundTarget {
	type target struct {
		number   uint32
		protocol model.Protocol
	}
	seen := make(map[target]bool, len(svc.Ports))
	var out []InboundTarget
	for i, p := range svc.Ports {
		for _, number := range resolve(i) {
			if t := (target{number, p.Protocol}); !seen[t] {
				seen[t] = true
				out = append(out, InboundTarget{Service: svc, Port: p, TargetPort: number})
			}
		}
	}
	return out
}

// selects reports whether a selector chooses labels. An empty one chooses nothing.
func selects(selector, labels map[string]string) bool {
	for k, v := range selector {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	return len(selector) > 0
}

// lookupPair is the pair of a selector that a service is found by; false for a service that selects nothing.
func lookupPair(svc *model.Service) (pair, bool) {
	if svc == nil || len(svc.Selector) == 0 {
		return pair{}, false
	}
	first := ""
	for k := range svc.Selector {
		if first == "" || k < first {
			first = k
		}
	}
	return pair{svc.Namespace, first, svc.Selector[first]}, true
}
