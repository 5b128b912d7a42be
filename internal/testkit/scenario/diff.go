package scenario

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
)

var marshal = protojson.MarshalOptions{}

// opaque are the types that the dumping client did not know, and showed without their content.
var opaque = map[string]bool{
	"type.googleapis.com/istio.envoy.config.filter.http.alpn.v2alpha1.FilterConfig": true,
}

// Difference is one place where two JSON values differ. What is absent is nil.
type Difference struct {
	// Path to the place, such as "$.filterChains[0].name".
	Path      string
	Want, Got any
}

// String shows both sides, shortened.
func (d Difference) String() string {
	return fmt.Sprintf("%s: want %s, got %s", d.Path, short(d.Want), short(d.Got))
}

func short(v any) string {
	if v == nil {
		return "nothing"
	}
	const most = 300
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(data) > most {
		return string(data[:most]) + "…"
	}
	return string(data)
}

// Diff compares JSON values, lists in order. Of an Any whose type the dumping client did not know only the type counts.
func Diff(want, got any) []Difference { return diff("$", want, got) }

func diff(path string, want, got any) []Difference {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		if url, _ := w["@type"].(string); opaque[url] && len(w) == 1 && g["@type"] == url {
			return nil
		}
		var out []Difference
		keys := maps.Clone(w)
		maps.Copy(keys, g)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			a, inWant := w[key]
			b, inGot := g[key]
			switch p := path + "." + key; {
			case !inWant || !inGot:
				out = append(out, Difference{p, a, b})
			default:
				out = append(out, diff(p, a, b)...)
			}
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok {
			break
		}
		var out []Difference
		for i := range max(len(w), len(g)) {
			p := fmt.Sprintf("%s[%d]", path, i)
			switch {
			case i >= len(g):
				out = append(out, Difference{p, w[i], nil})
			case i >= len(w):
				out = append(out, Difference{p, nil, g[i]})
			default:
				out = append(out, diff(p, w[i], g[i])...)
			}
		}
		return out
	default:
		if want == got {
			return nil
		}
	}
	return []Difference{{path, want, got}}
}
