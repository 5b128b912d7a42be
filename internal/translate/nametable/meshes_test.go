package nametable_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/testkit/scenario"
)

var update = flag.Bool("update", false, "write the expected tables of testdata anew; review the difference")

// TestMeshes compares the tables of small meshes, those of the folder above, with what was reviewed: one entry a line. It
// was held, when it was written, to what istiod 1.31 gives the same clients for the same objects, apart from the order of
// addresses, and is equal but for three things:
//   - a name of its own that a pod has and its slice does not tell (headless: starting-0, starting-1). An API server
//     writes into a slice what the pod says, so that they differ in files alone;
//   - services without an address for a client that has IPv6 alone (dualstack: six-0), which istiod leaves to the next
//     DNS server, where the answer is the same;
//   - a name that stands for another one and has an address all the same (external: withip), which an API server refuses.
func TestMeshes(t *testing.T) {
	for _, mesh := range []string{"headless", "dualstack", "external", "shapes", "endpoints", "visibility"} {
		t.Run(mesh, func(t *testing.T) {
			sc := scenario.Load(t, filepath.Join("..", "testdata", mesh))
			snap := sc.Snapshot(t, nil)
			var out strings.Builder
			for _, client := range sc.Clients {
				out.WriteString("# " + client.Name + "\n")
				for _, line := range read(t, build(t, snap, client.Proxy)) {
					out.WriteString(line + "\n")
				}
			}
			file := filepath.Join("testdata", mesh+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
