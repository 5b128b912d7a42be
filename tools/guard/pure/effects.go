package pure

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// impure is a fact about a function of this module: what happens when it is called that is not pure.
type impure struct {
	// Chain are the calls from this function, which is not in it, to the effect: "foo.New", "time.Now".
	Chain []string
	// At is the place of the last call, "foo.go:12".
	At string
	// Does says what the last call does.
	Does string
}

func (*impure) AFact() {}

func (i *impure) String() string {
	return strings.Join(i.Chain, " → ") + " (" + i.At + "), which " + i.Does
}

// runsParams is a fact about a function of this module: it calls these of its parameters before it returns.
type runsParams struct{ Index []int }

func (*runsParams) AFact() {}

func (*runsParams) String() string { return "runs functions it is given" }

// summary is what is known of one function.
type summary struct {
	effect *impure
	runs   map[int]bool
}

// effects finds out what the functions of one package do.
type effects struct {
	pass  *analysis.Pass
	funcs []*types.Func // in source order, so that the result does not depend on chance
	decls map[*types.Func]*ast.FuncDecl
	known map[*types.Func]*summary
	// values are what is assigned to variables of function type in this package.
	values map[types.Object][]ast.Expr
	// lists are what is assigned to variables of slice type: constructors may be gathered in one.
	lists map[types.Object][]ast.Expr
}

func newEffects(pass *analysis.Pass) *effects {
	e := &effects{
		pass:   pass,
		decls:  map[*types.Func]*ast.FuncDecl{},
		known:  map[*types.Func]*summary{},
		values: map[types.Object][]ast.Expr{},
		lists:  map[types.Object][]ast.Expr{},
	}
	for _, file := range pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if fn, ok := pass.TypesInfo.Defs[n.Name].(*types.Func); ok {
					e.funcs = append(e.funcs, fn)
					e.decls[fn] = n
					e.known[fn] = &summary{runs: map[int]bool{}}
				}
			case *ast.AssignStmt:
				if len(n.Lhs) == len(n.Rhs) {
					for i, lhs := range n.Lhs {
						e.assign(lhs, n.Rhs[i])
					}
				}
			case *ast.RangeStmt:
				e.loop(n)
			case *ast.ValueSpec:
				if len(n.Names) == len(n.Values) {
					for i, lhs := range n.Names {
						e.assign(lhs, n.Values[i])
					}
				}
			}
			return true
		})
	}
	// A function's effect may come from one that is declared after it, so go round until nothing is new. Both parts
	// of a summary only grow, which ends this.
	for changed := true; changed; {
		changed = false
		for _, fn := range e.funcs {
			if e.decls[fn].Body == nil {
				continue
			}
			s := e.known[fn]
			had, ran := s.effect != nil, len(s.runs)
			w := e.walker(s)
			for i := range fn.Signature().Params().Len() {
				w.params[fn.Signature().Params().At(i)] = i
			}
			w.walk(e.decls[fn].Body)
			changed = changed || had != (s.effect != nil) || ran != len(s.runs)
		}
	}
	return e
}

func (e *effects) assign(lhs, rhs ast.Expr) {
	id, ok := lhs.(*ast.Ident)
	if !ok {
		return
	}
	v, ok := e.pass.TypesInfo.ObjectOf(id).(*types.Var)
	if !ok {
		return
	}
	switch v.Type().Underlying().(type) {
	case *types.Signature:
		e.values[v] = append(e.values[v], rhs)
	case *types.Slice:
		e.lists[v] = append(e.lists[v], rhs)
	}
}

// loop takes each element of a list of functions for a value of the loop's variable.
func (e *effects) loop(loop *ast.RangeStmt) {
	id, ok := loop.Value.(*ast.Ident)
	if !ok {
		return
	}
	switch list := ast.Unparen(loop.X).(type) {
	case *ast.CompositeLit:
		for _, element := range list.Elts {
			if kv, ok := element.(*ast.KeyValueExpr); ok {
				element = kv.Value
			}
			e.assign(id, element)
		}
	case *ast.Ident: // perhaps a parameter: the list stands for its elements
		e.assign(id, list)
	}
}

// of gives what is known of a function of this module.
func (e *effects) of(fn *types.Func) summary {
	if s := e.known[fn]; s != nil {
		return *s
	}
	var s summary
	var effect impure
	if e.pass.ImportObjectFact(fn, &effect) {
		s.effect = &effect
	}
	var runs runsParams
	if e.pass.ImportObjectFact(fn, &runs) {
		s.runs = map[int]bool{}
		for _, i := range runs.Index {
			s.runs[i] = true
		}
	}
	return s
}
