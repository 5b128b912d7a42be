// Package debug shows what the control plane knows and what it told whom, in the shapes of istiod's debug pages, which
// istioctl and people's scripts read (https://istio.io/latest/docs/ops/diagnostic-tools/proxy-cmd/).
//
// A page that cannot be shown yet says so; it is never empty instead. What is shown is redacted. Everything is read from
// the snapshot and the table of connections, so that a page costs a push nothing but the processor's time.
package debug

import (
	"fmt"
	"net/http"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/xds"
	"github.com/meshd/meshd/internal/xds/debug/redact"
)

// Deps is what pages are made of. All fields are required. What is not there yet gives false.
type Deps struct {
	Connections *xds.Connections
	Live        func() (*snapshot.Live, bool)
	Mesh        func() (*mesh.Live, bool)
	Stores      *config.Stores
	Synced      func() (config.Synced, bool)
	// ClusterID is the id of the cluster that services and endpoints come from.
	ClusterID string
}

// Pages makes the pages. It is safe for concurrent use.
type Pages struct {
	deps Deps
	// turn lets one dump be made at a time: each may take as much memory as the configuration of a proxy several times.
	turn chan struct{}
	// types are those of everything that may be shown.
	types    messages
	redactor redact.Redactor
}

// New makes pages. It is an error if a dependency is missing.
func New(d Deps) (*Pages, error) {
	if d.Connections == nil || d.Live == nil || d.Mesh == nil || d.Stores == nil || d.Synced == nil {
		return nil, fmt.Errorf("debug pages: connections, snapshot, mesh config and stores are all required")
	}
	types := newMessages()
	return &Pages{deps: d, turn: make(chan struct{}, 1), types: types, redactor: redact.New(types)}, nil
}

// Page is one page.
type Page struct {
	Path, Help string
	Handler    http.Handler
}

// List gives all pages.
func (p *Pages) List() []Page {
	page := func(path, help string, show func(http.ResponseWriter, *http.Request)) Page {
		return Page{"/debug/" + path, help, readOnly(show)}
	}
	return []Page{
		page("syncz", "for each proxy, what was sent and what it accepted, by type; ?namespace= for one namespace", p.syncz),
		page("adsz", "the clients: who they are and what they asked for; ?proxyID= for one", p.adsz),
		page("connections", "the open streams: who, since when, and what was sent, accepted and refused", p.connections),
		page("config_dump", "what a proxy was sent, as Envoy dumps it: ?proxyID=pod.namespace; &include_eds with endpoints; &types=cds,eds for some types", p.configDump),
		page("edsz", "the endpoints that a proxy was sent: ?proxyID=pod.namespace", p.dumpOf("eds")),
		page("ndsz", "the name table that a proxy was sent: ?proxyID=pod.namespace", p.dumpOf("nds")),
		page("ecdsz", "the extensions that a proxy was sent: ?proxyID=pod.namespace", p.dumpOf("ecds")),
		page("endpointz", "the endpoints of every service, by cluster; ?brief for one line each", p.endpointz),
		page("endpointShardz", "the same as endpointz", p.endpointz),
		page("registryz", "the services", p.registryz),
		page("configz", "the objects that configuration is made of, as far as they are read; ?kind= and ?namespace= for some", p.configz),
		page("push_status", "what is wrong with the present configuration: services without endpoints, resources that are withheld, conflicts over ports, responses that were refused", p.pushStatus),
		page("mesh", "the mesh config in force", p.mesh),
		page("networkz", "the gateways between networks", p.networkz),
	}
}

// readOnly lets nothing through but reading.
func readOnly(show http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "this page can only be read", http.StatusMethodNotAllowed)
			return
		}
		show(w, r)
	})
}

// snapshot gives the present one, or tells the client that there is none yet.
func (p *Pages) snapshot(w http.ResponseWriter) *snapshot.Snapshot {
	live, ok := p.deps.Live()
	if !ok {
		notYet(w, "the configuration is not compiled")
		return nil
	}
	return live.Current()
}

// notYet says that something is not there yet, which is not the same as nothing.
func notYet(w http.ResponseWriter, what string) {
	http.Error(w, "not yet: "+what+"; /readyz?verbose says what it waits for", http.StatusServiceUnavailable)
}
