package registry

import (
	"cmp"
	"net/netip"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
)

// Lookup finds what endpoints refer to. It is asked for exactly what the answer depends on, also when there is
// nothing to find: whoever remembers the questions knows when to ask again.
type Lookup interface {
	// Pod finds a pod by name, or gives nil.
	Pod(model.NamespacedName) *Workload
	// PodAt finds the pod of a namespace that has an address, or gives nil.
	PodAt(namespace, address string) *Workload
	// Locality says where a node is; zero if it is not known.
	Locality(node string) model.Locality
}

// Origin says where endpoints are from.
type Origin struct {
	// Cluster is the id of their cluster.
	Cluster string
	// DualStack makes one endpoint of the addresses that a pod has in both families.
	DualStack bool
}

// ServiceOf names the service that a slice belongs to; false if it belongs to none.
func ServiceOf(slice *discoveryv1.EndpointSlice) (model.NamespacedName, bool) {
	name := slice.Labels[discoveryv1.LabelServiceName]
	_, imported := slice.Labels[config.LabelImport]
	return model.NamespacedName{Namespace: slice.Namespace, Name: name}, name != "" && !imported
}

// Endpoints merges the slices of a service into the endpoints of each of its ports, in the order of svc.Ports, sorted
// by address and port, whatever the order of the slices. Endpoints that are not healthy are among them.
//
// A pod with addresses of both families is an endpoint in each, because the slices of a family know nothing of the other;
// with dual stack it is one endpoint of a service with both, the addresses in the order of the pod.
//
// An address that is in two slices, as happens while the slice controller moves it, counts once, and as healthy if one
// of them says so. An endpoint that refers to a pod that is not known is left out until it is: without the pod its
// identity would be guessed.
func Endpoints(svc *model.Service, sliceList []*discoveryv1.EndpointSlice, from Origin, find Lookup) [][]*model.Endpoint {
	type key struct {
		address string
		port    uint32
	}
	found := make([]map[key]*model.Endpoint, len(svc.Ports))
	for i := range found {
		found[i] = map[key]*model.Endpoint{}
	}
	sliceList = slices.SortedFunc(slices.Values(sliceList), func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Or(cmp.Compare(a.AddressType, b.AddressType), cmp.Compare(a.Name, b.Name))
	})
	for _, slice := range sliceList {
		if slice.AddressType == discoveryv1.AddressTypeFQDN {
			continue
		}
		ports := matchPorts(svc, slice)
		if len(ports) == 0 {
			continue
		}
		for i := range slice.Endpoints {
			entry := &slice.Endpoints[i]
			for _, address := range entry.Addresses {
				address = model.CanonicalAddress(address)
				record, ok := endpoint(svc, slice, entry, address, from, find)
				if !ok {
					continue
				}
				for _, p := range ports {
					k := key{record.Addresses[0], p.number}
					if had := found[p.index][k]; had != nil && rank(had.Health) <= rank(record.Health) {
						continue
					}
					ep := record
					ep.Port = p.number
					found[p.index][k] = &ep
				}
			}
		}
	}
	out := make([][]*model.Endpoint, len(svc.Ports))
	for i, m := range found {
		list := make([]*model.Endpoint, 0, len(m))
		for _, ep := range m {
			list = append(list, ep)
		}
		slices.SortFunc(list, CompareEndpoints)
		out[i] = list
	}
	return out
}

// CompareEndpoints orders endpoints by primary address and port. Addresses are compared as numbers, IPv4 before IPv6:
// that is the order in which they are given out, and so the one that slices mostly have.
func CompareEndpoints(a, b *model.Endpoint) int {
	first, second := a.Addresses[0], b.Addresses[0]
	if first == second {
		return cmp.Compare(a.Port, b.Port)
	}
	// What is not an address is zero here, and comes first.
	x, _ := netip.ParseAddr(first)
	y, _ := netip.ParseAddr(second)
	return cmp.Or(x.Compare(y), cmp.Compare(first, second))
}

// rank orders states by how much they are worth, the best first.
func rank(h model.Health) int {
	switch h {
	case model.Healthy:
		return 0
	case model.Draining:
		return 1
	case model.Unhealthy:
		return 2
	}
	return 3
}

// match is a port of a slice that is a port of the service.
type match struct {
	// index of the port in the service.
	index  int
	number uint32
}

// matchPorts finds the service's ports in a slice. They have their names in common, and an only port may have none.
// A slice port without a number says "any", which is nothing to connect to.
func matchPorts(svc *model.Service, slice *discoveryv1.EndpointSlice) []match {
	var out []match
	for _, sp := range slice.Ports {
		if sp.Port == nil || *sp.Port <= 0 {
			continue
		}
		name := ""
		if sp.Name != nil {
			name = *sp.Name
		}
		for i, p := range svc.Ports {
			if p.Name == name {
				out = append(out, match{i, uint32(*sp.Port)})
			}
		}
	}
	return out
}

// endpoint reads one address of a slice, apart from its port.
func endpoint(svc *model.Service, slice *discoveryv1.EndpointSlice, entry *discoveryv1.Endpoint, address string, from Origin, find Lookup) (model.Endpoint, bool) {
	out := model.Endpoint{
		Addresses: []string{address},
		Health:    health(svc, entry.Conditions),
		Weight:    1,
		ClusterID: from.Cluster,
	}
	if entry.Hostname != nil {
		out.Hostname = *entry.Hostname
	}
	var pod *Workload
	if ref := entry.TargetRef; ref != nil && ref.Kind == "Pod" {
		name := model.NamespacedName{Namespace: cmp.Or(ref.Namespace, slice.Namespace), Name: ref.Name}
		if pod = find.Pod(name); pod == nil {
			return out, false
		}
		if from.DualStack && len(svc.Addresses) > 1 && len(pod.Addresses) > 1 {
			if slice.AddressType == discoveryv1.AddressTypeIPv6 {
				return out, false // the slice of the other family has it
			}
			out.Addresses = pod.Addresses
		}
	} else if pod = find.PodAt(slice.Namespace, address); pod == nil {
		return out, true
	}
	out.Pod, out.Namespace, out.Workload = pod.Name, pod.Namespace, pod.Owner
	out.ServiceAccount, out.Labels, out.Node = pod.ServiceAccount, pod.Labels, pod.Node
	out.Network, out.MutualTLS = pod.Network, pod.MutualTLS
	out.Locality = pod.Locality
	if out.Locality == (model.Locality{}) && pod.Node != "" {
		out.Locality = find.Locality(pod.Node)
	}
	return out, true
}

// health reads an endpoint's conditions, of which a missing one counts as true, as in Istio. What is shutting down is of
// use only to clients that are bound to it, so it is draining only where sessions are sticky. That a service publishes
// addresses that are not ready needs no care here: Kubernetes then says that they are ready.
func health(svc *model.Service, c discoveryv1.EndpointConditions) model.Health {
	is := func(condition *bool) bool { return condition == nil || *condition }
	switch {
	case is(c.Ready):
		return model.Healthy
	case !is(c.Terminating):
		return model.Unhealthy
	case svc.KeepDraining && is(c.Serving):
		return model.Draining
	}
	return model.Terminating
}
