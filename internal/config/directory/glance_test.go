package directory

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// TestGlance: a look at only what was touched finds what a look at everything finds, through any sequence of changes;
// it is enough as long as there are files only, and says so itself where it is not.
func TestGlance(t *testing.T) {
	r, stores := newRig(t, map[string]string{"a.yaml": service("a", 1), "deep/b.yaml": service("b", 1)})
	r.load(stores)
	s := r.source
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"a.yaml", "b.yml", "c.json", "notes.txt", ".hidden.yaml", "deep/a.yaml", "deep/b.yaml", "deep/.c.yaml"}
	glances, looks := 0, 0
	for step := range 300 {
		name := names[rng.IntN(len(names))]
		touched := []string{filepath.Join(s.tree.real, name)}
		onlyFiles := true
		what := ""
		switch n := rng.IntN(20); {
		case n < 10:
			what = "write " + name
			r.write(name, service(fmt.Sprint("s", rng.IntN(4)), 1+rng.IntN(100)))
		case n < 14:
			what = "remove " + name
			r.remove(name)
		case n < 16:
			to := names[rng.IntN(len(names))]
			what = "move " + name + " to " + to
			r.write(name, service(fmt.Sprint("s", rng.IntN(4)), 1+rng.IntN(100)))
			r.must(os.Rename(r.path(name), r.path(to)))
			touched = append(touched, filepath.Join(s.tree.real, to))
		case n < 18:
			what = "make nonsense of " + name
			r.write(name, "kind: [")
		default:
			onlyFiles = false
			what = "put a link and a directory"
			r.remove("l.yaml")
			r.symlink("a.yaml", "l.yaml")
			r.write("new/d.yaml", service("d", step))
			touched = []string{filepath.Join(s.tree.real, "l.yaml"), filepath.Join(s.tree.real, "new")}
		}
		enough, err := s.glance(t.Context(), touched)
		r.must(err)
		switch {
		case enough && !onlyFiles:
			t.Fatalf("step %d, %s: it takes a glance for enough", step, what)
		case enough:
			glances++
		default:
			looks++
			r.must(s.scan(t.Context()))
		}
		if !onlyFiles {
			r.remove("l.yaml")
			r.remove("new")
			r.must(s.scan(t.Context()))
		}
		got, problems := r.ports(), len(s.Status().Problems)
		r.must(s.scan(t.Context()))
		if want := r.ports(); got != want || problems != len(s.Status().Problems) {
			t.Fatalf("step %d, %s: a glance finds %q and %d problems, a look %q and %v", step, what, got, problems, want, s.Status().Problems)
		}
	}
	if glances < 200 || looks < 5 {
		t.Errorf("%d glances and %d looks prove little", glances, looks)
	}
}
