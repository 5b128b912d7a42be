package snapshot

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/registry"
)

// Place is where a client or an endpoint is, from its network to its node; what is not known is empty. It is comparable.
type Place struct {
	Network string
	model.Locality
	Node string
}

// PlaceUse says how much of the place of a client is read. Uses add up by or.
type PlaceUse uint8

const (
	// UsesZone: the network, the region and the zone.
	UsesZone PlaceUse = 1 << iota
	// UsesSubZone: the subzone, beside what UsesZone says.
	UsesSubZone
	// UsesNode: the node, and nothing else.
	UsesNode
)

// UsesNearest is everything.
const UsesNearest = UsesZone | UsesSubZone | UsesNode

// Of keeps of a place what is used.
func (u PlaceUse) Of(p Place) Place {
	var out Place
	if u&UsesZone != 0 {
		out.Network, out.Region, out.Zone = p.Network, p.Region, p.Zone
	}
	if u&UsesSubZone != 0 {
		out.SubZone = p.SubZone
	}
	if u&UsesNode != 0 {
		out.Node = p.Node
	}
	return out
}

// Placed reports what the choice of a service's endpoints reads of the place of a client.
func Placed(s *model.Service) PlaceUse {
	var use PlaceUse
	if s.NodeLocal {
		use |= UsesNode
	}
	switch s.Distribution {
	case model.DistributeZone:
		use |= UsesZone
	case model.DistributeNode:
		use |= UsesNearest
	}
	return use
}

func placedOf(services []*Service) PlaceUse {
	var use PlaceUse
	for _, s := range services {
		use |= Placed(s.Service)
	}
	return use
}

// places finds where workloads are.
type places struct {
	pods  table[model.NamespacedName, podPlace]
	nodes table[string, model.Locality]
}

// podPlace is what a pod itself says of where it is. It is comparable.
type podPlace struct {
	node string
	// claimed goes before what the node says, labelled after it.
	claimed  model.Locality
	labelled Place
}

func placeOfPod(w *registry.Workload) podPlace {
	return podPlace{node: w.Node, claimed: w.Locality, labelled: labelledPlace(w.Labels)}
}

// labelledPlace reads the labels that nodes are placed by, and Kubernetes may copy to their pods.
func labelledPlace(labels map[string]string) Place {
	return Place{
		Network: labels[registry.LabelNetwork],
		Locality: model.Locality{
			Region:  labels[corev1.LabelTopologyRegion],
			Zone:    labels[corev1.LabelTopologyZone],
			SubZone: labels[registry.LabelSubZone],
		},
		Node: labels[corev1.LabelHostname],
	}
}

// PlaceOf finds where an endpoint is.
func PlaceOf(e *model.Endpoint) Place {
	out := labelledPlace(e.Labels)
	return out.at(e.Locality, e.Node, e.Network)
}

// at says what is known better.
func (p Place) at(l model.Locality, node, network string) Place {
	for _, part := range []struct {
		to   *string
		from string
	}{{&p.Region, l.Region}, {&p.Zone, l.Zone}, {&p.SubZone, l.SubZone}, {&p.Node, node}} {
		if part.from != "" {
			*part.to = part.from
		}
	}
	if p.Network == "" {
		p.Network = network
	}
	return p
}

// Place finds where a proxy is: where its pod is, or while that is not known where the proxy says it is.
func (s *Snapshot) Place(p *model.Proxy) Place {
	s.reads.note(key{what: anyPlace})
	meta := &p.Metadata
	pod := s.places.pods.get(s.inbounds.podOf(p))
	if pod == nil {
		pod = &podPlace{labelled: labelledPlace(meta.Labels)}
		if pod.labelled.Locality == (model.Locality{}) {
			pod.claimed = registry.ClaimedLocality(meta.Labels)
		}
	}
	locality := pod.claimed
	if locality == (model.Locality{}) {
		if l := s.places.nodes.get(pod.node); l != nil {
			locality = *l
		}
	}
	if locality == (model.Locality{}) && pod.labelled.Locality == (model.Locality{}) {
		locality = p.Locality
	}
	return pod.labelled.at(locality, meta.NodeName, meta.Network)
}

// places brings up to date where workloads are.
func (b *build) places(next *places, d dirty) {
	pods := map[name]*podPlace{}
	for n := range d.pods {
		var now *podPlace
		if w := b.known.pods[n]; w != nil {
			place := placeOfPod(w)
			now = &place
		}
		if old := next.pods.get(n); old == nil || now == nil || *old != *now {
			if old != nil || now != nil {
				pods[n] = now
			}
		}
	}
	nodes := map[string]*model.Locality{}
	for n := range d.nodes {
		nodes[n] = nil
		if l, ok := b.known.nodes[n]; ok {
			nodes[n] = &l
		}
	}
	b.changed = b.changed || len(pods)+len(nodes) > 0
	next.pods, next.nodes = next.pods.with(pods), next.nodes.with(nodes)
}
