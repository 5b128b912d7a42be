package pure

import (
	"slices"
	"strings"
	"testing"

	"github.com/meshd/meshd/tools/guard/guardtest"
)

// A name that is misspelt in the table guards nothing.
func TestPrimitivesExist(t *testing.T) {
	var paths []string
	for _, p := range primitives {
		paths = append(paths, p.pkg)
	}
	pkgs := guardtest.Packages(t, paths...)
	if pkgs["time"] == nil || pkgs["go.uber.org/zap"] == nil {
		t.Fatal("packages were not loaded")
	}
	for _, p := range primitives {
		pkg := pkgs[p.pkg]
		if pkg == nil {
			continue
		}
		for _, pattern := range strings.Fields(p.names) {
			pattern = strings.TrimPrefix(pattern, "-")
			if !slices.ContainsFunc(guardtest.Names(pkg), func(name string) bool { return listed(pattern, name) }) {
				t.Errorf("%s has nothing named %s", p.pkg, pattern)
			}
		}
	}
}
