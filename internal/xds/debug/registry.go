package debug

import (
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
)

// service is an element of /debug/registryz.
type service struct {
	Attributes      attributes
	Ports           []port    `json:"ports,omitempty"`
	ServiceAccounts []string  `json:"serviceAccounts,omitempty"`
	CreationTime    time.Time `json:"creationTime,omitzero"`
	Hostname        string    `json:"hostname"`
	ClusterVIPs     addresses `json:"clusterVIPs"`
	DefaultAddress  string    `json:"defaultAddress,omitempty"`
	Resolution      int
	MeshExternal    bool
}

type attributes struct {
	ServiceRegistry string
	Name            string
	Namespace       string
	LabelSelectors  map[string]string `json:",omitempty"`
	Aliases         []string          `json:",omitempty"`
	ExternalName    string            `json:",omitempty"`
}

type port struct {
	Name     string         `json:"name,omitempty"`
	Port     uint32         `json:"port"`
	Protocol model.Protocol `json:"protocol,omitempty"`
}

// addresses are by cluster.
type addresses struct{ Addresses map[string][]string }

// registryName is what istiod calls the source of Kubernetes services.
const registryName = "Kubernetes"

// resolution is the number that istiod writes.
func resolution(r model.Resolution) int {
	switch r {
	case model.ResolutionDNS:
		return 1
	case model.ResolutionPassthrough:
		return 2
	}
	return 0
}

func (p *Pages) registryz(w http.ResponseWriter, r *http.Request) {
	s := p.snapshot(w)
	if s == nil {
		return
	}
	writeList(w, r, "[", "]", func(yield func(service) bool) {
		for _, svc := range s.Services() {
			if !yield(p.serviceOf(svc)) {
				return
			}
		}
	})
}

func (p *Pages) serviceOf(s *snapshot.Service) service {
	out := service{
		Attributes: attributes{
			ServiceRegistry: registryName, Name: s.Name, Namespace: s.Namespace, LabelSelectors: s.Selector, Aliases: s.Aliases, ExternalName: s.ExternalName,
		},
		ServiceAccounts: s.Identities, Hostname: s.Hostname, Resolution: resolution(s.Resolution),
		ClusterVIPs: addresses{map[string][]string{}},
	}
	if s.Created != 0 {
		out.CreationTime = time.Unix(s.Created, 0).UTC()
	}
	if len(s.Addresses) > 0 {
		out.ClusterVIPs.Addresses[p.deps.ClusterID], out.DefaultAddress = s.Addresses, s.Addresses[0]
	}
	for _, pt := range s.Ports {
		out.Ports = append(out.Ports, port{pt.Name, pt.Number, pt.Protocol})
	}
	return out
}

// shards are the endpoints of a service: an element of /debug/endpointz.
type shards struct {
	// Shards are by registry and cluster, "Kubernetes/cluster1".
	Shards          map[string][]backend
	ServiceAccounts map[string]struct{}
}

type backend struct {
	Labels          map[string]string
	Addresses       []string
	ServicePortName string
	ServiceAccount  string
	Network         string
	Locality        place
	EndpointPort    uint32
	LbWeight        uint32
	TLSMode         string
	Namespace       string
	WorkloadName    string
	HealthStatus    int
	NodeName        string
}

type place struct{ Label, ClusterID string }

// health gives the number that istiod writes, and the name of it.
func health(h model.Health) (number int, name string) {
	switch h {
	case model.Healthy:
		return 1, "healthy"
	case model.Unhealthy:
		return 2, "unhealthy"
	case model.Draining:
		return 3, "draining"
	}
	return 4, "terminating"
}

// endpointsOf gives the endpoints of a service, port by port.
func endpointsOf(s *snapshot.Snapshot, svc *snapshot.Service) iter.Seq2[model.Port, *model.Endpoint] {
	return func(yield func(model.Port, *model.Endpoint) bool) {
		for _, pt := range svc.Ports {
			eps := s.Endpoints(svc.Hostname, pt.Number)
			if eps == nil || eps.Port != pt { // a port of UDP with the same number has none of its own
				continue
			}
			for _, e := range eps.All {
				if !yield(pt, e) {
					return
				}
			}
		}
	}
}

func (p *Pages) endpointz(w http.ResponseWriter, r *http.Request) {
	s := p.snapshot(w)
	if s == nil {
		return
	}
	if r.URL.Query().Has("brief") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		for _, svc := range s.Services() {
			for pt, e := range endpointsOf(s, svc) {
				_, state := health(e.Health)
				fmt.Fprintf(w, "%s:%d %s:%d %s %s %s %s\n", svc.Hostname, pt.Number, e.Addresses[0], e.Port, state,
					dash(e.Locality.String()), dash(e.Pod), dash(e.ServiceAccount))
			}
		}
		return
	}
	writeMap(w, r, func(yield func(string, map[string]shards) bool) {
		for _, svc := range s.Services() {
			if all := shardsOf(s, svc); len(all.Shards) > 0 && !yield(svc.Hostname, map[string]shards{svc.Namespace: all}) {
				return
			}
		}
	})
}

// dash stands for nothing in a table of words.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func shardsOf(s *snapshot.Snapshot, svc *snapshot.Service) shards {
	out := shards{Shards: map[string][]backend{}, ServiceAccounts: map[string]struct{}{}}
	for pt, e := range endpointsOf(s, svc) {
		tls := ""
		if e.MutualTLS {
			tls = "istio"
		}
		state, _ := health(e.Health)
		key := registryName + "/" + e.ClusterID
		out.Shards[key] = append(out.Shards[key], backend{
			Labels: e.Labels, Addresses: e.Addresses, ServicePortName: pt.Name, ServiceAccount: e.ServiceAccount, Network: e.Network,
			Locality:     place{e.Locality.String(), e.ClusterID},
			EndpointPort: e.Port, LbWeight: e.Weight, TLSMode: tls, Namespace: e.Namespace, WorkloadName: e.Workload,
			HealthStatus: state, NodeName: e.Node,
		})
	}
	for _, id := range svc.Identities {
		out.ServiceAccounts[id] = struct{}{}
	}
	return out
}
