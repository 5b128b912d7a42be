package cli

import (
	_ "github.com/meshd/meshd/internal/lifecycle"
	_ "github.com/meshd/meshd/internal/modules"
)
