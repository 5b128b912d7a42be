package proven_test

import (
	"testing"

	"github.com/meshd/meshd/tools/guard/guardtest"
	"github.com/meshd/meshd/tools/guard/house"
	"github.com/meshd/meshd/tools/guard/proven"
)

func Test(t *testing.T) {
	guardtest.Run(t, proven.Analyzer, house.Module+"/internal/...")
}

// A name that is misspelt in the table forbids nothing.
func TestMakersExist(t *testing.T) { guardtest.Exist(t, proven.Makers...) }
