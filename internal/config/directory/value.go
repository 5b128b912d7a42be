package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	yamlv2 "go.yaml.in/yaml/v2"
	kjson "sigs.k8s.io/json"
)

// maxObject is the size in bytes above which a document that is no list, or an item of a list, is refused. An API
// server takes requests of up to 3 MB, and a parser needs forty times the text's size of memory.
const maxObject = 4 << 20

func tooLarge(text []byte) error {
	if len(text) <= maxObject {
		return nil
	}
	return fmt.Errorf("it has %d bytes in one piece, more than %d: put \"---\" between objects, or write lists as kubectl does", len(text), maxObject)
}

// value is what a document or an item says, before anyone looks at it: YAML that was parsed, or JSON that was not.
type value struct {
	yaml any
	json []byte
}

// decodeYAML parses one value of YAML, strictly. It ends early if the context does. The value is empty if the text is.
func decodeYAML(ctx context.Context, text []byte) (value, error) {
	// The parser of YAML 1.1 is the one of kubectl and the API server, which read "yes" as true.
	dec := yamlv2.NewDecoder(&reader{ctx, text})
	dec.SetStrict(true)
	var v any
	if err := dec.Decode(&v); err != nil && !errors.Is(err, io.EOF) {
		return value{}, err
	}
	return value{yaml: v}, nil
}

// reader hands out text until the context ends.
type reader struct {
	ctx  context.Context
	left []byte
}

// Read is that of io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// head reads apiVersion and kind, where they are given, over those of who does not give them.
func (v value) head(of typeMeta) (typeMeta, error) {
	wrong := errors.New("it is not an object with apiVersion and kind")
	if v.yaml == nil {
		if decodeJSON(v.json, &of) != nil {
			return typeMeta{}, wrong
		}
		return of, nil
	}
	fields, ok := v.yaml.(map[any]any)
	if !ok {
		return typeMeta{}, wrong
	}
	for name, into := range map[string]*string{"apiVersion": &of.APIVersion, "kind": &of.Kind} {
		switch text := fields[name].(type) {
		case nil:
		case string:
			*into = text
		default:
			return typeMeta{}, wrong
		}
	}
	return of, nil
}

// data gives the value as JSON.
func (v value) data() ([]byte, error) {
	if v.yaml == nil {
		return v.json, nil
	}
	converted, err := jsonable(v.yaml)
	if err != nil {
		return nil, err
	}
	return json.Marshal(converted)
}

// jsonable makes keys text, which is all that JSON allows. It may write to lists of what it is given.
func jsonable(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case map[any]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			name, ok := k.(string)
			if !ok {
				switch k.(type) {
				case int, int64, uint64, float64, bool:
					name = fmt.Sprint(k)
				default:
					return nil, fmt.Errorf("a key of a mapping is neither text nor a number: %v", k)
				}
			}
			if _, twice := out[name]; twice {
				return nil, fmt.Errorf("key %q is there twice, with and without quotes", name)
			}
			if out[name], err = jsonable(x); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		for i, x := range v {
			if v[i], err = jsonable(x); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// decodeJSON tells upper from lower case, as Kubernetes does and Go's own decoder does not.
func decodeJSON(data []byte, into any) error {
	return kjson.UnmarshalCaseSensitivePreserveInts(data, into)
}
