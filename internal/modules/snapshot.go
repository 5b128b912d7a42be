package modules

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/fx"
	"go.uber.org/zap"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/observe"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/xds/debounce"
	"github.com/meshd/meshd/internal/xds/push"
)

// MaxDebounce is the longest window of changes: the budget of the first snapshot has room for it, and for compiling.
const MaxDebounce = 25 * time.Second

func snapshots() lifecycle.Component {
	return lifecycle.Component{
		Name: "snapshot",
		For:  "compiles changes into snapshots; opens the gate when everything that was loaded is compiled",
		New:  []any{newConflicts, newPublisher, newCompileLoop, newCatchUp},
	}
}

func newConflicts(log *zap.Logger, metrics *prometheus.Registry) (*observe.Conflicts, error) {
	return observe.NewConflicts(log.Named("snapshot"), metrics)
}

func newPublisher(o Options, stores *config.Stores, meshConfig lifecycle.Loaded[*mesh.Live], pushes *push.Journal, log *zap.Logger, conflicts *observe.Conflicts) *snapshot.Publisher {
	current := func() *meshv1alpha1.MeshConfig {
		live, err := meshConfig.Get(context.Background())
		if err != nil {
			return nil // the compiler refuses to compile without
		}
		return live.Current()
	}
	compiler := snapshot.NewCompiler(stores, current, snapshot.Options{DNSDomain: o.Domain, ClusterID: o.ClusterID, DualStack: o.DualStack})
	return snapshot.NewPublisher(compiler, log.Named("snapshot"), func(s *snapshot.Snapshot) {
		conflicts.Follow(s)
		pushes.Publish(s.Version())
	})
}

type compileIn struct {
	fx.In
	Options   Options
	Changes   *config.Changes
	Pushes    *push.Journal
	Synced    lifecycle.Gate[config.Synced]
	Publisher *snapshot.Publisher
}

type compileOut struct {
	fx.Out
	Compile lifecycle.Step `name:"snapshot.compile" phase:"register"`
}

func newCompileLoop(in compileIn) (compileOut, error) {
	var token config.Synced // set before the loop runs
	loop, err := debounce.NewLoop(in.Changes, debounceOptions(in.Options), func(ctx context.Context, b debounce.Batch) error {
		// A failure is logged and counted, and leaves the last snapshot in force: the next batch makes up for it.
		in.Pushes.Begin(b)
		in.Pushes.End(in.Publisher.Compile(ctx, token, b.Changes, b.UpTo))
		return nil
	})
	if err != nil {
		return compileOut{}, err
	}
	return compileOut{Compile: lifecycle.Step{
		Run: func(ctx context.Context) (err error) {
			if token, err = in.Synced.Wait(ctx); err != nil {
				return err
			}
			return loop.Run(ctx)
		},
	}}, nil
}

// debounceOptions leaves the first batch undelayed, because the source is complete by then, unless the quiet time was
// chosen by hand.
func debounceOptions(o Options) debounce.Options {
	out := debounce.Options{
		Quiet: o.DebounceAfter, Max: o.DebounceMax,
		EndpointQuiet: o.EndpointDebounceAfter, EndpointMax: o.EndpointDebounceMax,
	}
	if out.Quiet != debounce.Defaults().Quiet {
		out.First = out.Quiet
	}
	return out
}

type catchUpIn struct {
	fx.In
	Synced    lifecycle.Loaded[config.Synced]
	Changes   *config.Changes
	Publisher *snapshot.Publisher
}

type catchUpOut struct {
	fx.Out
	Live    lifecycle.Published[*snapshot.Live]
	CatchUp lifecycle.Step `name:"snapshot.catch-up" phase:"sync" sets:"Live" budget:"30s" probe:"snapshot"`
}

func newCatchUp(in catchUpIn) catchUpOut {
	slot := lifecycle.NewSlot[*snapshot.Live]()
	return catchUpOut{
		Live: slot.Publish(),
		CatchUp: lifecycle.Step{
			Start: func(ctx context.Context) error {
				if _, err := in.Synced.Get(ctx); err != nil {
					return err
				}
				live, err := in.Publisher.Wait(ctx, in.Changes.Added())
				if err != nil {
					return err
				}
				return slot.Set(ctx, live)
			},
		},
	}
}
