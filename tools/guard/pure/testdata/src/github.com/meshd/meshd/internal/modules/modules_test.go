package modules

import "github.com/meshd/meshd/internal/lifecycle"

// Mutants may do anything.
var mutant = lifecycle.Component{New: []any{newFoo}}
