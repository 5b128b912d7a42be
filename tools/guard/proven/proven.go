// Package proven guards identities: one is what an authenticator has verified, so only authenticators make one. Secrets
// are made for an identity; whoever could make one could read those of others.
package proven

import (
	"go/ast"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/meshd/meshd/tools/guard/house"
)

// Makers are the functions that make an identity, by full name.
var Makers = []string{house.Module + "/internal/model.Prove"}

// Authenticators are the packages that may mention Makers.
var Authenticators = []struct{ Package, Why string }{
	{"internal/authn/...", "verifies certificates and tokens"},
}

// Analyzer reports mentions of Makers outside Authenticators. Tests may make identities.
var Analyzer = &analysis.Analyzer{
	Name: "proven",
	Doc:  "identities are made by authenticators only",
	Run:  run,
}

func run(pass *analysis.Pass) (any, error) {
	if !house.Guarded(pass) {
		return nil, nil
	}
	for _, a := range Authenticators {
		if house.Match(pass.Pkg.Path(), a.Package) {
			return nil, nil
		}
	}
	for _, file := range house.Code(pass) {
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if ok && slices.Contains(Makers, house.Name(pass.TypesInfo.Uses[id])) {
				pass.ReportRangef(id, "%s makes an identity: only authenticators (internal/authn) may, of what they have verified", house.Rel(pass.Pkg.Path()))
			}
			return true
		})
	}
	return nil, nil
}
