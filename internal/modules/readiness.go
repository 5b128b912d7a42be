package modules

import (
	"context"

	"go.uber.org/fx"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/readiness"
)

func readinessProbes() lifecycle.Component {
	return lifecycle.Component{
		Name: "readiness",
		For:  "the complete set of probes, and the word that the start has reached its end",
		New:  []any{newChecker, newAnnouncement},
	}
}

// probeOut is how a component contributes a probe beyond those of its steps.
type probeOut struct {
	fx.Out
	Probe readiness.Probe `group:"probes"`
}

type checkerIn struct {
	fx.In
	Trace  *lifecycle.Trace
	Probes []readiness.Probe `group:"probes"`
	Log    *zap.Logger
}

func newChecker(in checkerIn) (*readiness.Checker, error) {
	return readiness.New(in.Trace, in.Probes, in.Log.Named("readiness"))
}

type announcementOut struct {
	fx.Out
	Announce lifecycle.Step `name:"readiness.announce" phase:"announce"`
}

func newAnnouncement(checker *readiness.Checker) announcementOut {
	say := func(ready bool) func(context.Context) error {
		return func(context.Context) error { checker.Announce(ready); return nil }
	}
	return announcementOut{Announce: lifecycle.Step{Start: say(true), Stop: say(false)}}
}
