package modules

import _ "github.com/meshd/meshd/internal/listener" // want `internal/modules/webhooks.go imports internal/listener, which opens ports: only the two lifecycle listeners may, internal/modules/admin.go and internal/modules/listeners.go`
