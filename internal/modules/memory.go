package modules

import (
	"context"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/memory"
)

func memoryReturn() lifecycle.Component {
	return lifecycle.Component{
		Name: "memory",
		For:  "gives memory back to the system when a burst of work is over",
		New:  []any{newMemoryReturn},
	}
}

type memoryOut struct {
	fx.Out
	Return lifecycle.Step `name:"memory.return" phase:"load"`
}

func newMemoryReturn(log *zap.Logger) memoryOut {
	log = log.Named("memory")
	return memoryOut{Return: lifecycle.Step{
		Run: func(ctx context.Context) error {
			memory.Return(ctx, func() { log.Debug("memory of a burst of work is returned to the system") })
			return nil
		},
	}}
}
