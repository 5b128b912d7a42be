package pure

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/meshd/meshd/tools/guard/house"
)

// walker goes through the code that one function executes, and sums it up.
type walker struct {
	*effects
	sum    *summary
	params map[types.Object]int
	// seen and ran end recursion: code that was walked, and variables whose values were run.
	seen map[ast.Node]bool
	ran  map[types.Object]bool
}

func (e *effects) walker(s *summary) *walker {
	return &walker{effects: e, sum: s, params: map[types.Object]int{}, seen: map[ast.Node]bool{}, ran: map[types.Object]bool{}}
}

// walk finds what executing a node does. Function literals in it are only stored, until something runs them.
func (w *walker) walk(root ast.Node) {
	if w.seen[root] {
		return
	}
	w.seen[root] = true
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.GoStmt:
			w.effect(n.Pos(), []string{"go statement"}, goroutine)
			return false
		case *ast.CallExpr:
			w.call(n)
		case *ast.RangeStmt:
			if t := w.pass.TypesInfo.TypeOf(n.X); t != nil && isFunc(t) {
				w.run(n.X)
			}
		}
		return true
	})
}

// call takes in what a call does: the function itself, and what it does with functions that it is given.
func (w *walker) call(call *ast.CallExpr) {
	info := w.pass.TypesInfo
	if tv := info.Types[call.Fun]; tv.IsType() || tv.IsBuiltin() {
		return
	}
	fn, ok := typeutil.Callee(info, call).(*types.Func)
	if !ok {
		w.run(call.Fun)
		return
	}
	w.function(fn, call.Pos())
	if fn.Pkg() != nil && toStandardStream(info, fn, call) {
		w.effect(call.Pos(), []string{"fmt." + fn.Name()}, output)
	}
	for i, arg := range call.Args {
		if t := info.TypeOf(arg); t != nil && isFunc(t) && w.runsParam(fn, i) {
			w.run(arg)
		}
	}
}

// runsParam reports whether a function calls its i-th argument before it returns.
func (w *walker) runsParam(fn *types.Func, i int) bool {
	if fn.Pkg() == nil {
		return false
	}
	if !house.Ours(fn.Pkg().Path()) {
		return runsItsArguments(fn)
	}
	return w.of(fn).runs[min(i, fn.Signature().Params().Len()-1)]
}

// run takes in what calling an expression of function type does. It reports whether it could see that: values of
// fields and interfaces, and what other packages return, are not known.
func (w *walker) run(fun ast.Expr) bool {
	info := w.pass.TypesInfo
	switch fun := ast.Unparen(fun).(type) {
	case *ast.FuncLit:
		w.walk(fun.Body)
		return true
	case *ast.IndexExpr:
		return w.run(fun.X)
	case *ast.IndexListExpr:
		return w.run(fun.X)
	case *ast.Ident:
		return w.object(info.Uses[fun], fun.Pos())
	case *ast.SelectorExpr:
		return w.object(info.Uses[fun.Sel], fun.Pos())
	case *ast.CallExpr: // run what the call returns
		fn, _ := typeutil.Callee(info, fun).(*types.Func)
		if fn == nil || w.decls[fn.Origin()] == nil {
			return info.Types[fun.Fun].IsType() && len(fun.Args) == 1 && w.run(fun.Args[0])
		}
		if w.seen[fun] {
			return true
		}
		w.seen[fun] = true
		known := true
		for _, result := range returned(w.decls[fn.Origin()]) {
			known = w.run(result) && known
		}
		return known
	}
	return false
}

func (w *walker) object(obj types.Object, pos token.Pos) bool {
	switch obj := obj.(type) {
	case *types.Func:
		return w.function(obj.Origin(), pos)
	case *types.Var:
		if i, ok := w.params[obj]; ok {
			w.sum.runs[i] = true
			return false
		}
		if w.ran[obj] {
			return true
		}
		w.ran[obj] = true
		known := len(w.values[obj]) > 0
		for _, value := range w.values[obj] {
			known = w.run(value) && known
		}
		return known
	}
	return false
}

func (w *walker) function(fn *types.Func, pos token.Pos) bool {
	if fn.Pkg() == nil || fn.Signature().Recv() != nil && types.IsInterface(fn.Signature().Recv().Type()) {
		return false
	}
	name := fn.Pkg().Name() + "." + localName(fn)
	if !house.Ours(fn.Pkg().Path()) {
		if does := primitive(fn); does != "" {
			w.effect(pos, []string{name}, does)
		}
		return true
	}
	if e := w.of(fn).effect; e != nil && w.sum.effect == nil {
		w.sum.effect = &impure{Chain: append([]string{name}, e.Chain...), At: e.At, Does: e.Does}
	}
	return true
}

// effect keeps the first effect in the order of the source.
func (w *walker) effect(pos token.Pos, chain []string, does string) {
	if w.sum.effect == nil {
		w.sum.effect = &impure{Chain: chain, At: house.Where(w.pass, pos), Does: does}
	}
}

// returned gives the first results of the return statements of a function.
func returned(decl *ast.FuncDecl) []ast.Expr {
	var results []ast.Expr
	if decl.Body == nil {
		return nil
	}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			if len(n.Results) > 0 {
				results = append(results, n.Results[0])
			}
		}
		return true
	})
	return results
}

func isFunc(t types.Type) bool {
	_, ok := t.Underlying().(*types.Signature)
	return ok
}
