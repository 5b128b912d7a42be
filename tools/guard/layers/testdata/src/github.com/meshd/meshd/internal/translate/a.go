package translate

import (
	_ "github.com/meshd/meshd/internal/config" // want `internal/translate must not import internal/config: translation is a pure function`
	_ "github.com/meshd/meshd/internal/model"
	_ "github.com/meshd/meshd/internal/snapshot"
	_ "github.com/meshd/meshd/internal/translate/cluster"
	_ "google.golang.org/grpc/codes" // want `internal/translate must not import google.golang.org/grpc/codes`
)
