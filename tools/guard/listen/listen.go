// Package listen guards the rule listeners-last: no port is opened outside the two lifecycle listeners.
//
// It looks at every mention of a function that listens or binds, whether it is called or handed on as a value.
// Tests may open ports.
package listen

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/meshd/meshd/tools/guard/house"
)

// Analyzer reports listening outside the packages of Places, and imports of Opener by files other than Importers.
var Analyzer = &analysis.Analyzer{
	Name: "listen",
	Doc:  "ports are opened by the lifecycle listeners only (rule listeners-last)",
	Run:  run,
}

func run(pass *analysis.Pass) (any, error) {
	if !house.Guarded(pass) {
		return nil, nil
	}
	allowed := false
	for _, place := range Places {
		allowed = allowed || house.Match(pass.Pkg.Path(), place.Package)
	}
	if allowed {
		return nil, nil
	}
	for _, file := range house.Code(pass) {
		name := house.Rel(pass.Pkg.Path()) + "/" + filepath.Base(pass.Fset.Position(file.Pos()).Filename)
		for _, spec := range file.Imports {
			if house.Match(house.ImportPath(spec), Opener) && !mayImport(name) {
				pass.ReportRangef(spec, "%s imports %s, which opens ports: only the two lifecycle listeners may, %s (rule listeners-last)",
					name, Opener, importers())
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			if name := house.Name(pass.TypesInfo.Uses[id]); slices.Contains(Forbidden, name) {
				pass.ReportRangef(id, "%s outside %s: a port that opens on its own accepts clients before what they need is there; serve on a listener that a lifecycle listener hands out (rule listeners-last)",
					name, Opener)
			}
			return true
		})
	}
	return nil, nil
}

func mayImport(file string) bool {
	for _, i := range Importers {
		if i.File == file {
			return true
		}
	}
	return false
}

func importers() string {
	var files []string
	for _, i := range Importers {
		files = append(files, i.File)
	}
	return strings.Join(files, " and ")
}
