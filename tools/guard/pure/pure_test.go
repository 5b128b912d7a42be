package pure_test

import (
	"testing"

	"github.com/meshd/meshd/tools/guard/guardtest"
	"github.com/meshd/meshd/tools/guard/house"
	"github.com/meshd/meshd/tools/guard/pure"
)

func Test(t *testing.T) {
	guardtest.Run(t, pure.Analyzer, house.Module+"/internal/...")
}
