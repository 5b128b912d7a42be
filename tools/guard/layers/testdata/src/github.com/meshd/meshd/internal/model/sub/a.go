package sub

import (
	_ "github.com/meshd/meshd/internal/config" // want `internal/model/sub must not import internal/config: model is plain data` `internal/model/sub must not import internal/config: dependencies point down only`
)
