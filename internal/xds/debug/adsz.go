package debug

import (
	"fmt"
	"net/http"
	"time"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/xds"
	"github.com/meshd/meshd/internal/xds/debug/redact"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// client is an element of /debug/adsz and /debug/connections.
type client struct {
	ConnectionID string            `json:"connectionId"`
	ConnectedAt  time.Time         `json:"connectedAt"`
	Address      string            `json:"address"`
	Labels       map[string]string `json:"labels,omitempty"`
	Metadata     any               `json:"metadata,omitempty"`
	Locality     *locality         `json:"locality,omitempty"`
	// Watches are the names that are subscribed, by type; "*" is everything.
	Watches map[string][]string `json:"watches,omitempty"`

	// What follows is meshd's own.
	Proxy    string                `json:"proxy,omitempty"`
	Flavor   model.Flavor          `json:"flavor"`
	Protocol subscription.Encoding `json:"protocol"`
	Types    []typeState           `json:"types,omitempty"`
}

// typeState is what a stream knows of one type (docs/xds.md).
type typeState struct {
	Type           string    `json:"type"`
	Wildcard       bool      `json:"wildcard"`
	Names          int       `json:"names"`
	Sent           string    `json:"sent,omitempty"`
	SentAt         time.Time `json:"sentAt,omitzero"`
	Acked          string    `json:"acked,omitempty"`
	Nonce          string    `json:"nonce,omitempty"`
	Refused        string    `json:"refused,omitempty"`
	RefusedVersion string    `json:"refusedVersion,omitempty"`
	Unacknowledged bool      `json:"unacknowledged"`
	Pending        bool      `json:"pending"`
}

type locality struct {
	Region  string `json:"region,omitempty"`
	Zone    string `json:"zone,omitempty"`
	SubZone string `json:"sub_zone,omitempty"`
}

// writeClients writes what istiod calls AdsClients.
func writeClients(w http.ResponseWriter, r *http.Request, list []xds.Connection, show func(xds.Connection) client) {
	writeList(w, r, fmt.Sprintf(`{"totalClients":%d,"clients":[`, len(list)), "]}", func(yield func(client) bool) {
		for _, c := range list {
			if !yield(show(c)) {
				return
			}
		}
	})
}

func identify(c xds.Connection) client {
	return client{ConnectionID: connectionID(c), ConnectedAt: c.Since, Address: c.Peer, Protocol: c.Protocol, Flavor: c.Proxy.Flavor}
}

func (p *Pages) adsz(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("push") {
		http.Error(w, "meshd sends what changed, when it changed, and has no push to ask for; a proxy that is sent everything anew connects anew", http.StatusBadRequest)
		return
	}
	list := p.deps.Connections.List()
	if r.URL.Query().Has("proxyID") {
		c, ok := p.asked(w, r)
		if !ok {
			return
		}
		list = []xds.Connection{c}
	}
	writeClients(w, r, list, func(c xds.Connection) client {
		out := identify(c)
		out.Labels, out.Metadata = c.Proxy.Metadata.Labels, redact.Values(c.Proxy.Metadata.Raw)
		if l := c.Proxy.Locality; l != (model.Locality{}) {
			out.Locality = &locality{l.Region, l.Zone, l.SubZone}
		}
		out.Watches = map[string][]string{}
		for _, i := range c.Interests() {
			names := i.Names
			if i.Wildcard {
				names = append([]string{"*"}, names...)
			}
			out.Watches[i.Type.URL] = names
		}
		return out
	})
}

func (p *Pages) connections(w http.ResponseWriter, r *http.Request) {
	writeClients(w, r, p.deps.Connections.List(), func(c xds.Connection) client {
		out := identify(c)
		out.Proxy = podName(c.Proxy)
		for _, t := range c.Types {
			out.Types = append(out.Types, typeState{
				Type: t.Type.URL, Wildcard: t.Wildcard, Names: t.Names, Sent: t.Sent, SentAt: t.SentAt, Acked: t.Acked, Nonce: t.Nonce,
				Refused: t.Refused, RefusedVersion: t.RefusedVersion, Unacknowledged: t.Unacknowledged, Pending: t.Pending,
			})
		}
		return out
	})
}
