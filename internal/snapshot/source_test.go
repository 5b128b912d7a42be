package snapshot_test

import (
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/config"
)

// source is a set of stores with the changes that are not compiled yet, and a mesh config.
type source struct {
	stores  *config.Stores
	changes *config.Changes
	mesh    *meshv1alpha1.MeshConfig
}

func newSource() *source {
	s := &source{changes: config.NewChanges(), mesh: mesh()}
	s.stores = config.NewStores(s.changes.Add)
	return s
}
