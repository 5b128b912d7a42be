package debug

import (
	"net/http"
	"time"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/names"
)

// event is what a line of /debug/push_status is about.
type event struct {
	Proxy   string `json:"proxy,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is for what is withheld.
	Since time.Time `json:"since,omitzero"`
}

// failed is where resources stand that are withheld, by flavor, type and name.
const failed = "meshd_xds_resources_failed_total"

// pushStatus shows what is wrong, by the names of istiod's metrics and then by what it is about.
func (p *Pages) pushStatus(w http.ResponseWriter, r *http.Request) {
	s := p.snapshot(w)
	if s == nil {
		return
	}
	out := map[string]map[string]event{}
	note := func(metric, about string, e event) {
		if out[metric] == nil {
			out[metric] = map[string]event{}
		}
		out[metric][about] = e
	}
	for _, svc := range s.Services() {
		if svc.Resolution == model.ResolutionEDS {
			emptyPorts(s, svc, func(cluster string) {
				note("pilot_eds_no_instances", cluster, event{Message: "there is no endpoint behind it"})
			})
		}
	}
	for _, c := range p.clients() {
		for _, conflict := range translate.Conflicts(s.Inbound(c.Proxy)) {
			note("pilot_conflict_inbound_listener", conflict.String(), event{Proxy: c.Proxy.ID,
				Message: "two protocols for one port of the workload: that of the older service counts"})
		}
		for _, t := range c.Types {
			for name, held := range t.Withheld {
				about := string(c.Proxy.Flavor) + "/" + t.Type.Short + "/" + name
				if before, twice := out[failed][about]; !twice || held.Since.Before(before.Since) {
					note(failed, about, event{Proxy: c.Proxy.ID, Message: held.Err.Error(), Since: held.Since})
				}
			}
			if t.RefusedVersion != "" {
				note("pilot_xds_"+t.Type.Short+"_reject", connectionID(c), event{Proxy: c.Proxy.ID, Message: t.Refused})
			}
		}
	}
	write(w, r, out)
}

func emptyPorts(s *snapshot.Snapshot, svc *snapshot.Service, empty func(cluster string)) {
	for _, pt := range svc.Ports {
		if eps := s.Endpoints(svc.Hostname, pt.Number); pt.Protocol != model.ProtocolUDP && eps != nil && len(eps.All) == 0 {
			empty(names.Outbound(svc.Hostname, pt.Number))
		}
	}
}
