package listener

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate/names"
)

// plan is everything that tells one outbound listener from another. It is comparable.
type plan struct {
	address string
	// extra is the address of the other family, for a proxy that has both; else empty.
	extra string
	port  uint32
	// route names the route configuration of requests; empty if the listener does not look for HTTP.
	route string
	// host is the service that connections go to which are not HTTP; empty for "wherever the client was going".
	host string
	// protocol of those connections; of requests, gRPC-Web or nothing.
	protocol model.Protocol
}

// kind is how a listener treats what it takes.
type kind uint8

const (
	kindNone kind = iota // not proxied
	kindHTTP             // requests
	kindTCP              // connections
	kindAuto             // requests if it looks like HTTP, else connections
)

func kindOf(p model.Protocol) kind {
	switch {
	case p == model.ProtocolUDP:
		return kindNone
	case p == model.ProtocolAuto:
		return kindAuto
	case p.IsHTTP():
		return kindHTTP
	}
	return kindTCP
}

// plansOf lists the listeners for services with a port of one number, in a stable order.
//
// All HTTP services share the listener of the wildcard address: the request says whom it is for. Others have a listener
// at each of their addresses. Where two services claim an address and port, the older keeps it; a service whose
// protocol is to be detected adds that to the older's, unless one of both is MongoDB or MySQL, whose servers speak
// first, so that waiting for the client's first bytes would wait for ever.
func plansOf(mesh *snapshot.Mesh, view snapshot.View, ps *snapshot.PortServices, c class) []plan {
	services := slices.Clone(ps.Services)
	slices.SortFunc(services, older)
	var plans []plan
	at := map[string]int{}
	claim := func(p plan) {
		i, taken := at[p.address]
		if !taken {
			at[p.address] = len(plans)
			plans = append(plans, p)
			return
		}
		if old := &plans[i]; old.route == "" && !serverFirst(old.protocol, p.protocol) {
			old.route = p.route
		}
	}
	for _, service := range services {
		port, _ := service.Port(ps.Number)
		kind := kindOf(port.Protocol)
		if kind == kindNone || service.Resolution == model.ResolutionDNS {
			continue
		}
		if kind == kindHTTP {
			if !c.isReserved(mesh, ps.Number) {
				p := plan{
					address: c.families.Wildcard(), extra: c.families.ExtraWildcard(),
					port: ps.Number, route: names.PortRoute(ps.Number),
				}
				if port.Protocol == model.ProtocolGRPCWeb {
					p.protocol = port.Protocol // which needs a filter, if it is the oldest that does
				}
				claim(p)
			}
			continue
		}
		p := plan{port: ps.Number, host: service.Hostname, protocol: port.Protocol}
		if kind == kindAuto {
			p.route = names.ServiceRoute(service.Hostname, ps.Number)
		}
		if service.Headless() {
			for _, p.address = range members(view, service, ps.Number, c) {
				claim(p)
			}
			continue
		}
		// A service that the proxy cannot reach has a listener all the same: who dials it is then told that it failed.
		addresses := append(c.families.Reachable(service.Addresses), service.Addresses...)
		p.address = addresses[0]
		if c.families.Dual() && len(service.Addresses) > 1 {
			p.extra = addresses[1]
		}
		claim(p)
	}
	return plans
}

// older orders services that compete for a listener: by age, then by name, then by namespace. (Istio's order. Where
// services compete for a port of a workload it is another one, see translate.Older.)
func older(a, b *snapshot.Service) int {
	return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
}

// members are the addresses that clients of a headless service connect to, whatever their health: clients dial what DNS
// tells them. A pod's calls to itself do not leave it, so its own address is left out.
func members(view snapshot.View, service *snapshot.Service, port uint32, c class) []string {
	endpoints := view.Endpoints(service.Hostname, port)
	if endpoints == nil {
		return nil
	}
	var out []string
	for _, e := range endpoints.All {
		a := e.Addresses[0]
		if _, err := netip.ParseAddr(a); err == nil && a != c.self && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

// serverFirst reports whether detecting HTTP would break one of two protocols on one port.
func serverFirst(a, b model.Protocol) bool {
	for _, p := range []model.Protocol{a, b} {
		if p == model.ProtocolMongo || p == model.ProtocolMySQL {
			return a != b
		}
	}
	return false
}

// isReserved reports whether a wildcard listener on the port would collide with one that the proxy has anyway.
func (c class) isReserved(mesh *snapshot.Mesh, port uint32) bool {
	return port == c.reserved[0] || port == c.reserved[1] ||
		port == uint32(mesh.Config.GetProxyListenPort()) || port == uint32(mesh.Config.GetProxyInboundListenPort())
}
