package mesh

import (
	_ "github.com/meshd/meshd/internal/modelx"
	_ "github.com/meshd/meshd/internal/snapshot" // want `internal/mesh must not import internal/snapshot: dependencies point down only`
)
