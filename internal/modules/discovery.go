package modules

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/admin"
	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate/validate"
	"github.com/meshd/meshd/internal/xds"
	"github.com/meshd/meshd/internal/xds/admission"
	"github.com/meshd/meshd/internal/xds/push"
	"github.com/meshd/meshd/internal/xds/resource"
)

func discovery() lifecycle.Component {
	return lifecycle.Component{
		Name: "xds",
		For:  "serves snapshots to streams, as resources that are made once for the whole mesh",
		New:  []any{newResources, newAdmission, newAdmissionPage, newDiscovery, newPush},
	}
}

func newAdmission(o Options, log *zap.Logger, metrics *prometheus.Registry) (*admission.Queue, error) {
	return admission.New(o.Admission, log.Named("xds"), metrics)
}

func newAdmissionPage(queue *admission.Queue) pageOut {
	return pageOut{Page: admin.Page{Path: "/debug/admission", Help: "how many streams are open, are being served, and wait for that; and where most come from",
		Handler: admin.JSON(func() (any, error) { return queue.Status(), nil })}}
}

// newResources makes the store of all resources, which takes in none that Envoy would refuse.
func newResources() *resource.Store { return resource.NewStore(validate.New().Resource) }

type discoveryIn struct {
	fx.In
	Table       *xds.Table
	Resources   *resource.Store
	Live        lifecycle.Peek[*snapshot.Live]
	Gate        lifecycle.Gate[*snapshot.Live]
	Admission   *admission.Queue
	Connections *xds.Connections
	Pushes      *push.Journal
	Answerer    xds.Answerer
	Metrics     *prometheus.Registry
	Log         *zap.Logger
}

func newDiscovery(in discoveryIn) (*xds.Server, error) {
	return xds.New(xds.Deps{
		Table: in.Table, Store: in.Resources, Live: in.Live.TryGet, Gate: in.Gate.Wait,
		Admission: in.Admission, Connections: in.Connections, Pushes: in.Pushes, Answerer: in.Answerer, Log: in.Log.Named("xds"), Registerer: in.Metrics,
	})
}

type pushOut struct {
	fx.Out
	Push lifecycle.Step `name:"xds.push" phase:"register"`
}

func newPush(server *xds.Server) pushOut { return pushOut{Push: lifecycle.Step{Run: server.Run}} }
