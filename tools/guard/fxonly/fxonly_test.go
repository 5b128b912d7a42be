package fxonly_test

import (
	"testing"

	"github.com/meshd/meshd/tools/guard/fxonly"
	"github.com/meshd/meshd/tools/guard/guardtest"
	"github.com/meshd/meshd/tools/guard/house"
)

func Test(t *testing.T) {
	guardtest.Run(t, fxonly.Analyzer, house.Module+"/internal/...")
}
