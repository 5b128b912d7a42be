// Package nametable makes Istio's name table: every name of the mesh and the addresses behind it, for agents that answer
// the DNS questions of their workload themselves. An agent asks for it if it captures DNS (node metadata DNS_CAPTURE).
package nametable

import (
	"net/netip"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/envoy"
)

// TypeURL of the resource.
const TypeURL = "type.googleapis.com/istio.networking.nds.v1.NameTable"

// Name of the only resource. Agents ask for all there is and take the first, whatever its name.
const Name = "nametable"

// registry is where the names come from, in Istio's words: with it an agent knows that short forms of the name exist.
const registry = "Kubernetes"

// New makes the generator of name tables for the agents of clients of a flavor.
func New(flavor model.Flavor) translate.Generator { return translate.Typed(newGenerator(flavor)) }

// class is what decides which names a workload sees, and which of their addresses it can use.
type class struct {
	scope snapshot.Scope
	reach reach
	// gateway says that it is one. istiod gives gateways an empty table: they have no workload whose questions they answer.
	gateway bool
}

// reach is where a workload is.
type reach struct {
	families         envoy.Families
	cluster, network string
}

type generator struct {
	flavor model.Flavor
	schema schema
}

func newGenerator(flavor model.Flavor) generator { return generator{flavor, newSchema()} }

func (generator) TypeURL() string        { return TypeURL }
func (g generator) Flavor() model.Flavor { return g.flavor }
func (generator) Wildcard() bool         { return true }

func (generator) Class(s *snapshot.Snapshot, p *model.Proxy) class {
	if p.Type == model.Router {
		return class{gateway: true}
	}
	return class{scope: s.Scope(p.Namespace), reach: reach{envoy.FamiliesOf(p.IPs, s.Mesh().DualStack), p.Metadata.ClusterID, p.Metadata.Network}}
}

// key is everything that a table is made of.
type key struct {
	names *snapshot.Names // nil for none
	reach reach
}

func (g generator) List(c class) translate.Listing {
	return translate.Listing{Rest: func(s *snapshot.Snapshot) []translate.Recipe { return []translate.Recipe{g.table(s, c)} }}
}

func (g generator) table(s *snapshot.Snapshot, c class) translate.Recipe {
	var names *snapshot.Names
	if !c.gateway {
		names = s.View(c.scope).Names()
	}
	return translate.Recipe{
		Name:  Name,
		Key:   key{names, c.reach},
		Build: func() (proto.Message, error) { return g.schema.message(entries(names, c.reach)), nil },
	}
}

func (g generator) Named(s *snapshot.Snapshot, c class, name string) (translate.Recipe, bool) {
	if name != Name {
		return translate.Recipe{}, false
	}
	return g.table(s, c), true
}

// entry is what the table says of one name.
type entry struct {
	ips []string
	// short is the first part of the name, and namespace the next: an agent resolves short forms of the name by them.
	short, namespace string
}

// entries lists the names that lead to an address. Services with an address lead to it, those without to the workloads
// behind them, as in Kubernetes' own DNS. A name that stands for another one is not listed: it is resolved elsewhere.
func entries(names *snapshot.Names, r reach) map[string]entry {
	out := map[string]entry{}
	if names == nil {
		return out
	}
	for _, service := range names.Services {
		if ips := r.families.Reachable(service.Addresses); len(ips) > 0 && service.Resolution == model.ResolutionEDS {
			out[service.Hostname] = entry{ips, service.Name, service.Namespace}
		}
	}
	for _, endpoints := range names.Headless {
		r.headless(endpoints, out)
	}
	return out
}

// headless lists a service without an address and, if they have names of their own, the workloads behind it: those of
// other clusters only by such a name, and only if nobody in this one has it.
func (r reach) headless(endpoints *snapshot.Endpoints, out map[string]entry) {
	service := endpoints.Service
	name, domain, _ := strings.Cut(service.Hostname, ".")
	here := map[string]bool{}
	add := func(host, short string, e *model.Endpoint) {
		was := out[host]
		out[host] = entry{append(was.ips, e.Addresses...), short, service.Namespace}
	}
	for _, local := range []bool{true, false} {
		for _, e := range endpoints.All {
			if same(e.ClusterID, r.cluster) != local || !same(e.Network, r.network) || !answers(service, e) {
				continue
			}
			if local {
				add(service.Hostname, service.Name, e)
			}
			if e.Hostname == "" {
				continue
			}
			short := e.Hostname + "." + name
			host := short + "." + domain
			if local {
				here[host] = true
			}
			if local || !here[host] {
				add(host, short, e)
			}
		}
	}
}

// same reports whether two names of clusters or networks may be those of one: who does not say is everywhere.
func same(a, b string) bool { return a == b || a == "" || b == "" }

// answers reports whether an endpoint is one to give out: one that is ready, or of a service that gives out all.
func answers(service *model.Service, e *model.Endpoint) bool {
	return (e.Health == model.Healthy || service.PublishNotReady) && len(e.Addresses) > 0 && !slices.ContainsFunc(e.Addresses, func(a string) bool {
		_, err := netip.ParseAddr(a)
		return err != nil
	})
}
