package globals_test

import (
	"testing"

	"github.com/meshd/meshd/tools/guard/globals"
	"github.com/meshd/meshd/tools/guard/guardtest"
	"github.com/meshd/meshd/tools/guard/house"
)

func Test(t *testing.T) {
	guardtest.Run(t, globals.Analyzer, house.Module+"/internal/...")
}

// A name that is misspelt in the table forbids nothing.
func TestLibrariesExist(t *testing.T) {
	for _, l := range globals.Libraries {
		guardtest.Exist(t, l.Names...)
	}
}
