package render

import (
	_ "github.com/meshd/meshd/internal/modelx" // want `internal/lifecycle/render must not import internal/modelx: the runner knows steps`
)
