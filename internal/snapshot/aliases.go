package snapshot

import (
	"cmp"
	"slices"
	"strings"

	"github.com/meshd/meshd/internal/model"
)

// followAliases marks the services whose aliases may differ: those that redefined aliases led to, or lead to now.
func (k *known) followAliases(domain string, d dirty) {
	for n, old := range d.redefined {
		for _, svc := range []*model.Service{old, k.services[n]} {
			if svc == nil || svc.Resolution != model.ResolutionDNS {
				continue
			}
			if target, ok := k.aliased(svc.ExternalName, domain); ok {
				d.services[target] = struct{}{}
			}
		}
	}
}

// aliased finds the service that a hostname means in the end; false if that is none, or aliases lead in a circle.
func (k *known) aliased(hostname, domain string) (name, bool) {
	for seen := (set[name]{}); ; {
		n, ok := serviceName(hostname, domain)
		svc := k.services[n]
		if _, twice := seen[n]; !ok || twice || svc == nil {
			return name{}, false
		}
		if svc.Resolution != model.ResolutionDNS {
			return n, true
		}
		seen[n] = struct{}{}
		hostname = svc.ExternalName
	}
}

// aliasesOf lists the hostnames that lead to a service which is no alias itself.
func (k *known) aliasesOf(svc *model.Service) []string {
	if svc.Resolution == model.ResolutionDNS || len(k.aliases[svc.Hostname]) == 0 {
		return nil
	}
	var found []*model.Service
	// An alias leads to one name, and this service leads to none: so there are no circles on the way back.
	for hostnames := []string{svc.Hostname}; len(hostnames) > 0; hostnames = hostnames[1:] {
		for n := range k.aliases[hostnames[0]] {
			alias := k.services[n]
			found = append(found, alias)
			hostnames = append(hostnames, alias.Hostname)
		}
	}
	slices.SortFunc(found, func(a, b *model.Service) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Hostname, b.Hostname))
	})
	out := make([]string, len(found))
	for i, alias := range found {
		out[i] = alias.Hostname
	}
	return out
}

// serviceName reads the name of a service off its hostname; false for a hostname that is not of the cluster.
func serviceName(hostname, domain string) (name, bool) {
	short, ok := strings.CutSuffix(hostname, ".svc."+domain)
	service, namespace, dotted := strings.Cut(short, ".")
	return name{Namespace: namespace, Name: service}, ok && dotted
}
