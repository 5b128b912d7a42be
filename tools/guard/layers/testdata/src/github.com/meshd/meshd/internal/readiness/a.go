package readiness

import (
	_ "github.com/meshd/meshd/internal/lifecycle"
	_ "github.com/meshd/meshd/internal/mesh" // want `internal/readiness must not import internal/mesh: readiness is told what to probe`
)
