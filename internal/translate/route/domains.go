package route

import (
	"strings"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate/names"
)

// domains are the host names that mean a service on its port. Ports need not be listed: Envoy ignores them in matching.
func domains(service *snapshot.Service, c class) []string {
	var out []string
	for _, hostname := range append([]string{service.Hostname}, service.Aliases...) {
		out = append(out, hostname)
		out = append(out, names.Aliases(hostname, c.domain)...)
	}
	if service.Resolution == model.ResolutionPassthrough {
		// Members of a headless service have names below the service's.
		for _, d := range out {
			out = append(out, "*."+d)
		}
	}
	for _, a := range c.families.Reachable(service.Addresses) {
		if strings.Contains(a, ":") {
			a = "[" + a + "]"
		}
		out = append(out, a)
	}
	return out
}

// taken are the domains of the virtual hosts so far. Envoy refuses a table with a domain that occurs twice, so that
// one pair of services with the same address would take the routes of all others with it.
type taken map[string]struct{}

// claim keeps the domains that nobody has, and marks them as taken. Case does not matter in host names.
func (t taken) claim(domains []string) []string {
	var out []string
	for _, d := range domains {
		lower := strings.ToLower(d)
		if _, ok := t[lower]; ok {
			continue
		}
		t[lower] = struct{}{}
		out = append(out, d)
	}
	return out
}
