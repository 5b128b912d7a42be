// Package layers guards the import directions of DESIGN.md. They stand in table.go, each with its reason.
// Tests are exempt: they may look down at a package from any floor.
package layers

import (
	"cmp"
	"go/ast"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/meshd/meshd/tools/guard/house"
)

// Analyzer reports imports against the tables of this package.
var Analyzer = &analysis.Analyzer{
	Name:      "layers",
	Doc:       "imports follow the directions of DESIGN.md",
	Run:       run,
	FactTypes: []analysis.Fact{new(reach)},
}

// reach is a fact about a package of this module: what it imports, also through others of this module, as far as a
// rule cares.
type reach struct{ Links []link }

// link is one package that is reached, and the shortest way there: Chain ends with it.
type link struct{ Chain []string }

func (l link) target() string { return l.Chain[len(l.Chain)-1] }

func (*reach) AFact() {}

// String lists what is reached, for the log of facts.
func (r *reach) String() string {
	var paths []string
	for _, l := range r.Links {
		paths = append(paths, house.Rel(l.target()))
	}
	return "imports " + strings.Join(paths, " ")
}

func run(pass *analysis.Pass) (any, error) {
	if !house.Guarded(pass) {
		return nil, nil
	}
	files := house.Code(pass)
	if len(files) == 0 {
		return nil, nil
	}
	me := pass.Pkg.Path()
	for _, element := range strings.Split(house.Rel(me), "/") {
		if slices.Contains(Nameless, element) {
			pass.ReportRangef(files[0].Name, "package path %s: %q says nothing; put what is here where its owner lives", house.Rel(me), element)
		}
	}
	var all []link
	for _, file := range files {
		for _, spec := range file.Imports {
			links := linksOf(pass, spec)
			all = append(all, links...)
			for _, why := range direct(me, house.ImportPath(spec)) {
				pass.ReportRangef(spec, "%s must not import %s: %s", house.Rel(me), house.Rel(house.ImportPath(spec)), why)
			}
			for _, l := range links[1:] {
				for _, why := range indirect(me, l.Chain) {
					pass.ReportRangef(spec, "%s must not import %s, also not through others: %s → %s: %s",
						house.Rel(me), house.Rel(l.target()), house.Rel(me), chain(l.Chain), why)
				}
			}
		}
	}
	pass.ExportPackageFact(&reach{Links: shortest(all)})
	return nil, nil
}

// linksOf gives what an import reaches: first the imported package itself, then what lies behind it.
func linksOf(pass *analysis.Pass, spec *ast.ImportSpec) []link {
	path := house.ImportPath(spec)
	links := []link{{Chain: []string{path}}}
	if !house.Ours(path) {
		return links
	}
	for _, imported := range pass.Pkg.Imports() {
		var behind reach
		if imported.Path() == path && pass.ImportPackageFact(imported, &behind) {
			for _, l := range behind.Links {
				links = append(links, link{Chain: append([]string{path}, l.Chain...)})
			}
		}
	}
	return links
}

// shortest keeps one chain for each target that is forbidden to someone, in the order of targets.
func shortest(links []link) []link {
	slices.SortFunc(links, func(a, b link) int {
		return cmp.Or(cmp.Compare(a.target(), b.target()), cmp.Compare(len(a.Chain), len(b.Chain)), slices.Compare(a.Chain, b.Chain))
	})
	links = slices.CompactFunc(links, func(a, b link) bool { return a.target() == b.target() })
	return slices.DeleteFunc(links, func(l link) bool {
		return !slices.ContainsFunc(Rules, func(r Rule) bool { return r.Through && r.forbids(l.target()) })
	})
}

// direct gives the reasons why a package must not import another.
func direct(from, to string) []string {
	var why []string
	for _, r := range Rules {
		if r.binds(from) && (r.forbids(to) || r.leavesOut(to)) {
			why = append(why, r.Why)
		}
	}
	if low, high := level(from), level(to); low >= 0 && high > low {
		why = append(why, LevelsWhy)
	}
	for _, p := range Private {
		if house.Match(to, p.Package) && !house.Match(from, p.Package) && !house.Match(from, p.OnlyBy...) {
			why = append(why, "only "+cmp.Or(strings.Join(p.OnlyBy, " and "), "itself")+" may: "+p.Why)
		}
	}
	return why
}

// indirect gives the reasons why a package must not reach the end of a chain. If the next package of the chain is
// bound by the same rule, the violation is reported there, and only there.
func indirect(from string, chain []string) []string {
	var why []string
	for _, r := range Rules {
		if r.Through && r.binds(from) && !r.binds(chain[0]) && r.forbids(chain[len(chain)-1]) {
			why = append(why, r.Why)
		}
	}
	return why
}

func (r Rule) binds(path string) bool   { return house.Match(path, r.Packages...) }
func (r Rule) forbids(path string) bool { return house.Match(path, r.Never...) }

// leavesOut reports whether the rule has a list of what may be imported, and the path is not on it.
func (r Rule) leavesOut(path string) bool {
	return r.Only != nil && house.Ours(path) && !r.binds(path) && !house.Match(path, r.Only...)
}

// level gives the floor that a package stands on, or -1.
func level(path string) int {
	return slices.IndexFunc(Levels, func(patterns []string) bool { return house.Match(path, patterns...) })
}

func chain(paths []string) string {
	var short []string
	for _, p := range paths {
		short = append(short, house.Rel(p))
	}
	return strings.Join(short, " → ")
}
