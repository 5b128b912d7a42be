// Package globals guards against state that nobody injected: init functions, package variables that hold loggers,
// metrics or locks, and the global loggers and registries of libraries. Tests are exempt.
//
// A sync.Pool is not state: what it holds can't be told from what new would make.
package globals

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/meshd/meshd/tools/guard/house"
)

// Libraries are global objects of libraries that are not to be used, by full name, and what to use instead.
var Libraries = []struct {
	Names   []string
	Instead string
}{{
	Names:   []string{"go.uber.org/zap.L", "go.uber.org/zap.S", "go.uber.org/zap.ReplaceGlobals"},
	Instead: "take a *zap.Logger in the constructor",
}, {
	Names: []string{
		"github.com/prometheus/client_golang/prometheus.DefaultRegisterer",
		"github.com/prometheus/client_golang/prometheus.DefaultGatherer",
		"github.com/prometheus/client_golang/prometheus.MustRegister",
		"github.com/prometheus/client_golang/prometheus.Register",
		"github.com/prometheus/client_golang/prometheus.Unregister",
		"github.com/prometheus/client_golang/prometheus/promhttp.Handler",
	},
	Instead: "take a *prometheus.Registry in the constructor",
}, {
	Names:   []string{"net/http.DefaultServeMux", "net/http.Handle", "net/http.HandleFunc"},
	Instead: "make a mux with http.NewServeMux",
}}

// stateful are packages whose types do not belong in package variables.
var stateful = map[string]string{
	"go.uber.org/zap": "a logger",
	"github.com/prometheus/client_golang/prometheus": "metrics",
	"sync":        "a lock",
	"sync/atomic": "shared state",
}

// Analyzer reports global state.
var Analyzer = &analysis.Analyzer{
	Name: "globals",
	Doc:  "no init functions, and no package variables or library globals that hold state",
	Run:  run,
}

func run(pass *analysis.Pass) (any, error) {
	if !house.Guarded(pass) {
		return nil, nil
	}
	for _, file := range house.Code(pass) {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil && decl.Name.Name == "init" {
					pass.ReportRangef(decl.Name, "func init: what it does happens before main, in an order that nobody chose; make it a constructor or a step")
				}
			case *ast.GenDecl:
				if decl.Tok == token.VAR {
					variables(pass, decl)
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				name := house.Name(pass.TypesInfo.Uses[id])
				for _, l := range Libraries {
					if slices.Contains(l.Names, name) {
						pass.ReportRangef(id, "%s is global state: %s", name, l.Instead)
					}
				}
			}
			return true
		})
	}
	return nil, nil
}

func variables(pass *analysis.Pass, decl *ast.GenDecl) {
	for _, spec := range decl.Specs {
		for _, id := range spec.(*ast.ValueSpec).Names {
			if id.Name == "_" { // keeps nothing
				continue
			}
			if what := holds(pass.TypesInfo.Defs[id].Type(), map[types.Type]bool{}); what != "" {
				pass.ReportRangef(id, "package variable %s holds %s: there is no global state; make it a field, and inject what it is made of", id.Name, what)
			}
		}
	}
}

// holds says what kind of state a value of the type has in it, or gives "". It looks into structs of this module and
// unnamed ones, not into those of other modules: what a message or an error type is made of is their affair.
func holds(t types.Type, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	t = types.Unalias(t)
	if named, ok := t.(*types.Named); ok && named.Obj().Pkg() != nil {
		path := named.Obj().Pkg().Path()
		if what := stateful[path]; what != "" && isState(named) {
			return what + " (" + types.TypeString(t, (*types.Package).Name) + ")"
		}
		if !house.Ours(path) {
			return ""
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return holds(u.Elem(), seen)
	case *types.Array:
		if u.Len() > 0 {
			return holds(u.Elem(), seen)
		}
	case *types.Slice:
		return holds(u.Elem(), seen)
	case *types.Map:
		return holds(u.Elem(), seen)
	case *types.Struct:
		for i := range u.NumFields() {
			if what := holds(u.Field(i).Type(), seen); what != "" {
				return what
			}
		}
	}
	return ""
}

// isState tells the types of the stateful packages that hold state from their options and descriptions.
func isState(named *types.Named) bool {
	name := named.Obj().Name()
	switch named.Obj().Pkg().Path() {
	case "sync":
		return name != "Pool"
	case "sync/atomic":
		return true
	case "go.uber.org/zap":
		return name == "Logger" || name == "SugaredLogger" || name == "AtomicLevel"
	default:
		return name != "Desc" && name != "Labels" && !strings.HasSuffix(name, "Opts")
	}
}
