package xds

import (
	_ "go.uber.org/dig"        // want `internal/xds imports go.uber.org/dig: only internal/modules and internal/lifecycle know fx`
	_ "go.uber.org/fx"         // want `internal/xds imports go.uber.org/fx:`
	_ "go.uber.org/fx/fxevent" // want `internal/xds imports go.uber.org/fx/fxevent:`
	_ "go.uber.org/fxtra"
)
