package filewatch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// long is longer than any test takes: who waits that long has missed an event.
const long = time.Hour

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// rig follows one path and knows what it last read there.
type rig struct {
	*testing.T
	*Follower
	path string
	read string
	err  error
}

func newRig(t *testing.T, path string) *rig {
	r := &rig{T: t, Follower: New(Timing{}), path: path}
	t.Cleanup(r.Close)
	return r
}

func (r *rig) look() {
	r.Helper()
	must(r.T, r.Look(r.Context(), func(set *Set) {
		r.read = ""
		if _, r.err = set.Follow(r.path); r.err == nil {
			var data []byte
			data, r.err = os.ReadFile(r.path)
			r.read = string(data)
		}
	}))
}

// sees looks, does something, and waits until it reads what it should. It fails if no event comes.
func (r *rig) sees(want string, do func()) {
	r.Helper()
	do()
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	for r.read != want {
		if err := r.Wait(ctx, 0, long); err != nil {
			r.Fatalf("read %q (%v), want %q: nothing was announced", r.read, r.err, want)
		}
		r.look()
	}
}

// TestFollow moves everything that can be moved on the way to a file.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	at := func(elem ...string) string { return filepath.Join(append([]string{dir}, elem...)...) }
	must(t, os.MkdirAll(at("v1", "d"), 0o755))
	must(t, os.MkdirAll(at("v2", "d"), 0o755))
	write(t, at("v1", "d", "f"), "one")
	write(t, at("v2", "d", "f"), "two")
	must(t, os.Symlink("v1", at("now")))
	must(t, os.Symlink(at("now", "d", "f"), at("file")))
	r := newRig(t, at("file"))
	r.look()
	if r.read != "one" {
		t.Fatalf("read %q", r.read)
	}
	r.sees("one and more", func() { write(t, at("v1", "d", "f"), "one and more") })
	r.sees("two", func() {
		must(t, os.Symlink("v2", at("next")))
		must(t, os.Rename(at("next"), at("now")))
	})
	r.sees("", func() { must(t, os.Rename(at("v2"), at("v3"))) })
	if !errors.Is(r.err, os.ErrNotExist) {
		t.Errorf("error %v", r.err)
	}
	r.sees("two", func() { must(t, os.Rename(at("v3"), at("v2"))) })
	r.sees("", func() { must(t, os.RemoveAll(at("v2", "d"))) })
	r.sees("new", func() {
		must(t, os.Mkdir(at("v2", "d"), 0o755))
		write(t, at("v2", "d", "f"), "new")
	})
	r.sees("replaced", func() {
		write(t, at("v2", "d", "g"), "replaced")
		must(t, os.Rename(at("v2", "d", "g"), at("v2", "d", "f")))
	})
	r.sees("plain", func() {
		write(t, at("plain"), "plain")
		must(t, os.Rename(at("plain"), at("file"))) // no link any more
	})
	r.sees("", func() { must(t, os.Rename(dir, dir+".away")) })
	r.sees("plain", func() { must(t, os.Rename(dir+".away", dir)) })
}

// TestRecreatedDirectory makes a directory of the same name again and again, at once: whoever mixes up the old one's
// end with the new one's beginning stops hearing of it.
func TestRecreatedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	must(t, os.Mkdir(dir, 0o755))
	r := newRig(t, filepath.Join(dir, "f"))
	r.look()
	for i := range 30 {
		must(t, os.RemoveAll(dir))
		must(t, os.Mkdir(dir, 0o755))
		want := string(rune('a' + i%26))
		r.sees(want, func() { write(t, filepath.Join(dir, "f"), want) })
		r.sees(want+want, func() { write(t, filepath.Join(dir, "f"), want+want) })
	}
}

// TestOthersDoNotWake checks that what happens beside a single file is not its business.
func TestOthersDoNotWake(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "f"), "x")
	r := newRig(t, filepath.Join(dir, "f"))
	r.look()
	if r.set.about(filepath.Join(dir, "other")) || !r.set.about(filepath.Join(dir, "f")) || !r.set.about(dir) {
		t.Error("the set is not about the file and its directory alone")
	}
}

func TestLookAgainUntilWatched(t *testing.T) {
	dir := t.TempDir()
	f := New(Timing{})
	defer f.Close()
	looks := 0
	must(t, f.Look(t.Context(), func(set *Set) {
		looks++
		info, err := os.Stat(dir)
		must(t, err)
		set.Dir(dir, info)
		if looks == 2 { // something new appears during the second look
			must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
		}
		if sub, err := os.Stat(filepath.Join(dir, "sub")); err == nil {
			set.Dir(filepath.Join(dir, "sub"), sub)
		}
	}))
	if looks != 3 {
		t.Errorf("%d looks, want one to learn what to watch, one that finds more, and one that counts", looks)
	}
}

func TestLinksInCircles(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Symlink("b", filepath.Join(dir, "a")))
	must(t, os.Symlink("a", filepath.Join(dir, "b")))
	set := NewSet()
	if _, err := set.Follow(filepath.Join(dir, "a")); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("error %v", err)
	}
	if !set.about(filepath.Join(dir, "a")) || !set.about(filepath.Join(dir, "b")) {
		t.Error("the circle is not watched, so its end would be missed")
	}
}

func TestFollowGivesTheRealPath(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "x", "y"), 0o755))
	write(t, filepath.Join(dir, "x", "f"), "")
	must(t, os.Symlink(filepath.Join(dir, "x", "y"), filepath.Join(dir, "l")))
	want, err := filepath.EvalSymlinks(filepath.Join(dir, "x", "f"))
	must(t, err)
	must(t, os.Symlink("../f", filepath.Join(dir, "x", "y", "g"))) // ".." of the real directory, not of the link's
	if got, err := NewSet().Follow(filepath.Join(dir, "l", "g")); err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if got, err := NewSet().Follow("/"); err != nil || got != "/" {
		t.Errorf("got %q, %v for the root", got, err)
	}
}

// TestFallback lets the system refuse to announce anything, and then allow it.
func TestFallback(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "one")
	r := newRig(t, path)
	r.timing.Poll = 5 * time.Millisecond
	refuse := true
	r.open = func() (*fsnotify.Watcher, error) {
		if refuse {
			return nil, syscall.EMFILE
		}
		return fsnotify.NewWatcher()
	}
	r.look()
	if err := r.Fallback(); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("fallback %v", err)
	}
	r.sees("two", func() { write(t, path, "two") })
	refuse = false
	r.sees("three", func() { write(t, path, "three") })
	if err := r.Fallback(); err != nil {
		t.Errorf("fallback %v after the system allowed it again", err)
	}
	r.timing.Poll = long
	r.sees("four", func() { write(t, path, "four") })
}

// TestLimit writes without a pause for as long as someone waits: the wait ends all the same.
func TestLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "")
	r := newRig(t, path)
	r.timing.Quiet, r.timing.Limit = time.Second, 2*time.Second
	r.look()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(path, []byte("x"), 0o600)
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := r.Wait(ctx, 0, long); err != nil {
		t.Error("it waits for a quiet moment that never comes")
	}
	close(stop)
	<-done
}

// TestWhole: a file that is moved into place is looked at without a wait for quiet, and one that is written in place is
// not, whatever else is moved.
func TestWhole(t *testing.T) {
	dir := t.TempDir()
	place := func(name string) {
		write(t, filepath.Join(dir, ".temporary"), name)
		must(t, os.Rename(filepath.Join(dir, ".temporary"), filepath.Join(dir, name)))
	}
	r := newRig(t, dir)
	const quiet = time.Hour
	r.timing.Quiet, r.timing.Limit, r.timing.Whole = quiet, quiet, time.Millisecond
	look := func() {
		must(t, r.Look(t.Context(), func(s *Set) {
			info, err := os.Stat(dir)
			must(t, err)
			s.Dir(dir, info)
		}))
	}
	look()
	wait := func(quiet, patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return r.Wait(ctx, quiet, 2*time.Hour)
	}
	place("a")
	if err := wait(0, 30*time.Second); err != nil {
		t.Error("it waits for quiet after a file was moved into place")
	}
	const soon = 200 * time.Millisecond
	write(t, filepath.Join(dir, "a"), "other")
	place("b")
	if err := wait(0, soon); err == nil {
		t.Error("it looks while a file is being written")
	}
	place("c")
	if err := wait(2*time.Hour, soon); err == nil {
		t.Error("it does not wait for the time that was asked for")
	}
	write(t, filepath.Join(dir, ".hidden"), "")
	if err := wait(0, soon); err == nil {
		t.Error("it looks at what is hidden at once")
	}
}

func TestWaitEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "")
	r := newRig(t, path)
	r.look()
	must(t, r.Wait(t.Context(), 0, time.Millisecond)) // time alone
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Wait(ctx, 0, long); !errors.Is(err, context.Canceled) {
		t.Errorf("wait under an ended context: %v", err)
	}
	if err := r.Look(ctx, func(*Set) { t.Error("looked") }); !errors.Is(err, context.Canceled) {
		t.Errorf("look under an ended context: %v", err)
	}
	r.Close()
	r.Close()
	if err := r.Look(t.Context(), func(*Set) {}); err == nil {
		t.Error("a closed follower looks")
	}
}

func TestMoved(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "d")
	must(t, os.Mkdir(dir, 0o755))
	r := newRig(t, dir)
	r.look()
	must(t, os.Remove(dir))
	must(t, os.Mkdir(dir, 0o755))
	must(t, r.Wait(t.Context(), 0, long))
	if !r.Moved(dir) {
		t.Error("a directory that was replaced did not move")
	}
	r.look()
	must(t, r.Wait(t.Context(), 0, time.Millisecond))
	if r.Moved(dir) {
		t.Error("it moved though nothing happened")
	}
}
