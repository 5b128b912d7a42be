// Package pure guards the constructors of components: they start no goroutine, do no I/O and read no clock, also not
// through the functions they call.
//
// A constructor is a function in the New list of a lifecycle.Component. What each function of this module does is
// kept as a fact and carried from package to package; functions outside this module are judged by the table in
// primitives.go. A function literal counts when it is called, deferred, or given to a function that calls it; one that
// is stored, as the functions of a step are, does not. Calls through interfaces and fields can't be followed.
package pure

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"

	"github.com/meshd/meshd/tools/guard/house"
)

// Analyzer reports constructors of components and values of package variables that are not pure.
var Analyzer = &analysis.Analyzer{
	Name:      "pure",
	Doc:       "constructors of components start no goroutine, do no I/O and read no clock",
	Run:       run,
	FactTypes: []analysis.Fact{new(impure), new(runsParams)},
}

// Where components are declared, each constructor must be visible to this analyzer.
var assembly = []string{"internal/modules/..."}

func run(pass *analysis.Pass) (any, error) {
	if !house.Guarded(pass) {
		return nil, nil
	}
	e := newEffects(pass)
	for _, fn := range e.funcs {
		if effect := e.known[fn].effect; effect != nil {
			pass.ExportObjectFact(fn, effect)
		}
		if runs := e.known[fn].runs; len(runs) > 0 {
			fact := &runsParams{}
			for i := range fn.Signature().Params().Len() {
				if runs[i] {
					fact.Index = append(fact.Index, i)
				}
			}
			pass.ExportObjectFact(fn, fact)
		}
	}
	for _, file := range house.Code(pass) {
		e.packageVariables(file)
		e.components(file)
	}
	return nil, nil
}

// packageVariables checks that loading the package does nothing.
func (e *effects) packageVariables(file *ast.File) {
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.VAR {
			continue
		}
		for _, spec := range gen.Specs {
			spec := spec.(*ast.ValueSpec)
			for _, value := range spec.Values {
				var s summary
				e.walker(&s).walk(value)
				if s.effect != nil {
					e.pass.ReportRangef(value, "package variable %s is not pure: %s; it happens before main, where nobody can bound or stop it",
						spec.Names[0].Name, s.effect)
				}
			}
		}
	}
}

// components finds the constructors of components: what New is set to in literals, and what is assigned to it.
func (e *effects) components(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			if !isComponent(e.pass.TypesInfo.TypeOf(n)) {
				return true
			}
			for i, element := range n.Elts {
				if kv, ok := element.(*ast.KeyValueExpr); ok {
					if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "New" {
						e.constructors(kv.Value, nil)
					}
				} else if fieldName(e.pass.TypesInfo.TypeOf(n), i) == "New" {
					e.constructors(element, nil)
				}
			}
		case *ast.AssignStmt:
			for i, lhs := range n.Lhs {
				if len(n.Lhs) == len(n.Rhs) && e.isNew(lhs) {
					e.constructors(n.Rhs[i], nil)
				}
			}
		}
		return true
	})
}

// constructors checks the elements of an expression of type []any. path are the variables that led to it.
func (e *effects) constructors(list ast.Expr, path []types.Object) {
	info := e.pass.TypesInfo
	switch list := ast.Unparen(list).(type) {
	case *ast.CompositeLit:
		for _, element := range list.Elts {
			if kv, ok := element.(*ast.KeyValueExpr); ok {
				element = kv.Value
			}
			e.constructor(element)
		}
		return
	case *ast.CallExpr:
		if !info.Types[list.Fun].IsBuiltin() {
			break
		}
		switch types.ExprString(list.Fun) {
		case "make":
			return
		case "append": // append(list, element, …) or append(list, more...)
			e.constructors(list.Args[0], path)
			for _, arg := range list.Args[1:] {
				if list.Ellipsis.IsValid() {
					e.constructors(arg, path)
				} else {
					e.constructor(arg)
				}
			}
			return
		}
	case *ast.SelectorExpr:
		if e.isNew(list) { // checked where it was set
			return
		}
	case *ast.Ident:
		if list.Name == "nil" {
			return
		}
		obj := info.Uses[list]
		if slices.Contains(path, obj) {
			return
		}
		if values := e.lists[obj]; len(values) > 0 {
			for _, value := range values {
				e.constructors(value, append(path, obj))
			}
			return
		}
	}
	e.unseen(list)
}

func (e *effects) constructor(fun ast.Expr) {
	w := e.walker(&summary{})
	if call, ok := ast.Unparen(fun).(*ast.CallExpr); ok { // a function that makes the constructor
		w.call(call)
	}
	if !w.run(fun) {
		e.unseen(fun)
	}
	effect := w.sum.effect
	if effect == nil {
		return
	}
	shown := *effect
	name := types.ExprString(fun)
	if _, literal := ast.Unparen(fun).(*ast.FuncLit); literal {
		name = "func literal"
	}
	if named := e.named(fun); named != nil {
		shown.Chain[0] = name // as it is written here
	} else {
		shown.Chain = append([]string{name}, shown.Chain...)
	}
	e.pass.ReportRangef(fun, "constructor %s is not pure: %s; do it in a step", name, &shown)
}

// named gives the function that an expression names, or nil.
func (e *effects) named(fun ast.Expr) *types.Func {
	switch fun := ast.Unparen(fun).(type) {
	case *ast.IndexExpr:
		return e.named(fun.X)
	case *ast.IndexListExpr:
		return e.named(fun.X)
	case *ast.Ident:
		fn, _ := e.pass.TypesInfo.Uses[fun].(*types.Func)
		return fn
	case *ast.SelectorExpr:
		return e.named(fun.Sel)
	}
	return nil
}

// unseen refuses, in the assembly, a constructor that this analyzer can't follow: it would be unguarded.
func (e *effects) unseen(expr ast.Expr) {
	if house.Match(e.pass.Pkg.Path(), assembly...) {
		e.pass.ReportRangef(expr, "constructor %s can't be checked: list functions by name, in a []any literal or with append", types.ExprString(expr))
	}
}

// isNew reports whether an expression is the field New of a component.
func (e *effects) isNew(expr ast.Expr) bool {
	sel, ok := ast.Unparen(expr).(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "New" && isComponent(e.pass.TypesInfo.TypeOf(sel.X))
}

func isComponent(t types.Type) bool {
	if t == nil {
		return false
	}
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == "Component" && named.Obj().Pkg() != nil &&
		named.Obj().Pkg().Path() == house.Module+"/internal/lifecycle"
}

func fieldName(t types.Type, i int) string {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok || i >= s.NumFields() {
		return ""
	}
	return s.Field(i).Name()
}
