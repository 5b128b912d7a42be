package directory

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// wantKept waits until the source is degraded for that reason, and checks that it serves what it served before.
func (r *rig) wantKept(ports string, why ...string) {
	r.Helper()
	r.eventually("degraded: "+strings.Join(why, ", "), func() bool {
		err := r.source.Degraded()
		if err == nil {
			return false
		}
		for _, text := range why {
			if !strings.Contains(err.Error(), text) {
				return false
			}
		}
		return true
	})
	if got := r.ports(); got != ports {
		r.Fatalf("services %q, want the last good ones: %q", got, ports)
	}
	if got := r.take(); len(got) != 0 {
		r.Fatalf("it made the changes %v", got)
	}
	if s := r.source.Status(); s.DegradedSince == nil || s.DegradedSince.IsZero() {
		r.Fatalf("degraded since %v", s.DegradedSince)
	}
}

func TestVanish(t *testing.T) {
	files := map[string]string{"a.yaml": service("a", 1), "sub/b.yaml": service("b", 1)}
	for name, gone := range map[string]func(r *rig){
		"renamed": func(r *rig) {},
		"a file":  func(r *rig) { r.must(os.WriteFile(r.dir, []byte("x"), 0o644)) },
		"a link to nothing": func(r *rig) {
			r.must(os.Symlink("nothing", r.dir))
		},
		"a link to itself": func(r *rig) {
			r.must(os.Symlink(r.dir, r.dir))
		},
		"empty": func(r *rig) { r.mkdir(".") },
		"without manifests": func(r *rig) {
			r.mkdir(".")
			r.write("README.md", "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, options ...func(*Options)) {
				r := start(t, files, options...)
				r.must(os.Rename(r.dir, r.dir+".away"))
				gone(r)
				r.wantKept("a:1 b:1", r.dir)
				r.must(os.RemoveAll(r.dir))
				r.must(os.Rename(r.dir+".away", r.dir))
				r.wantNoProblem()
				r.write("a.yaml", service("a", 2)) // and it is followed again
				r.write("sub/b.yaml", service("b", 2))
				r.wantPorts("a:2 b:2")
			})
		})
	}
}

// TestVanishWithItsParents takes away more than the directory.
func TestVanishWithItsParents(t *testing.T) {
	r, stores := newRig(t, nil)
	r.dir = filepath.Join(r.dir, "x", "y")
	r.source.dir = r.dir
	r.write("a.yaml", service("a", 1))
	r.load(stores)
	r.run()
	x := filepath.Dir(r.dir)
	r.must(os.Rename(x, x+".away"))
	r.wantKept("a:1", r.dir)
	r.must(os.Rename(x+".away", x))
	r.wantNoProblem()
	r.write("a.yaml", service("a", 2))
	r.wantPorts("a:2")
}

// TestReplacedByEmpty deletes the directory and makes it again at once. Many file systems then give the new one the old
// one's number, so that the two cannot be told apart by looking.
func TestReplacedByEmpty(t *testing.T) {
	r := start(t, map[string]string{"a.yaml": service("a", 1)}, func(o *Options) { o.Timing.Quiet = 300 * time.Millisecond })
	r.remove(".")
	r.mkdir(".")
	r.wantKept("a:1", r.dir, "replaced by an empty directory")
	r.write("a.yaml", service("a", 2))
	r.wantPorts("a:2")
	r.wantNoProblem()
}

// TestReplacedByAnother deletes the directory and makes it again, quickly and with other content.
func TestReplacedByAnother(t *testing.T) {
	r := start(t, map[string]string{"a.yaml": service("a", 1)})
	r.must(os.Rename(r.dir, r.dir+".away"))
	r.mkdir(".")
	r.write("b.yaml", service("b", 1))
	r.wantPorts("b:1")
	r.write("b.yaml", service("b", 2))
	r.wantPorts("b:2")
}

// TestDeletedFiles checks the other direction: files that were deleted one by one are deleted.
func TestDeletedFiles(t *testing.T) {
	r := start(t, map[string]string{"a.yaml": service("a", 1), "b.yaml": service("b", 1)})
	r.remove("a.yaml")
	r.remove("b.yaml")
	r.wantPorts("")
	r.wantNoProblem()
}

func TestUnreadableParts(t *testing.T) {
	both(t, func(t *testing.T, options ...func(*Options)) {
		r, stores := newRig(t, map[string]string{"..v/link.yaml": service("link", 1), "..v/linked/b.yaml": service("b", 1), "a.yaml": service("a", 1)}, options...)
		r.symlink("..v/link.yaml", "link.yaml")
		r.symlink("..v/linked", "linked")
		r.load(stores)
		r.run()
		r.wantPorts("a:1 b:1 link:1")

		// A file that is there and cannot be read.
		r.must(os.Rename(r.path("..v/link.yaml"), r.path("..v/away.yaml")))
		r.wantKept("a:1 b:1 link:1", r.path("link.yaml"))
		r.write("a.yaml", service("a", 2)) // all else goes on
		r.wantPorts("a:2 b:1 link:1")
		r.take()
		r.must(os.Rename(r.path("..v/away.yaml"), r.path("..v/link.yaml")))
		r.wantNoProblem()

		// The same for a directory below.
		r.must(os.Rename(r.path("..v/linked"), r.path("..v/away")))
		r.wantKept("a:2 b:1 link:1", r.path("linked"))
		r.must(os.Rename(r.path("..v/away"), r.path("..v/linked")))
		r.wantNoProblem()
		r.write("linked/b.yaml", service("b", 2))
		r.wantPorts("a:2 b:2 link:1")

		// What is gone, not unreadable, is gone.
		r.remove("linked")
		r.remove("link.yaml")
		r.wantPorts("a:2")
		r.wantNoProblem()
	})
}

// TestNotAFile checks that what would block a reader for ever does not.
func TestNotAFile(t *testing.T) {
	r, stores := newRig(t, map[string]string{"a.yaml": service("a", 1)})
	r.must(syscall.Mkfifo(r.path("pipe.yaml"), 0o600))
	r.mkdir("dir.yaml")
	r.symlink("nothing", "README")
	r.symlink("nothing", "link.yaml")
	r.load(stores)
	r.run()
	for _, at := range []string{"pipe.yaml: it is not a regular file", "link.yaml"} {
		if p := r.wantProblem("unreadable", at); p.Kept {
			t.Errorf("something of %s is in use: %+v", at, p)
		}
	}
	if s := r.source.Status(); len(s.Problems) != 2 || s.Degraded != "" || s.DegradedSince != nil {
		t.Errorf("status %+v; want two problems, and nothing out of date", s)
	}
	r.wantPorts("a:1")

	// A file that never was any good does not make its end a loss.
	r.write("bad.yaml", "{")
	r.wantProblem("bad file", "bad.yaml")
	r.remove("bad.yaml")
	r.symlink("nothing", "bad.yaml")
	r.wantProblem("unreadable", "bad.yaml")
	if err := r.source.Degraded(); err != nil {
		t.Errorf("degraded: %v", err)
	}

	// One that was good does.
	r.remove("a.yaml")
	r.must(syscall.Mkfifo(r.path("a.yaml"), 0o600))
	r.wantKept("a:1", "a.yaml")
}

// TestNoPermission needs a user who can be refused.
func TestNoPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	r := start(t, map[string]string{"a.yaml": service("a", 1), "sub/b.yaml": service("b", 1)})
	r.must(os.Chmod(r.path("sub"), 0))
	t.Cleanup(func() { _ = os.Chmod(r.path("sub"), 0o755) })
	r.wantKept("a:1 b:1", r.path("sub"))
	r.must(os.Chmod(r.path("sub"), 0o755))
	r.wantNoProblem()
	r.must(os.Chmod(r.path("a.yaml"), 0))
	r.wantKept("a:1 b:1", r.path("a.yaml"))
	r.must(os.Chmod(r.path("a.yaml"), 0o644))
	r.wantNoProblem()
}
