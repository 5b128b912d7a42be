package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/meshd/meshd/tools/guard/fxonly"
	"github.com/meshd/meshd/tools/guard/globals"
	"github.com/meshd/meshd/tools/guard/layers"
	"github.com/meshd/meshd/tools/guard/listen"
	"github.com/meshd/meshd/tools/guard/proven"
	"github.com/meshd/meshd/tools/guard/pure"
)

var analyzers = []*analysis.Analyzer{
	fxonly.Analyzer,
	globals.Analyzer,
	layers.Analyzer,
	listen.Analyzer,
	proven.Analyzer,
	pure.Analyzer,
}

// finding is one violation.
type finding struct {
	at       token.Position
	analyzer string
	message  string
}

// String gives "file:line:column: message (guard name)", with the file relative to the current folder.
func (f finding) String() string {
	at := f.at
	if dir, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(dir, at.Filename); err == nil {
			at.Filename = rel
		}
	}
	return fmt.Sprintf("%s: %s (guard %s)", at, f.message, f.analyzer)
}

// check runs all analyzers over the packages that the patterns name, seen from a folder, tests included. Findings are
// sorted. Facts travel only between the packages named, so name all of them. Packages that do not compile are an error.
func check(dir string, patterns ...string) ([]finding, error) {
	pkgs, err := packages.Load(&packages.Config{
		Dir:   dir,
		Tests: true,
		// The syntax of the packages named; all others by their export data, which takes a tenth of the time.
		Mode: packages.LoadSyntax | packages.NeedModule,
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("load %v: %w", patterns, err)
	}
	if err := broken(pkgs); err != nil {
		return nil, err
	}
	graph, err := checker.Analyze(analyzers, pkgs, nil)
	if err != nil {
		return nil, fmt.Errorf("analyze %v: %w", patterns, err)
	}
	var findings []finding
	var errs []error
	for _, act := range graph.Roots {
		if act.Err != nil {
			errs = append(errs, fmt.Errorf("guard %s of %s: %w", act.Analyzer.Name, act.Package.ID, act.Err))
		}
		for _, d := range act.Diagnostics {
			findings = append(findings, finding{act.Package.Fset.Position(d.Pos), act.Analyzer.Name, d.Message})
		}
	}
	slices.SortFunc(findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Offset, b.at.Offset),
			cmp.Compare(a.analyzer, b.analyzer), cmp.Compare(a.message, b.message))
	})
	// A file is seen once as part of its package, and again as part of the package with its tests.
	return slices.Compact(findings), errors.Join(errs...)
}

// broken gives the errors of packages that do not compile: what analyzers say of those can't be relied on.
func broken(pkgs []*packages.Package) error {
	if len(pkgs) == 0 {
		return errors.New("no packages: want a pattern such as ./... that names all of them")
	}
	var errs []error
	seen := map[string]bool{} // a package and the same with its tests have the same errors
	for _, pkg := range pkgs {
		own := slices.ContainsFunc(pkg.Errors, func(e packages.Error) bool { return e.Kind == packages.TypeError || e.Kind == packages.ParseError })
		for _, err := range pkg.Errors {
			if own && (err.Kind == packages.ListError || err.Kind == packages.UnknownError) || seen[err.Error()] {
				continue // the go command's summary of the others
			}
			seen[err.Error()] = true
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
