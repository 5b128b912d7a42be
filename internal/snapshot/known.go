package snapshot

import (
	"context"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/registry"
)

// set is a set of keys.
type set[K comparable] = map[K]struct{}

// name is short for what most sets here are about.
type name = model.NamespacedName

// known is what the compiler has read of the stores, and what was made of what. It changes only by changes that were
// announced: the stores may be ahead of them, but what is announced later is then read later, for all who need it.
type known struct {
	services map[name]*model.Service
	slices   map[name]*discoveryv1.EndpointSlice
	// slicesOf are the names of the slices of a service, which need not exist.
	slicesOf index[name, name]
	pods     map[name]*registry.Workload
	podsIn   index[string, name]
	podsAt   index[address, name]
	// podsWith are the pods by those labels that some service was looked up by; keys are which.
	podsWith index[pair, name]
	keys     set[labelKey]
	nodes    map[string]model.Locality
	// readers are the services whose endpoints depend on something; reads is the other way round.
	readers index[dependency, name]
	reads   map[name]set[dependency]
	// unselected are addresses behind services whose endpoints no selector chose, with the ports by index.
	unselected map[name]map[string]map[int][]uint32
	behind     index[address, name]
	// aliases are the services that stand for another name, by that name.
	aliases index[string, name]
	// servicesIn are the services of a namespace, and namespaces what was read of it.
	servicesIn index[string, name]
	namespaces map[string]*corev1.Namespace
	// hidden are the namespaces that see a service which not everybody sees, by hostname; shown is the other way round.
	hidden map[string][]string
	shown  index[string, string]
}

// dependency is something that may or may not exist, and was looked for.
type dependency struct {
	kind model.Kind
	name
}

// kindAddress is the kind of a dependency on whose an address is.
const kindAddress model.Kind = "Address"

func newKnown() *known {
	return &known{
		services:   map[name]*model.Service{},
		slices:     map[name]*discoveryv1.EndpointSlice{},
		slicesOf:   index[name, name]{},
		pods:       map[name]*registry.Workload{},
		podsIn:     index[string, name]{},
		podsAt:     index[address, name]{},
		podsWith:   index[pair, name]{},
		keys:       set[labelKey]{},
		nodes:      map[string]model.Locality{},
		readers:    index[dependency, name]{},
		reads:      map[name]set[dependency]{},
		unselected: map[name]map[string]map[int][]uint32{},
		behind:     index[address, name]{},
		aliases:    index[string, name]{},
		servicesIn: index[string, name]{},
		namespaces: map[string]*corev1.Namespace{},
		hidden:     map[string][]string{},
		shown:      index[string, string]{},
	}
}

// index is a relation: many values for a key.
type index[K, V comparable] map[K]set[V]

func (x index[K, V]) add(key K, value V) {
	if x[key] == nil {
		x[key] = set[V]{}
	}
	x[key][value] = struct{}{}
}

func (x index[K, V]) remove(key K, value V) {
	delete(x[key], value)
	if len(x[key]) == 0 {
		delete(x, key)
	}
}

// dirty is what has to be looked at again.
type dirty struct {
	// services are those whose definition or endpoints may differ; redefined holds what was known of those whose
	// definition does.
	services  set[name]
	redefined map[name]*model.Service
	pods      set[name]
	addresses set[address]
	nodes     set[string]
}

// read takes in what the changes name, and says what depends on it.
func (k *known) read(ctx context.Context, view config.View, changes set[model.Change], domain string) (dirty, error) {
	d := dirty{set[name]{}, map[name]*model.Service{}, set[name]{}, set[address]{}, set[string]{}}
	for change := range changes {
		if ctx.Err() != nil {
			return d, context.Cause(ctx)
		}
		switch n := change.NamespacedName; change.Kind {
		case model.KindService:
			k.readService(view, n, domain, d)
		case model.KindEndpointSlice:
			k.readSlice(view, n, d)
		case model.KindPod:
			k.readPod(view, n, d)
		case model.KindNode:
			k.readNode(view, n, d)
		case model.KindNamespace:
			k.readNamespace(view, n, domain, d)
		}
	}
	k.followAliases(domain, d)
	return d, nil
}

func (k *known) readService(view config.View, n name, domain string, d dirty) {
	var now *model.Service
	if obj, ok := view.Services.Get(n); ok {
		now = registry.Service(obj, k.namespaces[n.Namespace], domain)
		k.servicesIn.add(n.Namespace, n)
	} else {
		k.servicesIn.remove(n.Namespace, n)
	}
	old := k.services[n]
	if reflect.DeepEqual(old, now) {
		return
	}
	put(k.services, n, now)
	if old != nil && old.Resolution == model.ResolutionDNS {
		k.aliases.remove(old.ExternalName, n)
	}
	if now != nil && now.Resolution == model.ResolutionDNS {
		k.aliases.add(now.ExternalName, n)
	}
	d.services[n] = struct{}{}
	if _, twice := d.redefined[n]; !twice {
		d.redefined[n] = old
	}
}

// readNamespace looks again at the services of a namespace, which may say what they do not.
func (k *known) readNamespace(view config.View, n name, domain string, d dirty) {
	now, ok := view.Namespaces.Get(n)
	if now == k.namespaces[n.Name] {
		return
	}
	if delete(k.namespaces, n.Name); ok {
		k.namespaces[n.Name] = now
	}
	for svc := range maps.Clone(k.servicesIn[n.Name]) {
		k.readService(view, svc, domain, d)
	}
}

func (k *known) readSlice(view config.View, n name, d dirty) {
	if old := k.slices[n]; old != nil {
		if svc, ok := registry.ServiceOf(old); ok {
			k.slicesOf.remove(svc, n)
			d.services[svc] = struct{}{}
		}
	}
	now, ok := view.EndpointSlices.Get(n)
	if !ok {
		delete(k.slices, n)
		return
	}
	k.slices[n] = now
	if svc, ok := registry.ServiceOf(now); ok {
		k.slicesOf.add(svc, n)
		d.services[svc] = struct{}{}
	}
}

func (k *known) readPod(view config.View, n name, d dirty) {
	var now *registry.Workload
	if obj, ok := view.Pods.Get(n); ok {
		now = registry.Pod(obj)
	}
	old := k.pods[n]
	if reflect.DeepEqual(old, now) {
		return
	}
	put(k.pods, n, now)
	d.pods[n] = struct{}{}
	k.touch(dependency{model.KindPod, n}, d)
	if old != nil {
		k.podsIn.remove(n.Namespace, n)
		k.label(old, k.podsWith.remove)
		for _, ip := range old.Addresses {
			k.podsAt.remove(address{n.Namespace, ip}, n)
			k.touchAddress(address{n.Namespace, ip}, d)
		}
	}
	if now != nil {
		k.podsIn.add(n.Namespace, n)
		k.label(now, k.podsWith.add)
		for _, ip := range now.Addresses {
			k.podsAt.add(address{n.Namespace, ip}, n)
			k.touchAddress(address{n.Namespace, ip}, d)
		}
	}
}

// label does something for each label of a pod that pods are looked up by.
func (k *known) label(w *registry.Workload, do func(pair, name)) {
	for key, value := range w.Labels {
		if _, ok := k.keys[labelKey{w.Namespace, key}]; ok {
			do(pair{w.Namespace, key, value}, w.NamespacedName)
		}
	}
}

// with gives the pods that have a label. The first question about a key looks at every pod of the namespace, those
// after it do not.
func (k *known) with(p pair) set[name] {
	at := labelKey{p.namespace, p.key}
	if _, ok := k.keys[at]; !ok {
		k.keys[at] = struct{}{}
		for n := range k.podsIn[p.namespace] {
			if value, ok := k.pods[n].Labels[p.key]; ok {
				k.podsWith.add(pair{p.namespace, p.key, value}, n)
			}
		}
	}
	return k.podsWith[p]
}

func (k *known) readNode(view config.View, n name, d dirty) {
	var now model.Locality
	if obj, ok := view.Nodes.Get(n); ok {
		now = registry.Locality(obj)
	}
	if now == k.nodes[n.Name] {
		return
	}
	if now == (model.Locality{}) {
		delete(k.nodes, n.Name)
	} else {
		k.nodes[n.Name] = now
	}
	d.nodes[n.Name] = struct{}{}
	k.touch(dependency{model.KindNode, name{Name: n.Name}}, d)
}

// touch marks who read something.
func (k *known) touch(what dependency, d dirty) { maps.Copy(d.services, k.readers[what]) }

func (k *known) touchAddress(at address, d dirty) {
	d.addresses[at] = struct{}{}
	k.touch(dependency{kindAddress, name{Namespace: at.namespace, Name: at.ip}}, d)
}

// owner names the pod that has an address, the first by name if several do, as pods in a node's network may.
func (k *known) owner(at address) (name, bool) {
	first, found := name{}, false
	for n := range k.podsAt[at] {
		if !found || n.Name < first.Name {
			first, found = n, true
		}
	}
	return first, found
}

// endpoints reads the endpoints of a service's ports, and remembers what it looked for.
func (k *known) endpoints(svc *model.Service, from registry.Origin) [][]*model.Endpoint {
	n := svc.NamespacedName
	k.forget(n)
	look := &reader{known: k, reads: set[dependency]{}}
	list := make([]*discoveryv1.EndpointSlice, 0, len(k.slicesOf[n]))
	for s := range k.slicesOf[n] {
		list = append(list, k.slices[s])
	}
	out := registry.Endpoints(svc, list, from, look)
	k.reads[n] = look.reads
	for what := range look.reads {
		k.readers.add(what, n)
	}
	return out
}

// forget drops what a service's endpoints depended on.
func (k *known) forget(n name) {
	for what := range k.reads[n] {
		k.readers.remove(what, n)
	}
	delete(k.reads, n)
}

// reader is a registry.Lookup that remembers what it was asked.
type reader struct {
	*known
	reads set[dependency]
}

func (r *reader) Pod(n name) *registry.Workload {
	r.reads[dependency{model.KindPod, n}] = struct{}{}
	return r.pods[n]
}

func (r *reader) PodAt(namespace, ip string) *registry.Workload {
	r.reads[dependency{kindAddress, name{Namespace: namespace, Name: ip}}] = struct{}{}
	if n, ok := r.owner(address{namespace, ip}); ok {
		return r.pods[n]
	}
	return nil
}

func (r *reader) Locality(node string) model.Locality {
	r.reads[dependency{model.KindNode, name{Name: node}}] = struct{}{}
	return r.nodes[node]
}

// put sets a value, or removes it if it is nil.
func put[K comparable, V any](m map[K]*V, key K, value *V) {
	if value == nil {
		delete(m, key)
		return
	}
	m[key] = value
}

// everything names all objects of the stores, as if all had changed.
func everything(view config.View) set[model.Change] {
	all := set[model.Change]{{Kind: model.KindMeshConfig}: {}}
	add := func(kind model.Kind, namespace, n string) {
		all[model.Change{Kind: kind, NamespacedName: name{Namespace: namespace, Name: n}}] = struct{}{}
	}
	for _, o := range view.Services.List() {
		add(model.KindService, o.Namespace, o.Name)
	}
	for _, o := range view.EndpointSlices.List() {
		add(model.KindEndpointSlice, o.Namespace, o.Name)
	}
	for _, o := range view.Pods.List() {
		add(model.KindPod, o.Namespace, o.Name)
	}
	for _, o := range view.Namespaces.List() {
		add(model.KindNamespace, "", o.Name)
	}
	for _, o := range view.Nodes.List() {
		add(model.KindNode, o.Namespace, o.Name)
	}
	return all
}
