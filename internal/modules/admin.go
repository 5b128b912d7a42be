package modules

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/admin"
	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/listener"
	"github.com/meshd/meshd/internal/observe"
	"github.com/meshd/meshd/internal/readiness"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/version"
)

func adminPorts() lifecycle.Component {
	return lifecycle.Component{
		Name: "admin",
		For:  "the health and monitoring ports, which answer from the first moment on",
		New:  []any{newSite, newHealthPort, newMonitoringPort, newStartupPage, newAddressesPage},
	}
}

// pageOut is how a component contributes a page of the monitoring port.
type pageOut struct {
	fx.Out
	Page admin.Page `group:"pages"`
}

type siteIn struct {
	fx.In
	Pages []admin.Page `group:"pages"`
}

func newSite(in siteIn) (*admin.Site, error) { return admin.NewSite(in.Pages) }

func newStartupPage(trace *lifecycle.Trace) pageOut {
	return pageOut{Page: admin.Page{Path: "/debug/startup", Help: "when each constructor and step was queued, started and ended, and what it waited for",
		Handler: admin.JSON(func() (any, error) { return trace.Record(), nil })}}
}

func newAddressesPage(addresses *listener.Addresses) pageOut {
	return pageOut{Page: admin.Page{Path: "/debug/addresses", Help: "the addresses that were bound, by flag",
		Handler: admin.JSON(func() (any, error) { return addresses.All(), nil })}}
}

type healthPortOut struct {
	fx.Out
	Serve lifecycle.Step `name:"admin.health" phase:"admin" listener:"--http-addr"`
}

func newHealthPort(o Options, checker *readiness.Checker, info version.Info, addresses *listener.Addresses, log *zap.Logger) healthPortOut {
	return healthPortOut{Serve: adminStep("--http-addr", o.HTTPAddr, admin.Health(checker, info), addresses, log)}
}

type monitoringPortIn struct {
	fx.In
	Options   Options
	Checker   *readiness.Checker
	Version   version.Info
	Metrics   *prometheus.Registry
	Snapshots lifecycle.Peek[*snapshot.Live]
	Site      *admin.Site
	Addresses *listener.Addresses
	Log       *zap.Logger
}

type monitoringPortOut struct {
	fx.Out
	Serve lifecycle.Step `name:"admin.monitoring" phase:"admin" listener:"--monitoring-addr"`
}

func newMonitoringPort(in monitoringPortIn) (monitoringPortOut, error) {
	if err := observe.Register(in.Metrics, in.Snapshots.TryGet, in.Version.Version); err != nil {
		return monitoringPortOut{}, err
	}
	// There is nothing yet that could tell one client from another, so pages stay on loopback.
	handler := admin.Monitoring(in.Checker, in.Version, in.Metrics, in.Site, nil)
	step := adminStep("--monitoring-addr", in.Options.MonitoringAddr, handler, in.Addresses, in.Log)
	listen := step.Start
	step.Start = func(ctx context.Context) error {
		// The collectors look at the process when they are made, which a constructor must not.
		in.Metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), observe.Uptime(time.Now()))
		return listen(ctx)
	}
	return monitoringPortOut{Serve: step}, nil
}

// adminStep opens an admin port and serves it: claimed and listening at once, because what it answers is gated.
func adminStep(flag, address string, handler http.Handler, addresses *listener.Addresses, log *zap.Logger) lifecycle.Step {
	var port net.Listener
	return lifecycle.Step{
		Start: func(ctx context.Context) error {
			socket, err := listener.Claim(ctx, flag, address)
			if err != nil {
				return err
			}
			if port, err = socket.Listen(); err != nil {
				return err
			}
			log.Named("admin").Info("listening", zap.String("flag", flag), zap.Stringer("addr", port.Addr()))
			return addresses.Bound(flag, port.Addr())
		},
		Run: func(ctx context.Context) error { return admin.Serve(ctx, port, handler, log.Named("admin")) },
		Stop: func(context.Context) error {
			if port != nil {
				port.Close() // Serve has closed it, if it ran
			}
			return nil
		},
	}
}
