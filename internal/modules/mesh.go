package modules

import (
	"context"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
)

func meshConfig() lifecycle.Component {
	return lifecycle.Component{
		Name: "mesh-config",
		For:  "the mesh config: read before anything depends on it, and followed",
		New:  []any{newMeshSource, newMeshLoad},
	}
}

// newMeshSource counts the first config as a change too: so there is always one to compile, also of an empty directory.
func newMeshSource(o Options, sink config.Sink, log *zap.Logger) *mesh.Source {
	return mesh.New(o.MeshConfig, func() { sink(model.Change{Kind: model.KindMeshConfig}) }, log.Named("mesh-config"))
}

type meshLoadOut struct {
	fx.Out
	MeshConfig lifecycle.Published[*mesh.Live]
	Load       lifecycle.Step `name:"mesh-config.load" phase:"load" sets:"MeshConfig"`
}

func newMeshLoad(source *mesh.Source) meshLoadOut {
	slot := lifecycle.NewSlot[*mesh.Live]()
	return meshLoadOut{
		MeshConfig: slot.Publish(),
		Load: lifecycle.Step{
			Start: func(ctx context.Context) error {
				live, err := source.Load(ctx)
				if err != nil {
					return err
				}
				return slot.Set(ctx, live)
			},
			Run:    source.Run,
			Stop:   func(context.Context) error { source.Close(); return nil },
			OnExit: lifecycle.Restart,
		},
	}
}
