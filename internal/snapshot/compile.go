package snapshot

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/registry"
)

// DefaultDomain is the DNS domain of a cluster that does not say otherwise.
const DefaultDomain = "cluster.local"

// ErrNoMesh is what compiling without a usable mesh config gives.
var ErrNoMesh = errors.New("the mesh config is missing or has no trust domain")

// Options of a Compiler.
type Options struct {
	// DNSDomain of the cluster; DefaultDomain if empty.
	DNSDomain string
	// ClusterID of the cluster that the stores describe; registry.DefaultCluster if empty.
	ClusterID string
}

// Compiler makes snapshots of stores. It is not safe for concurrent use; snapshots are.
type Compiler struct {
	stores *config.Stores
	mesh   func() *meshv1alpha1.MeshConfig
	opts   Options
	intern *interner

	// known is nil before the first compilation and after one that failed: then nothing is known for certain.
	known *known
	last  *Snapshot
	// compiled counts compilations.
	compiled uint64
}

// NewCompiler makes a compiler of stores. The mesh config is asked for at the first compilation, and when it changed.
func NewCompiler(stores *config.Stores, mesh func() *meshv1alpha1.MeshConfig, opts Options) *Compiler {
	if opts.DNSDomain == "" {
		opts.DNSDomain = DefaultDomain
	}
	if opts.ClusterID == "" {
		opts.ClusterID = registry.DefaultCluster
	}
	return &Compiler{stores: stores, mesh: mesh, opts: opts, intern: newInterner(), last: &Snapshot{}}
}

// Compile makes a snapshot in which the objects that the changes name are as they are now. The first call reads
// everything, whatever the changes; so does the first call after one that failed. Records whose content is what it was
// keep their pointer, always. If no record differs, the result is the snapshot of the call before.
//
// The errors are config.ErrNotSynced and ErrNoMesh.
func (c *Compiler) Compile(token config.Synced, changes map[model.Change]struct{}) (*Snapshot, error) {
	view, err := c.stores.Read(token)
	if err != nil {
		return nil, fmt.Errorf("compile a snapshot: %w", err)
	}
	k, base := c.known, c.last
	if k == nil {
		k, base, changes = newKnown(), &Snapshot{}, everything(view)
	}
	// Should anything go wrong from here on, what was read is in doubt, and the next call starts afresh.
	c.known = nil
	b := &build{known: k, base: base, last: c.last, cluster: c.opts.ClusterID, intern: c.intern}
	next, err := b.run(view, changes, c.mesh, c.opts.DNSDomain)
	if err != nil {
		return nil, fmt.Errorf("compile a snapshot: %w", err)
	}
	c.known = k
	c.compiled++
	if c.compiled > 1 && !b.changed {
		return c.last, nil
	}
	next.version = c.compiled
	c.last = next
	return next, nil
}

// build is one compilation.
type build struct {
	known *known
	// base is the snapshot that the changes apply to, last the one whose records are kept; they differ only when
	// everything is read again.
	base, last *Snapshot
	cluster    string
	intern     *interner
	// changed reports that a record is not the one it was.
	changed bool
}

func (b *build) run(view config.View, changes set[model.Change], mesh func() *meshv1alpha1.MeshConfig, domain string) (*Snapshot, error) {
	next := *b.base
	next.inbounds.intern = b.intern
	identityChanged := false
	if changesMesh(changes) {
		m, err := b.meshOf(mesh(), domain)
		if err != nil {
			return nil, err
		}
		identityChanged = b.base.mesh != nil && !slices.Equal(trustDomains(b.base.mesh.Config), trustDomains(m.Config))
		next.mesh = m
	}
	d := b.known.read(view, changes, domain)
	if identityChanged {
		for n := range b.known.services {
			d.services[n] = struct{}{}
		}
	}
	b.services(&next, d, domain)
	b.inbounds(&next.inbounds, d)
	return &next, nil
}

func changesMesh(changes set[model.Change]) bool {
	for c := range changes {
		if c.Kind == model.KindMeshConfig {
			return true
		}
	}
	return false
}

func (b *build) meshOf(m *meshv1alpha1.MeshConfig, domain string) (*Mesh, error) {
	if m.GetTrustDomain() == "" {
		return nil, ErrNoMesh
	}
	if last := b.last.mesh; last != nil && proto.Equal(last.Config, m) {
		return last, nil
	}
	b.changed = true
	return &Mesh{Config: m, DNSDomain: domain}, nil
}

// services compiles the services that are dirty, and the lists they are in.
func (b *build) services(next *Snapshot, d dirty, domain string) {
	entries := map[string]*entry{}
	records := map[string]*Service{}
	ports := map[uint32]map[string]*Service{}
	inPort := func(svc *model.Service, record *Service) {
		for _, p := range svc.Ports {
			if ports[p.Number] == nil {
				ports[p.Number] = map[string]*Service{}
			}
			ports[p.Number][svc.Hostname] = record
		}
	}
	for n := range d.services {
		hostname := registry.Hostname(n, domain)
		old := b.base.entries.get(hostname)
		now := b.entry(n, hostname, next.mesh.Config, d)
		if old == now {
			continue
		}
		entries[hostname] = now
		var was, is *Service
		if old != nil {
			was = old.service
		}
		if now != nil {
			is = now.service
		}
		if was == is {
			continue
		}
		records[hostname] = is
		if was != nil {
			inPort(was.Service, nil)
		}
		if is != nil {
			inPort(is.Service, is)
		}
	}
	b.changed = b.changed || len(entries) > 0
	next.entries = next.entries.with(entries)
	next.services, _ = replace(next.services, byHostname, records)

	lists := map[uint32]*PortServices{}
	for number, changes := range ports {
		var list []*Service
		if old := b.base.Port(number); old != nil {
			list = old.Services
		}
		list, _ = replace(list, byHostname, changes)
		switch last := b.last.Port(number); {
		case len(list) == 0:
			lists[number] = nil
		case last != nil && slices.Equal(last.Services, list):
			lists[number] = last
		default:
			lists[number] = &PortServices{Number: number, Services: list}
		}
	}
	next.ports, _ = replace(next.ports, byNumber, lists)
}

// entry compiles one service, or gives nil if there is none. What did not change is the last snapshot's.
func (b *build) entry(n name, hostname string, mesh *meshv1alpha1.MeshConfig, d dirty) *entry {
	last := b.last.entries.get(hostname)
	svc := b.known.services[n]
	if svc == nil {
		b.known.forget(n)
		b.unselected(n, nil, nil, d)
		return nil
	}
	if last == nil {
		last = &entry{}
	} else if sameService(last.service.Service, svc) {
		svc = last.service.Service
		b.known.services[n] = svc
	}
	lists := b.known.endpoints(svc, b.cluster)
	b.unselected(n, svc, lists, d)

	now := &entry{service: &Service{Service: svc, Identities: identities(lists, trustDomains(mesh))}}
	same := false
	if s := last.service; s != nil && s.Service == svc && slices.Equal(s.Identities, now.service.Identities) {
		now.service, same = s, true
	}
	for i, p := range svc.Ports {
		var old *Endpoints
		for _, e := range last.endpoints {
			if e.Port.Name == p.Name {
				old = e
			}
		}
		eps := endpointsOf(svc, p, lists[i], old)
		same = same && eps == old
		now.endpoints = append(now.endpoints, eps)
	}
	if same && len(now.endpoints) == len(last.endpoints) {
		return last
	}
	return now
}

// endpointsOf makes the record of a port's endpoints, or keeps the old one.
func endpointsOf(svc *model.Service, port model.Port, list []*model.Endpoint, old *Endpoints) *Endpoints {
	now := &Endpoints{Service: svc, Port: port, All: make([]*model.Endpoint, 0, len(list))}
	var before []*model.Endpoint
	if old != nil {
		before = old.All
	}
	for _, ep := range list {
		if ep.Health == model.Unhealthy {
			continue
		}
		// Both lists are sorted, so what was passed over does not come again.
		for len(before) > 0 && registry.CompareEndpoints(before[0], ep) < 0 {
			before = before[1:]
		}
		if len(before) > 0 && sameEndpoint(before[0], ep) {
			ep = before[0]
		}
		now.All = append(now.All, ep)
	}
	if old != nil && old.Service == svc && old.Port == port && slices.Equal(old.All, now.All) {
		return old
	}
	return now
}

// identities lists who answers for a service, also while it is not healthy: a workload that turns ready needs no new
// cluster then. The aliases of the trust domain are as good as itself (as in Istio).
func identities(lists [][]*model.Endpoint, domains []string) []string {
	type account struct{ namespace, name string }
	accounts := set[account]{}
	for _, list := range lists {
		for _, ep := range list {
			if ep.ServiceAccount != "" {
				accounts[account{ep.Namespace, ep.ServiceAccount}] = struct{}{}
			}
		}
	}
	out := make([]string, 0, len(accounts)*len(domains))
	for a := range accounts {
		for _, domain := range domains {
			out = append(out, "spiffe://"+domain+"/ns/"+a.namespace+"/sa/"+a.name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// trustDomains are the trust domain and its aliases as SPIFFE identities spell them: Istio writes "." for "@", which
// old trust domains were made with.
func trustDomains(m *meshv1alpha1.MeshConfig) []string {
	out := append([]string{m.GetTrustDomain()}, m.GetTrustDomainAliases()...)
	for i, d := range out {
		out[i] = strings.ReplaceAll(d, "@", ".")
	}
	return out
}

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
	type labelKey struct{ namespace, key string }
	changes := map[pair]map[name]*model.Service{}
	values := map[labelKey]set[string]{}
	change := func(svc *model.Service, now *model.Service) {
		p, ok := lookupPair(svc)
		if !ok {
			return
		}
		if changes[p] == nil {
			changes[p] = map[name]*model.Service{}
		}
		changes[p][svc.NamespacedName] = now
		at := labelKey{p.namespace, p.key}
		if values[at] == nil {
			values[at] = set[string]{}
		}
		values[at][p.value] = struct{}{}
	}
	for n, old := range d.redefined {
		change(old, nil)
		change(b.known.services[n], b.known.services[n])
	}
	found := map[pair]*candidates{}
	for p, services := range changes {
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
			slices.SortFunc(list, before)
			found[p] = &candidates{list}
		}
	}
	b.changed = b.changed || len(found) > 0
	next.selecting = next.selecting.with(found)
	for at, wanted := range values {
		for n := range b.known.podsIn[at.namespace] {
			if value, ok := b.known.pods[n].Labels[at.key]; ok {
				if _, ok := wanted[value]; ok {
					d.pods[n] = struct{}{}
				}
			}
		}
	}
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
