package directory

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap/zaptest"
	corev1 "k8s.io/api/core/v1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/config/filewatch"
	"github.com/meshd/meshd/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a source that follows a directory of its own.
type rig struct {
	*testing.T
	dir    string
	source *Source
	view   config.View

	mu      sync.Mutex
	changes []model.Change
}

// newRig makes a source for a directory with those files; nothing is read yet.
func newRig(t *testing.T, files map[string]string, options ...func(*Options)) (*rig, *config.Stores) {
	t.Helper()
	r := &rig{T: t, dir: filepath.Join(t.TempDir(), "mesh")}
	r.mkdir(".")
	for name, text := range files {
		r.write(name, text)
	}
	stores := config.NewStores(func(c model.Change) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changes = append(r.changes, c)
	})
	// An hour: what these tests see is seen because of an event.
	opts := Options{Stores: stores, Log: zaptest.NewLogger(t), Registerer: prometheus.NewRegistry(), Rescan: time.Hour}
	for _, o := range options {
		o(&opts)
	}
	var err error
	if r.source, err = New(r.dir, opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.source.Close)
	return r, stores
}

// start loads the directory and follows it until the test ends.
func start(t *testing.T, files map[string]string, options ...func(*Options)) *rig {
	t.Helper()
	r, stores := newRig(t, files, options...)
	r.load(stores)
	r.run()
	return r
}

func (r *rig) load(stores *config.Stores) {
	r.Helper()
	token, err := r.source.Load(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	if r.view, err = stores.Read(token); err != nil {
		r.Fatal(err)
	}
	r.take()
}

func (r *rig) run() {
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

func (r *rig) take() []model.Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.changes
	r.changes = nil
	return out
}

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *rig) mkdir(name string) { r.Helper(); r.must(os.MkdirAll(r.path(name), 0o755)) }

func (r *rig) write(name, text string) {
	r.Helper()
	r.mkdir(filepath.Dir(name))
	r.must(os.WriteFile(r.path(name), []byte(text), 0o644))
}

// replace writes beside the file and renames, as editors do.
func (r *rig) replace(name, text string) {
	r.Helper()
	r.write(name+".new", text)
	r.must(os.Rename(r.path(name+".new"), r.path(name)))
}

func (r *rig) remove(name string) { r.Helper(); r.must(os.RemoveAll(r.path(name))) }

func (r *rig) symlink(target, name string) { r.Helper(); r.must(os.Symlink(target, r.path(name))) }

// relink points a symlink elsewhere in one step.
func (r *rig) relink(target, name string) {
	r.Helper()
	r.symlink(target, name+"_tmp")
	r.must(os.Rename(r.path(name+"_tmp"), r.path(name)))
}

// ports gives "name:port …" of all services, sorted by name.
func (r *rig) ports() string {
	var out []string
	for _, s := range r.view.Services.List() {
		out = append(out, fmt.Sprintf("%s:%d", s.Name, firstPort(s)))
	}
	return strings.Join(out, " ")
}

func firstPort(s *corev1.Service) int32 {
	if len(s.Spec.Ports) == 0 {
		return 0
	}
	return s.Spec.Ports[0].Port
}

// eventually waits for a condition, however long the machine takes.
func (r *rig) eventually(what string, ok func() bool) {
	r.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			r.Fatalf("still not: %s\nservices: %s\nstatus: %+v", what, r.ports(), r.source.Status())
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (r *rig) wantPorts(want string) {
	r.Helper()
	r.eventually("the services are "+want, func() bool { return r.ports() == want })
}

// wantProblem waits for a problem whose line has all of the texts, and gives it.
func (r *rig) wantProblem(texts ...string) Problem {
	r.Helper()
	var found Problem
	r.eventually(fmt.Sprintf("a problem with %q", texts), func() bool {
		for _, p := range r.source.Status().Problems {
			ok := true
			for _, text := range texts {
				ok = ok && strings.Contains(string(p.Kind)+": "+p.String(), text)
			}
			if ok {
				found = p
				return true
			}
		}
		return false
	})
	return found
}

func (r *rig) wantNoProblem() {
	r.Helper()
	r.eventually("there is no problem", func() bool { s := r.source.Status(); return len(s.Problems) == 0 && s.Degraded == "" })
}

func service(name string, port int) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\nspec:\n  clusterIP: 10.96.0.10\n  ports:\n  - name: http\n    port: %d\n", name, port)
}

func polling(o *Options) {
	o.Timing = filewatch.Timing{PollOnly: true, Poll: 10 * time.Millisecond}
}
