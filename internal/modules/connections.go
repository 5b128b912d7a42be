package modules

import (
	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/xds"
)

// connections stands apart from the xDS server, so that what the server takes may show the table too.
func connections() lifecycle.Component {
	return lifecycle.Component{
		Name: "connections",
		For:  "the table of open streams, for the xDS server to fill and debug pages to read",
		New:  []any{xds.NewConnections},
	}
}
