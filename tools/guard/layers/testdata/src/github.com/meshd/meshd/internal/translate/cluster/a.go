package cluster

import (
	_ "github.com/meshd/meshd/internal/xds/codec" // want `translation is a pure function` `dependencies point down only`
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "time" // want `internal/translate/cluster must not import time`
)
