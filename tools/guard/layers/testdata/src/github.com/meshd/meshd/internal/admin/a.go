package admin

import (
	_ "github.com/meshd/meshd/internal/modules" // want `internal/admin must not import internal/modules: only internal/cli/... and tools/... may: the assembly stands above`
	_ "github.com/meshd/meshd/tools/guard"      // want `only itself may: development tools`
)
