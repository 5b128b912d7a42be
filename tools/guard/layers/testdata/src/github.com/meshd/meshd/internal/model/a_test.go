package model_test

import (
	_ "time"

	_ "github.com/meshd/meshd/internal/ca"
	_ "github.com/meshd/meshd/internal/testkit"
)
