package admin

import (
	"net/http"
	"net/netip"
)

// Authenticator decides who may see pages from another machine.
type Authenticator interface {
	// Authenticate lets a request in, or says in an error why not. The error is shown to who asks.
	Authenticate(*http.Request) error
}

// Loopback reports whether an address, with or without port, is this machine's own loopback: whoever comes from there
// is on this machine, or has the right to forward a port of it.
func Loopback(address string) bool {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		withPort, err := netip.ParseAddrPort(address)
		if err != nil {
			return false
		}
		ip = withPort.Addr()
	}
	return ip.Unmap().IsLoopback()
}

// guard shows pages to this machine, and to others if the authenticator, which may be nil, lets them in. Where a request
// comes from is the address of its connection: headers that say something else are anybody's to write.
func guard(pages http.Handler, authenticator Authenticator) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !Loopback(r.RemoteAddr) {
			if authenticator == nil {
				http.Error(w, "debug pages are shown on loopback only, because this version cannot tell who else may see them: "+
					"forward the port (kubectl port-forward), or ask on the machine itself (meshd request GET "+r.URL.Path+")", http.StatusUnauthorized)
				return
			}
			if err := authenticator.Authenticate(r); err != nil {
				http.Error(w, "debug pages are for who is authenticated: "+err.Error(), http.StatusUnauthorized)
				return
			}
		}
		pages.ServeHTTP(w, r)
	})
}
