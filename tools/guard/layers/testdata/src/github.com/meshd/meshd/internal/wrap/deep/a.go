package deep

import (
	_ "github.com/meshd/meshd/internal/ca"
	_ "github.com/meshd/meshd/internal/kube/election"
)
