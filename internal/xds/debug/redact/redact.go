// Package redact takes secrets out of what is about to be shown.
//
// What is a secret is said by the messages themselves, as for Envoy's own config_dump: fields with the annotation
// udpa.annotations.sensitive, and everything below them. Beside that it is told by names, for what has no annotations:
// Istio's messages, headers, and free-form metadata.
package redact

import (
	"strings"

	"github.com/cncf/xds/go/udpa/annotations"
	xdsv3 "github.com/cncf/xds/go/xds/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
)

// Redacted stands where a secret was, as Envoy writes it.
const Redacted = "[redacted]"

// Resolver finds the types of messages that are packed in an Any; protoregistry.GlobalTypes is one.
type Resolver interface {
	protoregistry.MessageTypeResolver
	protoregistry.ExtensionTypeResolver
}

// Redactor takes secrets out of messages.
type Redactor struct{ types Resolver }

// New makes a redactor that looks into an Any of the types that the resolver finds.
func New(types Resolver) Redactor { return Redactor{types} }

// Message takes the secrets out of a message, also within each Any, and reports whether there were any. An Any whose type
// is not found cannot be looked into: it becomes an empty TypedStruct that names the type.
func (r Redactor) Message(m proto.Message) (changed bool) {
	if a, ok := m.(*anypb.Any); ok {
		return r.inAny(a)
	}
	return r.message(m.ProtoReflect(), false)
}

func (r Redactor) inAny(a *anypb.Any) (changed bool) {
	if a.GetTypeUrl() == "" && len(a.GetValue()) == 0 {
		return false
	}
	inner, err := anypb.UnmarshalNew(a, proto.UnmarshalOptions{Resolver: r.types})
	switch {
	case err != nil:
		empty(a)
		return true
	case !r.Message(inner):
		return false
	}
	packed, err := anypb.New(inner)
	if err != nil {
		empty(a) // nothing is better than the secret
		return true
	}
	a.TypeUrl, a.Value = packed.GetTypeUrl(), packed.GetValue()
	return true
}

// empty leaves of an Any nothing but its type.
func empty(a *anypb.Any) {
	left, err := anypb.New(&xdsv3.TypedStruct{TypeUrl: a.GetTypeUrl()})
	if err != nil {
		left = &anypb.Any{} // the type's name is no text
	}
	a.TypeUrl, a.Value = left.GetTypeUrl(), left.GetValue()
}

// message walks a message. all says that it stands below something sensitive.
func (r Redactor) message(m protoreflect.Message, all bool) (changed bool) {
	if a, ok := m.Interface().(*anypb.Any); ok {
		if all {
			empty(a)
			return true
		}
		return r.inAny(a)
	}
	named := all || headerIsSecret(m)
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		secret := all || sensitive(f) || named && f.Name() == "value"
		switch {
		case f.IsMap():
			changed = r.inMap(f, v.Map(), secret) || changed
		case f.IsList():
			changed = r.inList(f, v.List(), secret) || changed
		case f.Message() != nil:
			changed = r.message(m.Mutable(f).Message(), secret) || changed
		case secret || isText(f) && IsSecret(string(f.Name())):
			changed = hide(m, f) || changed
		}
		return true
	})
	return changed
}

func (r Redactor) inMap(f protoreflect.FieldDescriptor, entries protoreflect.Map, all bool) (changed bool) {
	value := f.MapValue()
	entries.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		secret := all || IsSecret(k.String())
		switch {
		case value.Message() != nil:
			// Also the value of a google.protobuf.Struct, whose keys are names.
			changed = r.message(entries.Mutable(k).Message(), secret) || changed
		case secret && isText(value):
			entries.Set(k, redacted(value))
			changed = true
		}
		return true
	})
	return changed
}

func (r Redactor) inList(f protoreflect.FieldDescriptor, list protoreflect.List, all bool) (changed bool) {
	all = all || isText(f) && IsSecret(string(f.Name()))
	for i := range list.Len() {
		switch {
		case f.Message() != nil:
			changed = r.message(list.Get(i).Message(), all) || changed
		case all && isText(f):
			list.Set(i, redacted(f))
			changed = true
		}
	}
	return changed
}

// hide replaces a text. Other kinds say nothing without it and stay.
func hide(m protoreflect.Message, f protoreflect.FieldDescriptor) (changed bool) {
	if !isText(f) {
		return false
	}
	m.Set(f, redacted(f))
	return true
}

func isText(f protoreflect.FieldDescriptor) bool {
	return f.Kind() == protoreflect.StringKind || f.Kind() == protoreflect.BytesKind
}

func redacted(f protoreflect.FieldDescriptor) protoreflect.Value {
	if f.Kind() == protoreflect.BytesKind {
		return protoreflect.ValueOfBytes([]byte(Redacted))
	}
	return protoreflect.ValueOfString(Redacted)
}

func sensitive(f protoreflect.FieldDescriptor) bool {
	secret, _ := proto.GetExtension(f.Options(), annotations.E_Sensitive).(bool)
	return secret
}

// headerIsSecret reports whether a message is a name with a value that gives somebody's rights away, such as a header.
func headerIsSecret(m protoreflect.Message) bool {
	fields := m.Descriptor().Fields()
	if fields.ByName("value") == nil {
		return false
	}
	for _, field := range []protoreflect.Name{"key", "name"} {
		if f := fields.ByName(field); f != nil && f.Kind() == protoreflect.StringKind && !f.IsList() && IsSecret(m.Get(f).String()) {
			return true
		}
	}
	return false
}

// IsSecret reports whether a name of a field, key, header or variable is that of a secret.
func IsSecret(name string) bool {
	plain := strings.NewReplacer("_", "", "-", "", ".", "").Replace(strings.ToLower(name))
	for _, end := range []string{"token", "password", "passwd", "secret", "privatekey", "apikey", "secretkey", "authorization", "cookie", "credentials"} {
		if strings.HasSuffix(plain, end) {
			return true
		}
	}
	return false
}

// Values takes secrets out of what came out of JSON, by the names of keys. It gives a copy where it has to.
func Values(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, inner := range v {
			if _, text := inner.(string); text && IsSecret(k) {
				out[k] = Redacted
			} else {
				out[k] = Values(inner)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = Values(inner)
		}
		return out
	}
	return v
}
