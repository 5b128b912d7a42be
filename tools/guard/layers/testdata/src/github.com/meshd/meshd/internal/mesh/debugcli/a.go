package debugcli

import (
	_ "github.com/meshd/meshd/internal/cli" // want `only cmd/... may: the command trees` `dependencies point down only`
)
