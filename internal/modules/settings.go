package modules

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/version"
)

func settings(o Options) lifecycle.Component {
	return lifecycle.Component{
		Name: "settings",
		For:  "what everything is handed: options, logger, metrics registry",
		New:  []any{o.newSettings},
	}
}

type settingsOut struct {
	fx.Out
	Options Options
	Log     *zap.Logger
	Metrics *prometheus.Registry
	Version version.Info
}

func (o Options) newSettings() settingsOut {
	return settingsOut{Options: o, Log: o.Log, Metrics: prometheus.NewRegistry(), Version: version.Get()}
}
