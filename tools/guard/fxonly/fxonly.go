// Package fxonly guards the wiring: fx and dig are known to the assembly and to the runner, and to nobody else.
// Tests are no exception: a subsystem that needs fx to be tested is not a plain package.
package fxonly

import (
	"golang.org/x/tools/go/analysis"

	"github.com/meshd/meshd/tools/guard/house"
)

// Wiring are the packages that fx is made of.
var Wiring = []string{"go.uber.org/fx/...", "go.uber.org/dig/..."}

// Importers are the packages that may import Wiring.
var Importers = []struct{ Package, Why string }{
	{"internal/modules/...", "declares the components in fx's terms"},
	{"internal/lifecycle/...", "turns them into an fx application, and runs it"},
	{"internal/testkit/fxdot", "asks fx for its own view of the components, to compare"},
}

// Analyzer reports imports of Wiring outside Importers.
var Analyzer = &analysis.Analyzer{
	Name: "fxonly",
	Doc:  "fx and dig are imported only by internal/modules and internal/lifecycle",
	Run:  run,
}

func run(pass *analysis.Pass) (any, error) {
	if !house.Guarded(pass) {
		return nil, nil
	}
	for _, i := range Importers {
		if house.Match(pass.Pkg.Path(), i.Package) {
			return nil, nil
		}
	}
	for _, file := range pass.Files {
		for _, spec := range file.Imports {
			if path := house.ImportPath(spec); house.Match(path, Wiring...) {
				pass.ReportRangef(spec, "%s imports %s: only internal/modules and internal/lifecycle know fx; a subsystem is a plain package with a constructor New(deps) (*T, error)",
					house.Rel(pass.Pkg.Path()), path)
			}
		}
	}
	return nil, nil
}
