package directory

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meshd/meshd/internal/config/filewatch"
	"github.com/meshd/meshd/internal/model"
)

// both runs a test with the system's announcements and with polling, which must come to the same.
func both(t *testing.T, test func(t *testing.T, options ...func(*Options))) {
	t.Run("events", func(t *testing.T) { test(t) })
	t.Run("polling", func(t *testing.T) { test(t, polling) })
}

func TestFollow(t *testing.T) {
	both(t, func(t *testing.T, options ...func(*Options)) {
		r := start(t, map[string]string{"a.yaml": service("a", 1), "b.yaml": service("b", 1)}, options...)

		r.write("a.yaml", service("a", 2))
		r.wantPorts("a:2 b:1")
		r.replace("a.yaml", service("a", 3))
		r.wantPorts("a:3 b:1")
		r.write("c.json", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"c"}}`)
		r.wantPorts("a:3 b:1 c:0")
		r.remove("b.yaml")
		r.wantPorts("a:3 c:0")

		r.write("sub/deep/d.yaml", service("d", 1))
		r.wantPorts("a:3 c:0 d:1")
		r.write("sub/deep/d.yaml", service("d", 2))
		r.wantPorts("a:3 c:0 d:2")
		r.must(os.Rename(r.path("sub"), r.path("other")))
		r.write("other/deep/d.yaml", service("d", 3))
		r.wantPorts("a:3 c:0 d:3")
		r.write("other/deep/d.yaml", service("d", 4)) // still watched under its new name
		r.wantPorts("a:3 c:0 d:4")
		r.remove("other")
		r.wantPorts("a:3 c:0")
		r.write("other/d.yaml", service("d", 5)) // a directory of the same name is another one
		r.wantPorts("a:3 c:0 d:5")
		r.write("other/d.yaml", service("d", 6))
		r.wantPorts("a:3 c:0 d:6")
		r.must(os.Rename(r.path("other"), r.path(".other"))) // hidden is gone
		r.wantPorts("a:3 c:0")
		r.wantNoProblem()
	})
}

// TestManyEdits makes one edit after the other without waiting: the last one counts.
func TestManyEdits(t *testing.T) {
	r := start(t, map[string]string{"a.yaml": service("a", 1)})
	for port := 2; port <= 300; port++ {
		if port%3 == 0 {
			r.replace("a.yaml", service("a", port))
		} else {
			r.write("a.yaml", service("a", port))
		}
		if port%50 == 0 {
			r.wantPorts(fmt.Sprintf("a:%d", port))
		}
	}
	r.wantPorts("a:300")
}

// TestSameSizeSameTime edits a file in place so that neither its size nor its time of modification tells, as when both
// edits fall into one tick of a file system's clock.
func TestSameSizeSameTime(t *testing.T) {
	both(t, func(t *testing.T, options ...func(*Options)) {
		now := time.Now().Add(time.Hour) // a time of which nobody can say that it is over
		r, stores := newRig(t, map[string]string{"a.yaml": service("a", 1)}, options...)
		r.must(os.Chtimes(r.path("a.yaml"), now, now))
		r.load(stores)
		r.run()
		for port := 2; port <= 9; port++ {
			file, err := os.OpenFile(r.path("a.yaml"), os.O_WRONLY, 0)
			r.must(err)
			_, err = file.WriteString(service("a", port))
			r.must(err)
			r.must(file.Close())
			r.must(os.Chtimes(r.path("a.yaml"), now, now))
			r.wantPorts(fmt.Sprintf("a:%d", port))
		}
	})
}

// TestBetweenLoadAndRun checks that nothing is lost in between.
func TestBetweenLoadAndRun(t *testing.T) {
	r, stores := newRig(t, map[string]string{"a.yaml": service("a", 1), "sub/b.yaml": service("b", 1)})
	r.load(stores)
	r.write("a.yaml", service("a", 2))
	r.write("sub/b.yaml", service("b", 2))
	r.write("new/c.yaml", service("c", 2))
	r.run()
	r.wantPorts("a:2 b:2 c:2")
}

// TestConfigMapSwap lays a directory out as the kubelet mounts a ConfigMap, and updates it as the kubelet does.
func TestConfigMapSwap(t *testing.T) {
	both(t, func(t *testing.T, options ...func(*Options)) {
		r, stores := newRig(t, map[string]string{
			"..2026_01/a.yaml": service("a", 1), "..2026_01/b.yaml": service("b", 1), "..2026_01/sub/d.yaml": service("d", 1),
		}, options...)
		r.symlink("..2026_01", "..data")
		r.symlink("..data/a.yaml", "a.yaml")
		r.symlink("..data/b.yaml", "b.yaml")
		r.symlink("..data/sub", "sub")
		r.load(stores)
		r.run()
		r.wantPorts("a:1 b:1 d:1")
		for port := 2; port < 6; port++ {
			version := fmt.Sprintf("..2026_%02d", port)
			r.write(version+"/a.yaml", service("a", port))
			r.write(version+"/b.yaml", service("b", port))
			r.write(version+"/sub/d.yaml", service("d", port))
			r.relink(version, "..data")
			r.remove(fmt.Sprintf("..2026_%02d", port-1))
			r.wantPorts(fmt.Sprintf("a:%d b:%d d:%d", port, port, port))
		}
		// A key that goes away: the link dangles until the kubelet removes it.
		r.write("..2026_06/a.yaml", service("a", 6))
		r.write("..2026_06/sub/d.yaml", service("d", 6))
		r.relink("..2026_06", "..data")
		r.wantPorts("a:6 b:5 d:6")
		r.wantProblem("unreadable", "b.yaml")
		r.remove("b.yaml")
		r.wantPorts("a:6 d:6")
		r.wantNoProblem()
	})
}

// TestLinkOutside follows an edit of a file that is elsewhere, and a link in the middle of the way.
func TestLinkOutside(t *testing.T) {
	elsewhere := t.TempDir()
	for _, v := range []string{"v1", "v2"} {
		if err := os.MkdirAll(filepath.Join(elsewhere, v), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(elsewhere, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("v1/a", service("a", 1))
	write("v2/a", service("a", 2))
	if err := os.Symlink("v1", filepath.Join(elsewhere, "current")); err != nil {
		t.Fatal(err)
	}
	r, stores := newRig(t, nil)
	r.symlink(filepath.Join(elsewhere, "current", "a"), "a.yaml")
	r.load(stores)
	r.run()
	r.wantPorts("a:1")
	write("v1/a", service("a", 11))
	r.wantPorts("a:11")
	if err := os.Symlink("v2", filepath.Join(elsewhere, "next")); err != nil {
		t.Fatal(err)
	}
	r.must(os.Rename(filepath.Join(elsewhere, "next"), filepath.Join(elsewhere, "current")))
	r.wantPorts("a:2")
	write("v2/a", service("a", 22))
	r.wantPorts("a:22")
}

// TestRootIsALink swaps the directory itself.
func TestRootIsALink(t *testing.T) {
	r, stores := newRig(t, nil)
	r.remove(".")
	for _, v := range []string{"1", "2"} {
		r.must(os.MkdirAll(r.dir+v, 0o755))
		r.must(os.WriteFile(filepath.Join(r.dir+v, "a.yaml"), []byte(strings.ReplaceAll(service("a", 1), "port: 1", "port: "+v)), 0o644))
	}
	r.must(os.Symlink(r.dir+"1", r.dir))
	r.load(stores)
	r.run()
	r.wantPorts("a:1")
	r.must(os.Symlink(r.dir+"2", r.dir+"new"))
	r.must(os.Rename(r.dir+"new", r.dir))
	r.wantPorts("a:2")
}

// TestLoops checks that links that go round in circles end somewhere, and that no file is read twice.
func TestLoops(t *testing.T) {
	r, stores := newRig(t, map[string]string{"a.yaml": service("a", 1), "sub/b.yaml": service("b", 1)})
	r.symlink("..", "sub/up")
	r.symlink(filepath.Dir(r.dir), "sub/above")
	r.symlink("/", "sub/everything")
	r.symlink("sub", "same")
	r.symlink("a.yaml", "z.yaml")
	r.symlink("ring2.yaml", "ring1.yaml")
	r.symlink("ring1.yaml", "ring2.yaml")
	r.load(stores)
	if got := r.ports(); got != "a:1 b:1" {
		t.Errorf("services %q", got)
	}
	if s := r.source.Status(); s.Files != 2 {
		t.Errorf("%d files, want 2", s.Files)
	}
	r.wantProblem("unreadable", "ring1.yaml", "too many")
}

// TestMoveIsNoChange moves objects between files: nobody may see them missing.
func TestMoveIsNoChange(t *testing.T) {
	r := start(t, map[string]string{"a.yaml": service("a", 1) + "---\n" + service("b", 1), "z.yaml": service("z", 1)})
	scans := r.source.Status().Scans
	r.must(os.Rename(r.path("a.yaml"), r.path("moved.yaml")))
	r.eventually("a look was taken", func() bool { return r.source.Status().Scans > scans })
	r.wantNoProblem()
	if got := r.take(); len(got) != 0 {
		t.Errorf("a renamed file made the changes %v", got)
	}
	r.mkdir("sub")
	r.must(os.Rename(r.path("moved.yaml"), r.path("sub/moved.yaml")))
	r.replace("z.yaml", service("z", 2))
	r.wantPorts("a:1 b:1 z:2")
	for _, c := range r.take() {
		if c.Name != "z" {
			t.Errorf("moving a file made the change %v", c)
		}
	}
}

// TestOneEditIsOneChange checks that only what changed is reported.
func TestOneEditIsOneChange(t *testing.T) {
	r := start(t, map[string]string{"a.yaml": service("a", 1) + "---\n" + service("b", 1), "c.yaml": service("c", 1)})
	r.replace("a.yaml", "# a comment\n"+service("a", 1)+"---\n"+service("b", 2))
	r.wantPorts("a:1 b:2 c:1")
	want := model.Change{Kind: model.KindService, NamespacedName: model.NamespacedName{Namespace: "default", Name: "b"}}
	if got := r.take(); len(got) != 1 || got[0] != want {
		t.Errorf("changes %v, want %v", got, want)
	}
}

func TestDuplicates(t *testing.T) {
	r := start(t, map[string]string{"b.yaml": service("x", 2) + "---\n" + service("x", 22), "c.yaml": service("x", 3)})
	r.wantPorts("x:2")
	r.wantProblem("duplicate", r.path("b.yaml")+":11: document 2: service default/x", "in "+r.path("b.yaml")+", document 1")
	r.wantProblem("duplicate", r.path("c.yaml")+":1: document 1", "in "+r.path("b.yaml")+", document 1")
	if err := r.source.Degraded(); err != nil {
		t.Errorf("duplicates made the source degraded: %v", err)
	}
	r.write("a.yaml", service("x", 1)) // an earlier path takes over
	r.wantPorts("x:1")
	r.wantProblem("duplicate", "b.yaml", "in "+r.path("a.yaml"))
	r.remove("a.yaml") // and hands back
	r.wantPorts("x:2")
	r.remove("b.yaml")
	r.wantPorts("x:3")
	r.wantNoProblem()
}

// TestEmptiedFile empties a file as a program does that is about to write it again.
func TestEmptiedFile(t *testing.T) {
	r := start(t, map[string]string{"a.yaml": service("a", 1)})
	scans := r.source.Status().Scans
	r.write("a.yaml", "")
	r.eventually("a look was taken", func() bool { return r.source.Status().Scans > scans })
	if got := r.ports(); got != "a:1" {
		t.Errorf("services %q: a file that was just emptied lost its objects at once", got)
	}
	r.write("a.yaml", service("a", 2))
	r.wantPorts("a:2")
	r.write("a.yaml", "") // and for good
	r.wantPorts("")
}

// TestHalfWritten writes a file piece by piece: no piece of it may be taken for the whole.
func TestHalfWritten(t *testing.T) {
	r := start(t, map[string]string{"a.yaml": service("a", 1) + "---\n" + service("b", 1)},
		func(o *Options) { o.Timing = filewatch.Timing{Quiet: 2 * time.Second, Limit: time.Minute} })
	file, err := os.Create(r.path("a.yaml"))
	r.must(err)
	for _, piece := range []string{service("a", 2), "---\n", service("b", 2)} {
		_, err := file.WriteString(piece)
		r.must(err)
		r.must(file.Sync())
	}
	r.must(file.Close())
	r.wantPorts("a:2 b:2")
	if n := len(r.take()); n != 2 || r.source.Status().Scans != 2 {
		t.Errorf("%d changes in %d looks, want 2 in 2", n, r.source.Status().Scans)
	}
}

// TestNeverSettles reads a file that is being written to whenever someone looks: that must not keep the source busy.
func TestNeverSettles(t *testing.T) {
	r, _ := newRig(t, nil)
	f, begin := &file{}, time.Now()
	look := func(after time.Duration, err error) time.Duration {
		r.source.again = 0
		r.source.take("log.yaml", f, reading{at: begin.Add(after), err: err})
		return r.source.again
	}
	for _, c := range []struct{ after, want time.Duration }{{0, soon}, {time.Second, time.Second}, {time.Hour, time.Hour}} {
		if got := look(c.after, errMoving); got != c.want {
			t.Errorf("after %s it is looked at again in %s, want %s", c.after, got, c.want)
		}
	}
	look(2*time.Hour, os.ErrPermission) // something else
	if got := look(3*time.Hour, errMoving); got != soon {
		t.Errorf("it is looked at again in %s, want %s", got, soon)
	}
	r.source.lookIn(time.Minute)
	if r.source.again != soon {
		t.Error("a later look pushed an earlier one out")
	}
}

// TestPeriodicRescan loses every event, and finds the change all the same.
func TestPeriodicRescan(t *testing.T) {
	r := start(t, map[string]string{"a.yaml": service("a", 1)}, func(o *Options) {
		o.Rescan = 20 * time.Millisecond
		o.Timing = filewatch.Timing{PollOnly: true, Poll: time.Hour}
	})
	if got := r.source.Status().Watching; !strings.HasPrefix(got, "polling") {
		t.Errorf("watching by %q", got)
	}
	r.write("a.yaml", service("a", 2))
	r.wantPorts("a:2")
}
