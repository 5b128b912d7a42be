// Package house says where a package stands in this module, for the analyzers that guard it.
package house

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Module is the path of the module that is guarded.
const Module = "github.com/meshd/meshd"

// Rel shortens the import path of a package of this module ("internal/xds") and leaves other paths as they are.
// An external test package counts as the package it tests.
func Rel(path string) string {
	if rel, ours := strings.CutPrefix(path, Module+"/"); ours {
		return strings.TrimSuffix(rel, "_test")
	}
	return path
}

// Ours reports whether an import path belongs to this module.
func Ours(path string) bool { return path == Module || strings.HasPrefix(path, Module+"/") }

// Guarded reports whether the package under analysis is code of this module. The main packages that the go command
// makes up for tests are not.
func Guarded(pass *analysis.Pass) bool {
	return Ours(pass.Pkg.Path()) && !strings.HasSuffix(pass.Pkg.Path(), ".test")
}

// Match reports whether an import path matches one of the patterns. A pattern is a path, without Module in front if
// it is in this module; with "/..." at the end it also matches everything below.
func Match(path string, patterns ...string) bool {
	path = Rel(path)
	for _, p := range patterns {
		tree, all := strings.CutSuffix(p, "/...")
		if path == tree || all && strings.HasPrefix(path, tree+"/") {
			return true
		}
	}
	return false
}

// InTest reports whether a position is in a test file.
func InTest(pass *analysis.Pass, pos token.Pos) bool {
	return strings.HasSuffix(pass.Fset.Position(pos).Filename, "_test.go")
}

// Code gives the files of the package that are not tests.
func Code(pass *analysis.Pass) []*ast.File {
	var files []*ast.File
	for _, f := range pass.Files {
		if !InTest(pass, f.Pos()) {
			files = append(files, f)
		}
	}
	return files
}

// ImportPath gives the path that an import names.
func ImportPath(spec *ast.ImportSpec) string {
	path, _ := strconv.Unquote(spec.Path.Value) // the parser has accepted it
	return path
}

// Where gives a position as "file.go:12".
func Where(pass *analysis.Pass, pos token.Pos) string {
	p := pass.Fset.Position(pos)
	return filepath.Base(p.Filename) + ":" + strconv.Itoa(p.Line)
}

// Name gives the full name of a package-level object or method: "net.Listen", "(*net.ListenConfig).Listen",
// "syscall.SYS_LISTEN". Objects of function scope have none.
func Name(obj types.Object) string {
	if obj == nil || obj.Pkg() == nil {
		return ""
	}
	if f, ok := obj.(*types.Func); ok {
		return f.Origin().FullName()
	}
	if obj.Parent() == obj.Pkg().Scope() {
		return obj.Pkg().Path() + "." + obj.Name()
	}
	return ""
}
