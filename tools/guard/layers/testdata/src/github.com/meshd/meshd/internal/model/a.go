package model

import (
	_ "github.com/meshd/meshd/internal/model/sub"
	_ "github.com/meshd/meshd/internal/testkit" // want `only tools/... may: test tools are no part of the product` `model is plain data`
	_ "strings"
	_ "time" // want `internal/model must not import time: model, snapshot and translate know nothing of`
)
