package modules

import (
	_ "github.com/meshd/meshd/internal/ca"
	_ "github.com/meshd/meshd/internal/wrap"
	_ "github.com/meshd/meshd/internal/xds"
)
