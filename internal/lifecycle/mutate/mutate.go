// Package mutate makes every small fault that a component list can have: one parameter of one constructor gone, one tag
// of one result gone, one step in another phase. Whoever claims that a list is guarded can be shown each of them.
package mutate

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/meshd/meshd/internal/lifecycle"
)

// Mutation is the component list with one edit.
type Mutation struct {
	// Constructor is its ID, and Pos its place.
	Constructor, Pos string
	// Edit says what is different, in a few words.
	Edit       string
	Components []lifecycle.Component
}

// All lists every mutation of a component list, constructors in the order of their ID.
func All(components []lifecycle.Component) []Mutation {
	var out []Mutation
	for _, c := range components {
		for _, fn := range c.New {
			ctor := lifecycle.Derive([]lifecycle.Component{{Name: c.Name, New: []any{fn}}}).Constructors[0]
			for _, e := range edits(components, fn, ctor) {
				out = append(out, Mutation{Constructor: ctor.ID, Pos: ctor.Pos(), Edit: e.what,
					Components: apply(components, fn, e)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Mutation) int { return strings.Compare(a.Constructor, b.Constructor) })
	return out
}

// edit changes the field that is shown at a place; a nil change removes it.
type edit struct {
	at     int
	what   string
	change func(reflect.StructField) reflect.StructField
}

func apply(components []lifecycle.Component, fn any, e edit) []lifecycle.Component {
	at := -1
	return lifecycle.Edit(components, fn, func(f reflect.StructField) (reflect.StructField, bool) {
		switch at++; {
		case at != e.at:
			return f, true
		case e.change == nil:
			return f, false
		}
		return e.change(f), true
	})
}

// edits lists what can be done to a constructor. Edit shows parameters first, one for each that the graph knows.
func edits(components []lifecycle.Component, fn any, ctor *lifecycle.Constructor) []edit {
	var out []edit
	at := -1
	lifecycle.Edit(components, fn, func(f reflect.StructField) (reflect.StructField, bool) {
		at++
		if at < len(ctor.Params) {
			p := ctor.Params[at]
			out = append(out, edit{at: at, what: fmt.Sprintf("parameter %s (%s) removed", p.Field, p.Key.Short())})
		}
		for _, pair := range parse(f.Tag) {
			out = append(out, edit{at: at, what: fmt.Sprintf("tag %s of %s removed", pair.key, f.Name), change: retag(pair.key, "")})
			if pair.key != "phase" {
				continue
			}
			for _, phase := range lifecycle.Phases() {
				if phase.String() != pair.value {
					out = append(out, edit{at: at, what: fmt.Sprintf("phase of %s: %s, not %s", f.Name, phase, pair.value), change: retag("phase", phase.String())})
				}
			}
		}
		return f, true
	})
	return out
}

type pair struct{ key, value string }

// parse reads the key:"value" pairs of a struct tag in order.
func parse(tag reflect.StructTag) []pair {
	var out []pair
	rest := string(tag)
	for {
		key, after, ok := strings.Cut(strings.TrimLeft(rest, " "), ":")
		if !ok {
			return out
		}
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			return out
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return out
		}
		out = append(out, pair{key, value})
		rest = after[len(quoted):]
	}
}

// retag gives a tag another value, or removes it if the value is empty.
func retag(key, value string) func(reflect.StructField) reflect.StructField {
	return func(f reflect.StructField) reflect.StructField {
		var parts []string
		for _, p := range parse(f.Tag) {
			if p.key == key {
				p.value = value
			}
			if p.value != "" {
				parts = append(parts, fmt.Sprintf("%s:%q", p.key, p.value))
			}
		}
		f.Tag = reflect.StructTag(strings.Join(parts, " "))
		return f
	}
}
