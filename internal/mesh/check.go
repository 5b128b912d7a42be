package mesh

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// checker holds JSON against the description of a protobuf message. The decoder does so too, but stops at the first
// error, does not say where it is, and passes over fields and names of values that it does not know.
type checker struct {
	warnings []string
	errors   []error
}

func (c *checker) errorf(path, format string, args ...any) {
	c.errors = append(c.errors, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (c *checker) message(path string, md protoreflect.MessageDescriptor, fields map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		at := join(path, name)
		fd := field(md, name)
		switch {
		case fd == nil:
			c.warnings = append(c.warnings, fmt.Sprintf("%s: this field is not known here and is ignored", at))
		case fields[name] == nil:
		case fd.IsList():
			items, ok := fields[name].([]any)
			if !ok {
				c.errorf(at, "want a list, have %s", describe(fields[name]))
			}
			for i, item := range items {
				c.value(fmt.Sprintf("%s[%d]", at, i), fd, item)
			}
		case fd.IsMap():
			entries, ok := fields[name].(map[string]any)
			if !ok {
				c.errorf(at, "want a mapping, have %s", describe(fields[name]))
			}
			for _, k := range slices.Sorted(maps.Keys(entries)) {
				c.value(at+"."+k, fd.MapValue(), entries[k])
			}
		default:
			c.value(at, fd, fields[name])
		}
	}
}

func (c *checker) value(path string, fd protoreflect.FieldDescriptor, v any) {
	want := ""
	switch fd.Kind() {
	case protoreflect.MessageKind:
		c.submessage(path, fd.Message(), v)
	case protoreflect.EnumKind:
		c.enum(path, fd.Enum(), v)
	case protoreflect.BoolKind:
		if _, ok := v.(bool); !ok {
			want = "true or false"
		}
	case protoreflect.StringKind, protoreflect.BytesKind:
		if _, ok := v.(string); !ok {
			want = "text (put it in quotes)"
		}
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		if _, err := strconv.ParseFloat(number(v), 64); err != nil {
			want = "a number"
		}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		if _, err := strconv.ParseUint(number(v), 10, 32); err != nil {
			want = "a whole number that is not negative"
		}
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		if _, err := strconv.ParseUint(number(v), 10, 64); err != nil {
			want = "a whole number that is not negative"
		}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		if _, err := strconv.ParseInt(number(v), 10, 32); err != nil {
			want = "a whole number"
		}
	default:
		if _, err := strconv.ParseInt(number(v), 10, 64); err != nil {
			want = "a whole number"
		}
	}
	if want != "" {
		c.errorf(path, "want %s, have %s", want, describe(v))
	}
}

func (c *checker) submessage(path string, md protoreflect.MessageDescriptor, v any) {
	switch name := md.FullName(); {
	case name == "google.protobuf.Duration":
		// The format is protobuf's JSON: seconds with a fraction, and nothing else.
		s, ok := v.(string)
		seconds, cut := strings.CutSuffix(s, "s")
		if _, err := strconv.ParseFloat(seconds, 64); !ok || !cut || err != nil {
			hint := ""
			if d, err := time.ParseDuration(s); err == nil {
				hint = fmt.Sprintf(": write %q", strconv.FormatFloat(d.Seconds(), 'f', -1, 64)+"s")
			}
			c.errorf(path, `want a number of seconds such as "10s", have %s%s`, describe(v), hint)
		}
	case strings.HasPrefix(string(name), "google.protobuf.") && strings.HasSuffix(string(name), "Value") && name != "google.protobuf.Value" && name != "google.protobuf.ListValue":
		c.value(path, md.Fields().ByName("value"), v) // BoolValue and the like are written as what they hold
	case strings.HasPrefix(string(name), "google.protobuf."):
		// Struct and the like hold anything.
	default:
		fields, ok := v.(map[string]any)
		if !ok {
			c.errorf(path, "want a mapping, have %s", describe(v))
			return
		}
		c.message(path, md, fields)
	}
}

func (c *checker) enum(path string, ed protoreflect.EnumDescriptor, v any) {
	if s, ok := v.(string); ok && ed.Values().ByName(protoreflect.Name(s)) != nil {
		return
	}
	if n, err := strconv.ParseInt(number(v), 10, 32); err == nil && ed.Values().ByNumber(protoreflect.EnumNumber(n)) != nil {
		return
	}
	var names []string
	for i := range ed.Values().Len() {
		names = append(names, string(ed.Values().Get(i).Name()))
	}
	c.errorf(path, "want one of %s, have %s", strings.Join(names, ", "), describe(v))
}

// number gives the text of a number; protobuf's JSON allows them in quotes too.
func number(v any) string {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case string:
		return v
	}
	return ""
}

func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	case string:
		if len(v) > 80 {
			v = v[:80] + "…"
		}
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}
