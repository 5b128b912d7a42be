package modules

import (
	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/lifecycle"
)

func environment() lifecycle.Component {
	return lifecycle.Component{
		Name: "environment",
		For:  "the stores of configuration, and the changes that they report",
		New:  []any{config.NewChanges, newStores},
	}
}

// newStores wires the one handler of all changes at construction: a store without it does not exist.
func newStores(changes *config.Changes) *config.Stores { return config.NewStores(changes.Add) }
