package debug

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/xds"
)

// What istioctl looks for in an answer: it then asks another replica, or says what is missing.
const (
	notConnected = "Proxy not connected to this Pilot instance. It may be connected to another instance."
	noProxyID    = "You must provide a proxyID in the query string"
)

// maxListed bounds how many proxies are suggested to who asks for another one.
const maxListed = 10

// podName is how people name a proxy.
func podName(p *model.Proxy) string { return p.Pod + "." + p.Namespace }

// connectionID names a stream, as istiod does.
func connectionID(c xds.Connection) string { return fmt.Sprintf("%s-%d", c.Proxy.ID, c.ID) }

// find gives the newest stream of a proxy, named as "pod.namespace", or by node or connection id. Tools have none.
func (p *Pages) find(proxyID string) (xds.Connection, error) {
	clients := p.clients()
	for _, c := range slices.Backward(clients) {
		if proxyID == podName(c.Proxy) || proxyID == c.Proxy.ID || proxyID == connectionID(c) {
			return c, nil
		}
	}
	return xds.Connection{}, fmt.Errorf("%s\n%s", notConnected, suggestion(clients))
}

func suggestion(clients []xds.Connection) string {
	var names []string
	for _, c := range clients {
		names = append(names, podName(c.Proxy))
	}
	slices.Sort(names)
	names = slices.Compact(names)
	switch n := len(names); {
	case n == 0:
		return "No proxy is connected to this one."
	case n > maxListed:
		return fmt.Sprintf("Connected are %d, such as %s; /debug/syncz lists all.", n, strings.Join(names[:maxListed], ", "))
	}
	return "Connected are " + strings.Join(names, ", ") + "."
}

// clients lists the streams that are sent configuration, in the order they came.
func (p *Pages) clients() []xds.Connection {
	return slices.DeleteFunc(p.deps.Connections.List(), func(c xds.Connection) bool { return c.Proxy.Flavor == model.FlavorTool })
}

// asked gives the stream of the proxy that a request names, or tells the client why not.
func (p *Pages) asked(w http.ResponseWriter, r *http.Request) (xds.Connection, bool) {
	proxyID := r.URL.Query().Get("proxyID")
	if proxyID == "" {
		http.Error(w, noProxyID+": pod.namespace, or the node id.\n"+suggestion(p.clients()), http.StatusBadRequest)
		return xds.Connection{}, false
	}
	c, err := p.find(proxyID)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return xds.Connection{}, false
	}
	return c, true
}
