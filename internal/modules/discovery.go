package modules

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/xds"
	"github.com/meshd/meshd/internal/xds/push"
	"github.com/meshd/meshd/internal/xds/resource"
)

func discovery() lifecycle.Component {
	return lifecycle.Component{
		Name: "xds",
		For:  "serves snapshots to streams, as resources that are made once for the whole mesh",
		New:  []any{resource.NewStore, newDiscovery, newPush},
	}
}

type discoveryIn struct {
	fx.In
	Table       *xds.Table
	Resources   *resource.Store
	Live        lifecycle.Peek[*snapshot.Live]
	Gate        lifecycle.Gate[*snapshot.Live]
	Connections *xds.Connections
	Pushes      *push.Journal
	Metrics     *prometheus.Registry
	Log         *zap.Logger
}

func newDiscovery(in discoveryIn) (*xds.Server, error) {
	return xds.New(xds.Deps{
		Table: in.Table, Store: in.Resources, Live: in.Live.TryGet, Gate: in.Gate.Wait,
		Connections: in.Connections, Pushes: in.Pushes, Log: in.Log.Named("xds"), Registerer: in.Metrics,
	})
}

type pushOut struct {
	fx.Out
	Push lifecycle.Step `name:"xds.push" phase:"register"`
}

func newPush(server *xds.Server) pushOut { return pushOut{Push: lifecycle.Step{Run: server.Run}} }
