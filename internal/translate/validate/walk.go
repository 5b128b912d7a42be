package validate

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// visitor walks through a message and all that is inside of it, Any values too.
type visitor struct {
	plans *plans
	// visit is called for each message that is not an Any.
	visit func(proto.Message)
	// open is called for each Any. To call what it is given goes on with the content; its error is that there is none.
	open func(packed *anypb.Any, open func() error)

	path []step
}

// step leads from one message to another: through a field, to an element of it, or into an Any.
type step struct {
	field protoreflect.FieldDescriptor
	index int // of a list
	key   protoreflect.MapKey
	url   string
}

// top reports whether the message that is visited is the one that the walk began with.
func (v *visitor) top() bool { return len(v.path) == 0 }

// content reports whether the message that is visited is the top or what is in an Any: validation begins there.
func (v *visitor) content() bool { return v.top() || v.path[len(v.path)-1].url != "" }

func (v *visitor) walk(m proto.Message) { v.message(m.ProtoReflect()) }

func (v *visitor) message(m protoreflect.Message) {
	if packed, ok := m.Interface().(*anypb.Any); ok {
		v.open(packed, func() error {
			v.path = append(v.path, step{url: packed.GetTypeUrl()})
			defer v.leave()
			content, err := unpack(packed)
			if err != nil {
				return err
			}
			v.message(content.ProtoReflect())
			return nil
		})
		return
	}
	v.visit(m.Interface())
	for _, field := range v.plans.of(m.Descriptor()).fields {
		if !m.Has(field) {
			continue
		}
		switch value := m.Get(field); {
		case field.IsList():
			for i := range value.List().Len() {
				v.into(step{field: field, index: i}, value.List().Get(i).Message())
			}
		case field.IsMap():
			value.Map().Range(func(k protoreflect.MapKey, value protoreflect.Value) bool {
				v.into(step{field: field, key: k}, value.Message())
				return true
			})
		default:
			v.into(step{field: field}, value.Message())
		}
	}
}

func (v *visitor) into(s step, m protoreflect.Message) {
	v.path = append(v.path, s)
	v.message(m)
	v.leave()
}

func (v *visitor) leave() { v.path = v.path[:len(v.path)-1] }

// at says where an error is.
func (v *visitor) at(err error) error {
	if len(v.path) == 0 {
		return err
	}
	var out strings.Builder
	for _, s := range v.path {
		switch {
		case s.url != "":
			fmt.Fprintf(&out, "<%s>", s.url)
		case s.field.IsList():
			fmt.Fprintf(&out, ".%s[%d]", s.field.Name(), s.index)
		case s.field.IsMap():
			fmt.Fprintf(&out, ".%s[%s]", s.field.Name(), s.key)
		default:
			fmt.Fprintf(&out, ".%s", s.field.Name())
		}
	}
	return fmt.Errorf("%s: %w", out.String(), err)
}
