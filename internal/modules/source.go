package modules

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/admin"
	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/config/directory"
	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/readiness"
)

func source() lifecycle.Component {
	return lifecycle.Component{
		Name: "source",
		For:  "the directory of manifests that fills the stores",
		New:  []any{newDirectory, newDirectoryLoad, newDirectoryProbe, newSourcePage},
	}
}

func newDirectory(o Options, stores *config.Stores, metrics *prometheus.Registry, log *zap.Logger) (*directory.Source, error) {
	return directory.New(o.Dir, directory.Options{
		Stores: stores, Log: log.Named("source"), Registerer: metrics, Progress: lifecycle.Report,
	})
}

type directoryLoadOut struct {
	fx.Out
	Synced lifecycle.Published[config.Synced]
	Load   lifecycle.Step `name:"source.load" phase:"sync" sets:"Synced" waits:"the files below --dir" budget:"1m" probe:"source"`
}

func newDirectoryLoad(dir *directory.Source) directoryLoadOut {
	slot := lifecycle.NewSlot[config.Synced]()
	return directoryLoadOut{
		Synced: slot.Publish(),
		Load: lifecycle.Step{
			Start: func(ctx context.Context) error {
				synced, err := dir.Load(ctx)
				if err != nil {
					return err
				}
				return slot.Set(ctx, synced)
			},
			Run:    dir.Run,
			Stop:   func(context.Context) error { dir.Close(); return nil },
			OnExit: lifecycle.Restart,
		},
	}
}

func newDirectoryProbe(dir *directory.Source) probeOut {
	return probeOut{Probe: readiness.Probe{Name: "directory", Component: "source", Check: dir.Degraded, Degrades: true}}
}

// sourcePage is the directory's state, and beside it that of the other file that is followed.
type sourcePage struct {
	directory.Status
	MeshConfig mesh.Status `json:"meshConfig"`
}

func newSourcePage(dir *directory.Source, meshConfig *mesh.Source) pageOut {
	return pageOut{Page: admin.Page{Path: "/debug/source", Help: "what was read from the directory and the mesh config's file, and what is wrong with it",
		Handler: admin.JSON(func() (any, error) { return sourcePage{dir.Status(), meshConfig.Status()}, nil })}}
}
