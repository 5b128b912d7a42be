package scenario_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/testkit/scenario"
)

func TestDiff(t *testing.T) {
	const alpn = `{"@type":"type.googleapis.com/istio.envoy.config.filter.http.alpn.v2alpha1.FilterConfig"`
	tests := []struct {
		name, want, got string
		diff            []string
	}{
		{"equal", `{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, nil},
		{"a value", `{"a":{"b":1}}`, `{"a":{"b":2}}`, []string{"$.a.b: want 1, got 2"}},
		{"another type", `{"a":1}`, `{"a":"1"}`, []string{`$.a: want 1, got "1"`}},
		{"an object for a value", `{"a":1}`, `{"a":{}}`, []string{"$.a: want 1, got {}"}},
		{"a value for an object", `{"a":{}}`, `{"a":1}`, []string{"$.a: want {}, got 1"}},
		{"missing", `{"a":1,"b":{}}`, `{"a":1}`, []string{"$.b: want {}, got nothing"}},
		{"extra", `{"a":1}`, `{"a":1,"b":false}`, []string{"$.b: want nothing, got false"}},
		{"null is not missing", `{"a":null}`, `{}`, []string{"$.a: want nothing, got nothing"}},
		{"order of a list", `[1,2]`, `[2,1]`, []string{"$[0]: want 1, got 2", "$[1]: want 2, got 1"}},
		{"a longer list", `[1]`, `[1,2]`, []string{"$[1]: want nothing, got 2"}},
		{"a shorter list", `[1,2]`, `[1]`, []string{"$[1]: want 2, got nothing"}},
		{"a type that was not known", alpn + `}`, alpn + `,"alpnOverride":[]}`, nil},
		{"another type than the one that was not known", alpn + `}`, `{"@type":"x"}`, []string{
			`$.@type: want "type.googleapis.com/istio.envoy.config.filter.http.alpn.v2alpha1.FilterConfig", got "x"`,
		}},
		{"an empty message of a known type", `{"@type":"known"}`, `{"@type":"known","a":1}`, []string{"$.a: want nothing, got 1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var want, got any
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(test.got), &got); err != nil {
				t.Fatal(err)
			}
			var diff []string
			for _, d := range scenario.Diff(want, got) {
				diff = append(diff, d.String())
			}
			if d := cmp.Diff(test.diff, diff); d != "" {
				t.Errorf("differences (-want +got):\n%s", d)
			}
		})
	}
}
