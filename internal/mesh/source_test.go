package mesh

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"
	"google.golang.org/protobuf/testing/protocmp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type rig struct {
	*testing.T
	file    string
	source  *Source
	live    *Live
	changes atomic.Int32
}

func start(t *testing.T, text string) *rig {
	t.Helper()
	r := &rig{T: t, file: filepath.Join(t.TempDir(), "mesh.yaml")}
	r.write(text)
	r.follow()
	return r
}

// follow loads the file and runs until the test ends.
func (r *rig) follow() {
	r.Helper()
	r.source = New(r.file, func() { r.changes.Add(1) }, zaptest.NewLogger(r))
	r.Cleanup(r.source.Close)
	var err error
	if r.live, err = r.source.Load(r.Context()); err != nil {
		r.Fatal(err)
	}
	if n := r.changes.Load(); n != 1 {
		r.Fatalf("%d changes after the load, want one", n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.source.Run(ctx) }()
	r.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.Errorf("run: %v", err)
		}
	})
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) write(text string) { r.Helper(); r.must(os.WriteFile(r.file, []byte(text), 0o644)) }

func (r *rig) replace(text string) {
	r.Helper()
	r.must(os.WriteFile(r.file+".new", []byte(text), 0o644))
	r.must(os.Rename(r.file+".new", r.file))
}

func (r *rig) eventually(what string, ok func() bool) {
	r.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			r.Fatalf("still not: %s (trust domain %q, problem %v)", what, r.live.Current().TrustDomain, r.source.Problem())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (r *rig) wantDomain(want string) {
	r.Helper()
	r.eventually("trust domain "+want, func() bool { return r.live.Current().TrustDomain == want && r.source.Problem() == nil })
}

// wantKept waits for a problem and checks that the config in force is still what it was.
func (r *rig) wantKept(domain, why string) {
	r.Helper()
	r.eventually("problem "+why, func() bool { p := r.source.Problem(); return p != nil && strings.Contains(p.Error(), why) })
	if status := r.source.Status(); status.File != r.file || !strings.Contains(status.Problem, why) {
		r.Fatalf("status %+v", status)
	}
	if got := r.live.Current().TrustDomain; got != domain {
		r.Fatalf("trust domain %q, want the last good one, %q", got, domain)
	}
}

func TestNoFile(t *testing.T) {
	r := &rig{T: t}
	r.follow()
	if diff := cmp.Diff(Default(), r.live.Current(), protocmp.Transform()); diff != "" {
		t.Errorf("without a file (-want +got):\n%s", diff)
	}
}

func TestBadAtStart(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("connectTimeout: soon"), 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, large := filepath.Join(dir, "pipe"), filepath.Join(dir, "large")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(large, make([]byte, maxFile+1), 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{
		"missing": filepath.Join(dir, "none"), "bad": bad, "a directory": dir, "a pipe": pipe, "a device": "/dev/zero", "too large": large,
	} {
		t.Run(name, func(t *testing.T) {
			s := New(file, func() { t.Error("a change without a config") }, zaptest.NewLogger(t))
			defer s.Close()
			live, err := s.Load(t.Context())
			if live != nil || err == nil || !strings.Contains(err.Error(), "--mesh-config "+file) {
				t.Errorf("got %v, %v; want an error that names --mesh-config %s", live, err, file)
			}
			if err := s.Run(t.Context()); err == nil {
				t.Error("run without a config")
			}
		})
	}
}

func TestFollow(t *testing.T) {
	r := start(t, "trustDomain: one.example\n")
	r.wantDomain("one.example")
	changed := r.live.Changes()
	select {
	case <-changed:
		t.Fatal("changed before it did")
	default:
	}
	before := r.live.Current()
	r.write("trustDomain: two.example\n")
	<-changed
	r.wantDomain("two.example")
	if before.TrustDomain != "one.example" {
		t.Error("the config in force was written to instead of replaced")
	}
	r.replace("trustDomain: three.example\n")
	r.wantDomain("three.example")
	r.eventually("three changes", func() bool { return r.changes.Load() == 3 })

	// What means the same is no change.
	now := r.live.Current()
	r.replace("# a comment\nconnectTimeout: 10s\ntrust_domain: three.example\n")
	r.replace("trustDomain: THREE\n")
	r.wantKept("three.example", "THREE")
	r.replace("trustDomain: three.example\n")
	r.wantDomain("three.example")
	if n := r.changes.Load(); n != 3 || r.live.Current() != now {
		t.Errorf("%d changes, want 3 and the same config", n)
	}
}

func TestKeepsLastGood(t *testing.T) {
	r := start(t, "trustDomain: good.example\n")
	for _, bad := range []struct{ text, why string }{
		{"trustDomain: {", "line 1"}, {"trustDomain: \"\"\n", "trustDomain is empty"}, {"", "write {}"}, {"\x00\x01\x02", "control characters"},
	} {
		r.replace(bad.text)
		r.wantKept("good.example", bad.why)
	}
	r.must(os.Remove(r.file))
	r.wantKept("good.example", "no such file")
	r.must(os.Mkdir(r.file, 0o755))
	r.wantKept("good.example", "is a directory")
	r.must(os.Remove(r.file))
	r.must(syscall.Mkfifo(r.file, 0o600))
	r.wantKept("good.example", "not a regular file")
	r.must(os.Remove(r.file))
	r.must(os.Rename(filepath.Dir(r.file), filepath.Dir(r.file)+".away"))
	r.wantKept("good.example", "no such file")
	r.must(os.Rename(filepath.Dir(r.file)+".away", filepath.Dir(r.file)))
	if n := r.changes.Load(); n != 1 {
		t.Errorf("%d changes, want that of the load only", n)
	}
	r.write("trustDomain: better.example\n")
	r.wantDomain("better.example")
	r.write("{}\n")
	r.wantDomain("cluster.local")
}

// TestMountedConfigMap follows the file as the kubelet updates it.
func TestMountedConfigMap(t *testing.T) {
	dir := t.TempDir()
	r := &rig{T: t, file: filepath.Join(dir, "mesh")}
	version := func(name, domain string) {
		r.must(os.Mkdir(filepath.Join(dir, name), 0o755))
		r.must(os.WriteFile(filepath.Join(dir, name, "mesh"), []byte("trustDomain: "+domain+"\n"), 0o644))
		r.must(os.Symlink(name, filepath.Join(dir, "..data_tmp")))
		r.must(os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	version("..1", "v1.example")
	r.must(os.Symlink("..data/mesh", r.file))
	r.follow()
	r.wantDomain("v1.example")
	for _, v := range []string{"2", "3", "4"} {
		version(".."+v, "v"+v+".example")
		r.wantDomain("v" + v + ".example")
		r.must(os.RemoveAll(filepath.Join(dir, "..1")))
	}
	// Each is told after it has come into force.
	r.eventually("four changes", func() bool { return r.changes.Load() == 4 })
}

// TestBetweenLoadAndRun checks that an edit in between is not lost.
func TestBetweenLoadAndRun(t *testing.T) {
	r := &rig{T: t, file: filepath.Join(t.TempDir(), "mesh.yaml")}
	r.write("trustDomain: one.example\n")
	r.source = New(r.file, func() {}, zaptest.NewLogger(t))
	defer r.source.Close()
	var err error
	r.live, err = r.source.Load(t.Context())
	r.must(err)
	if _, err := r.source.Load(t.Context()); err == nil {
		t.Error("a second load gave a config")
	}
	r.write("trustDomain: two.example\n")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.source.Run(ctx) }()
	r.wantDomain("two.example")
	cancel()
	r.must(<-done)
}
