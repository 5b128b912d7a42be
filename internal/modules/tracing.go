package modules

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/tracing"
	"github.com/meshd/meshd/internal/version"
	"github.com/meshd/meshd/internal/xds/push"
)

func traces() lifecycle.Component {
	return lifecycle.Component{
		Name: "traces",
		For:  "sends a trace of every push to an OpenTelemetry collector",
		New:  []any{newTraces},
	}
}

type tracesIn struct {
	fx.In
	Options Options
	Version version.Info
	Pushes  *push.Journal
	Metrics *prometheus.Registry
	Log     *zap.Logger
}

type tracesOut struct {
	fx.Out
	Export lifecycle.Step `name:"traces.export" phase:"load"`
}

// A push is over when nothing has happened with it for settled.
const settled = 5 * time.Second

// newTraces begins before there is a push, and ends when there will be no more.
func newTraces(in tracesIn) (tracesOut, error) {
	exporter, err := tracing.New(tracing.Options{
		Endpoint: in.Options.TraceEndpoint, Protocol: in.Options.TraceProtocol, Log: in.Log.Named("traces"), Registerer: in.Metrics,
		Attributes: map[string]string{
			"service.name": "meshd", "service.version": in.Version.Version, "k8s.cluster.name": in.Options.ClusterID,
		},
	})
	if err != nil {
		return tracesOut{}, err
	}
	return tracesOut{Export: lifecycle.Step{
		Start: func(ctx context.Context) error {
			tracer, err := exporter.Start(ctx)
			if err != nil {
				return err
			}
			in.Pushes.Trace(tracer)
			return nil
		},
		Run: func(ctx context.Context) error {
			ticker := time.NewTicker(time.Second)
			defer ticker.Stop()
			for {
				select {
				case now := <-ticker.C:
					in.Pushes.Settle(now.Add(-settled))
				case <-ctx.Done():
					return nil
				}
			}
		},
		Stop: func(ctx context.Context) error {
			in.Pushes.Trace(nil)
			exporter.Stop(ctx)
			return nil
		},
	}}, nil
}
