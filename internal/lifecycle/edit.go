package lifecycle

import (
	"reflect"

	"go.uber.org/dig"
)

// Edited stands in a component's list for a constructor whose type was changed by Edit. It can be derived from, but
// not run: it is there for tests that ask what the graph would say if one parameter, tag or phase were different.
type Edited struct {
	Original any
	Type     reflect.Type
}

// Edit gives the components with one constructor's type changed. The function is shown every parameter and every
// field of its parameter and result structs, in order, and answers with what stands there instead, or false to
// remove it. A plain parameter or result is shown as a field with the name "arg 0" or "result 0". The list that was
// given is left as it is.
func Edit(components []Component, ctor any, change func(reflect.StructField) (reflect.StructField, bool)) []Component {
	want := reflect.ValueOf(ctor).Pointer()
	out := make([]Component, len(components))
	for i, c := range components {
		out[i] = c
		out[i].New = append([]any(nil), c.New...)
		for j, entry := range c.New {
			fn, t := entry, reflect.TypeOf(entry)
			if e, ok := entry.(Edited); ok {
				fn, t = e.Original, e.Type
			}
			if t.Kind() == reflect.Func && reflect.ValueOf(fn).Pointer() == want {
				out[i].New[j] = Edited{Original: fn, Type: editFunc(t, change)}
			}
		}
	}
	return out
}

func editFunc(t reflect.Type, change func(reflect.StructField) (reflect.StructField, bool)) reflect.Type {
	edit := func(n int, at func(int) reflect.Type, prefix string) (types []reflect.Type) {
		for i := range n {
			if f, ok := editField(reflect.StructField{Name: prefix + itoa(i), Type: at(i)}, change); ok {
				types = append(types, f.Type)
			}
		}
		return types
	}
	return reflect.FuncOf(edit(t.NumIn(), t.In, "arg "), edit(t.NumOut(), t.Out, "result "), false)
}

// editField changes one field; a struct of parameters or results is changed field by field instead.
func editField(f reflect.StructField, change func(reflect.StructField) (reflect.StructField, bool)) (reflect.StructField, bool) {
	if dig.IsIn(f.Type) || dig.IsOut(f.Type) && f.Type.PkgPath() != lifecyclePath {
		var fields []reflect.StructField
		for i := range f.Type.NumField() {
			sub := f.Type.Field(i)
			if sub.Type == reflect.TypeFor[dig.In]() || sub.Type == reflect.TypeFor[dig.Out]() {
				fields = append(fields, reflect.StructField{Name: sub.Name, Type: sub.Type, Anonymous: true})
				continue
			}
			if edited, ok := editField(sub, change); ok {
				fields = append(fields, reflect.StructField{Name: edited.Name, Type: edited.Type, Tag: edited.Tag})
			}
		}
		f.Type = reflect.StructOf(fields)
		return f, true
	}
	return change(f)
}

// lifecyclePath is this package: its own result structs (Published) are changed as one field.
var lifecyclePath = reflect.TypeFor[Component]().PkgPath()
