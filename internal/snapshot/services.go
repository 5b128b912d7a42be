package snapshot

import (
	"context"
	"slices"
	"strings"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/registry"
)

// services compiles the services that are dirty, and the lists they are in.
func (b *build) services(ctx context.Context, next *Snapshot, d dirty, domain string) error {
	domains := trustDomains(next.mesh.Config)
	entries := map[string]*entry{}
	e := edits{map[string]*Service{}, map[uint32]map[string]*Service{}, map[string]*Endpoints{}, map[string]*Service{}}
	inPort := func(svc *model.Service, record *Service) {
		for _, p := range svc.Ports {
			if e.ports[p.Number] == nil {
				e.ports[p.Number] = map[string]*Service{}
			}
			e.ports[p.Number][svc.Hostname] = record
		}
	}
	for n := range d.services {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		hostname := registry.Hostname(n, domain)
		old := b.base.entries.get(hostname)
		now := b.entry(n, hostname, next.mesh, domains, d)
		if old == now {
			continue
		}
		entries[hostname] = now
		e.heads[hostname] = now.head()
		var was, is *Service
		if old != nil {
			was = old.service
		}
		if now != nil {
			is = now.service
		}
		e.owners[hostname] = is
		if was == is {
			continue
		}
		e.services[hostname] = is
		if was != nil {
			inPort(was.Service, nil)
		}
		if is != nil {
			inPort(is.Service, is)
		}
	}
	b.changed = b.changed || len(entries) > 0
	next.entries = next.entries.with(entries)
	b.lists(next, e)
	return nil
}

// entry compiles one service, or gives nil if there is none. What did not change is the last snapshot's.
func (b *build) entry(n name, hostname string, mesh *Mesh, domains []string, d dirty) *entry {
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
	lists := b.known.endpoints(svc, b.from)
	b.unselected(n, svc, lists, d)

	now := &entry{service: &Service{
		Service: svc, Identities: identities(svc, lists, domains), Aliases: b.known.aliasesOf(svc),
		Mutual: mutual(svc, lists), ShownTo: shownTo(svc, mesh),
	}}
	same := false
	if s := last.service; s != nil && sameRecord(s, now.service) {
		now.service, same = s, true
	}
	for i, p := range svc.Ports {
		var old *Endpoints
		for _, e := range last.endpoints {
			if e.Port.Name == p.Name && (old == nil || e.Port == p) {
				old = e
			}
		}
		eps := endpointsOf(svc, p, lists[i], old)
		same = same && eps == old
		now.endpoints = append(now.endpoints, eps)
	}
	if same {
		return last
	}
	return now
}

// mutual lists the ports of a headless service whose members all take mutual TLS.
func mutual(svc *model.Service, lists [][]*model.Endpoint) []uint32 {
	if svc.Resolution != model.ResolutionPassthrough {
		return nil
	}
	var out []uint32
	for i, p := range svc.Ports {
		if len(lists[i]) > 0 && !slices.ContainsFunc(lists[i], func(e *model.Endpoint) bool { return !e.MutualTLS }) {
			out = append(out, p.Number)
		}
	}
	return out
}

// endpointsOf makes the record of a port's endpoints, or keeps the old one.
func endpointsOf(svc *model.Service, port model.Port, list []*model.Endpoint, old *Endpoints) *Endpoints {
	now := &Endpoints{Service: svc, Port: port, All: make([]*model.Endpoint, 0, len(list))}
	var before []*model.Endpoint
	if old != nil {
		before = old.All
	}
	for _, ep := range list {
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

// identities lists who answers for a service, by its own word or being behind it, also while it is not healthy: a
// workload that turns ready needs no new cluster then. The aliases of the trust domain are as good as itself (as in Istio).
func identities(svc *model.Service, lists [][]*model.Endpoint, domains []string) []string {
	type account struct{ namespace, name string }
	accounts := set[account]{}
	for _, name := range svc.Accounts {
		accounts[account{svc.Namespace, name}] = struct{}{}
	}
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
			out = append(out, spiffe+domain+"/ns/"+a.namespace+"/sa/"+a.name)
		}
	}
	for _, id := range svc.Identities {
		out = append(out, id)
		if _, path, ok := strings.Cut(strings.TrimPrefix(id, spiffe), "/"); ok && strings.HasPrefix(id, spiffe) {
			for _, alias := range domains[1:] {
				out = append(out, spiffe+alias+"/"+path)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// spiffe begins the identity of a workload.
const spiffe = "spiffe://"

// trustDomains are the trust domain and its aliases as SPIFFE identities spell them: Istio writes "." for "@", which
// old trust domains were made with.
func trustDomains(m *meshv1alpha1.MeshConfig) []string {
	out := append([]string{m.GetTrustDomain()}, m.GetTrustDomainAliases()...)
	for i, d := range out {
		out[i] = strings.ReplaceAll(d, "@", ".")
	}
	return out
}
