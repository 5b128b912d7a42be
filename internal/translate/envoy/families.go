package envoy

import "net/netip"

// Families are the address families that a proxy has addresses of. It is comparable.
type Families struct {
	V4, V6 bool
	// Stacked: a proxy with both uses both, and not only the first that a service has.
	Stacked bool
}

// FamiliesOf looks at a proxy's addresses; one without readable addresses is taken for IPv4.
func FamiliesOf(addresses []string, dualStack bool) Families {
	var f Families
	for _, a := range addresses {
		if addr, err := netip.ParseAddr(a); err == nil {
			if addr.Unmap().Is4() {
				f.V4 = true
			} else {
				f.V6 = true
			}
		}
	}
	if !f.V6 {
		f.V4 = true
	}
	f.Stacked = dualStack && f.V4 && f.V6
	return f
}

// Wildcard is the address that means any address.
func (f Families) Wildcard() string {
	if f.V4 {
		return "0.0.0.0"
	}
	return "::"
}

// Dual reports whether the proxy has addresses of both families, and uses both.
func (f Families) Dual() bool { return f.Stacked }

// ExtraWildcard is the wildcard address of the family that Wildcard is not of, or empty for a proxy of one family.
func (f Families) ExtraWildcard() string {
	if f.V4 && f.V6 {
		return "::"
	}
	return ""
}

// InboundSource is the source address of connections from the proxy to its own workload. The redirection rules of the
// pod know it, and let it through instead of sending it back to the proxy.
func (f Families) InboundSource() string {
	if f.V4 {
		return "127.0.0.6"
	}
	return "::6"
}

// Localhost is the loopback address.
func (f Families) Localhost() string {
	if f.V4 {
		return "127.0.0.1"
	}
	return "::1"
}

// Reachable keeps the addresses of families that the proxy has: of both only if it uses both, else of the first.
func (f Families) Reachable(addresses []string) []string {
	var out []string
	for _, a := range addresses {
		addr, err := netip.ParseAddr(a)
		if err != nil {
			continue
		}
		if v4 := addr.Unmap().Is4(); v4 && f.V4 || !v4 && f.V6 {
			out = append(out, a)
			if !f.Stacked {
				f = Families{V4: v4, V6: !v4}
			}
		}
	}
	return out
}
