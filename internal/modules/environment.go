package modules

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/xds/push"
)

func environment() lifecycle.Component {
	return lifecycle.Component{
		Name: "environment",
		For:  "the stores of configuration, the changes that they report, and the journal of what becomes of them",
		New:  []any{config.NewChanges, newJournal, newSink, newStores},
	}
}

// newSink is where every change goes.
func newSink(changes *config.Changes, pushes *push.Journal) config.Sink {
	return func(c model.Change) {
		pushes.Changed(c)
		changes.Add(c)
	}
}

// newStores wires the one handler of all changes at construction: a store without it does not exist.
func newStores(sink config.Sink) *config.Stores { return config.NewStores(sink) }

func newJournal(metrics *prometheus.Registry) (*push.Journal, error) { return push.New(metrics) }
