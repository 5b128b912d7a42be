package lifecycle

import (
	_ "github.com/meshd/meshd/internal/lifecycle/render"
	_ "time"
)
