package snapshot

import (
	_ "github.com/meshd/meshd/internal/config"
	_ "github.com/meshd/meshd/internal/lifecycle" // want `internal/snapshot must not import internal/lifecycle: a snapshot is compiled from the stores`
	_ "github.com/meshd/meshd/internal/registry"
	_ "k8s.io/client-go/rest" // want `internal/snapshot must not import k8s.io/client-go/rest: model, snapshot`
)
