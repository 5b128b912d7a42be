package registry

import (
	_ "github.com/meshd/meshd/internal/ca" // want `internal/registry must not import internal/ca: rule hot-path-is-alone`
	_ "github.com/meshd/meshd/internal/config"
	_ "k8s.io/client-go/tools/leaderelection" // want `internal/registry must not import k8s.io/client-go/tools/leaderelection: rule hot-path-is-alone`
)
