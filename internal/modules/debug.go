package modules

import (
	"errors"
	"os"

	"go.uber.org/fx"

	"github.com/meshd/meshd/internal/admin"
	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/version"
	"github.com/meshd/meshd/internal/xds"
	"github.com/meshd/meshd/internal/xds/debug"
)

func debugPages() lifecycle.Component {
	return lifecycle.Component{
		Name: "debug",
		For:  "pages in the shapes of istiod's, over HTTP and for istioctl over xDS",
		New:  []any{newDebugPages, newDebugSite, newAnswerer},
	}
}

type debugIn struct {
	fx.In
	Options     Options
	Connections *xds.Connections
	Live        lifecycle.Peek[*snapshot.Live]
	Mesh        lifecycle.Peek[*mesh.Live]
	Stores      *config.Stores
	Synced      lifecycle.Peek[config.Synced]
}

func newDebugPages(in debugIn) (*debug.Pages, error) {
	return debug.New(debug.Deps{
		Connections: in.Connections, Live: in.Live.TryGet, Mesh: in.Mesh.TryGet, Stores: in.Stores, Synced: in.Synced.TryGet,
		ClusterID: in.Options.ClusterID,
	})
}

func newDebugSite(pages *debug.Pages) pagesOut {
	var out pagesOut
	for _, p := range pages.List() {
		out.Pages = append(out.Pages, admin.Page(p))
	}
	return out
}

// newAnswerer takes the whole site, so no page may take the xDS server, which takes the answerer.
func newAnswerer(pages *debug.Pages, site *admin.Site, info version.Info) xds.Answerer {
	// In a cluster the host is named as the pod.
	name := func() string {
		host, err := os.Hostname()
		if err != nil {
			return "meshd"
		}
		return host
	}
	return debug.NewAnswerer(pages, site, fromLoopback, name, info.Version)
}

// fromLoopback is who may ask on a port that does not know its clients.
func fromLoopback(q xds.Question) error {
	if q.Peer == nil || !admin.Loopback(q.Peer.String()) {
		return errors.New("debug types are answered on loopback only, because this version cannot tell who else may see them: forward the port (kubectl port-forward)")
	}
	return nil
}
