package listen_test

import (
	"testing"

	"github.com/meshd/meshd/tools/guard/guardtest"
	"github.com/meshd/meshd/tools/guard/house"
	"github.com/meshd/meshd/tools/guard/listen"
)

func Test(t *testing.T) {
	guardtest.Run(t, listen.Analyzer, house.Module+"/internal/...", "elsewhere")
}

// A name that is misspelt in the table forbids nothing.
func TestForbiddenExist(t *testing.T) { guardtest.Exist(t, listen.Forbidden...) }
