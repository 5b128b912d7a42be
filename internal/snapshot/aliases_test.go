package snapshot_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/model"
)

// TestAliases: the names that lead to a service follow each change of what leads there.
func TestAliases(t *testing.T) {
	alias := func(name, to string) string {
		return "Service {metadata: {name: " + name + ", namespace: shop}, " +
			"spec: {type: ExternalName, externalName: " + to + ", ports: [{name: http, port: 80}]}}"
	}
	const hostOf = ".shop.svc.cluster.local"
	r := newRig(t)
	r.put(svcA, alias("old", hostA))
	r.compile()
	for _, step := range []struct {
		what string
		do   func()
		want string
	}{
		{"from the start", func() {}, "old"},
		{"an alias of an alias", func() { r.put(alias("older", "old"+hostOf)) }, "old older"},
		{"the middle turns away", func() { r.put(alias("old", "elsewhere.example.com")) }, ""},
		{"and comes back", func() { r.put(alias("old", hostA)) }, "old older"},
		{"the service goes", func() { r.stores.Services.Delete(model.NamespacedName{Namespace: "shop", Name: "a"}) }, ""},
		{"and comes back", func() { r.put(svcA) }, "old older"},
		{"a circle", func() { r.put(alias("old", "older"+hostOf)) }, ""},
		{"the circle opens", func() { r.put(alias("older", hostA)) }, "old older"},
		{"the middle goes", func() { r.stores.Services.Delete(model.NamespacedName{Namespace: "shop", Name: "older"}) }, ""},
	} {
		step.do()
		var want []string
		for _, name := range strings.Fields(step.want) {
			want = append(want, name+hostOf)
		}
		var got []string
		if svc := r.compile().Service(hostA); svc != nil {
			got = svc.Aliases
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
}
