package config

import (
	_ "github.com/meshd/meshd/internal/kube"
	_ "github.com/meshd/meshd/internal/lifecycle"
	_ "os"
	_ "time"
)
