package render

import (
	_ "go.uber.org/dig"
	_ "go.uber.org/fx"
	_ "go.uber.org/fx/fxevent"
)
