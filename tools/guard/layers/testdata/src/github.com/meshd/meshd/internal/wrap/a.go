package wrap

import (
	_ "github.com/meshd/meshd/internal/wrap/deep"
)
