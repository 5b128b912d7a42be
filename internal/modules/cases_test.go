package modules

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/meshd/meshd/internal/config/directory"
	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// replace puts a constructor in the place of another.
func replace(components []lifecycle.Component, old, with any) []lifecycle.Component {
	for i, c := range components {
		components[i].New = slices.Clone(c.New)
		for j, fn := range c.New {
			if reflect.ValueOf(fn).Pointer() == reflect.ValueOf(old).Pointer() {
				components[i].New[j] = with
			}
		}
	}
	return components
}

// heldSource is the real source, except that its load does not begin before it is let go.
type heldSource struct{ begun, letGo chan struct{} }

func newHeldSource() *heldSource {
	return &heldSource{begun: make(chan struct{}), letGo: make(chan struct{})}
}

func (h *heldSource) newLoad(dir *directory.Source) directoryLoadOut {
	out := newDirectoryLoad(dir)
	load := out.Load.Start
	out.Load.Start = func(ctx context.Context) error {
		close(h.begun)
		<-h.letGo
		return load(ctx)
	}
	return out
}

// startHeld starts the application with a source that has not loaded, and returns when its load has been called.
func startHeld(t *testing.T, o Options) (a *app, release func()) {
	t.Helper()
	h := newHeldSource()
	runner, err := lifecycle.New(replace(All(o), newDirectoryLoad, h.newLoad), zap.NewNop(), lifecycle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan error, 1)
	go func() { started <- runner.Start(context.Background()) }()
	<-h.begun
	return &app{runner: runner, opts: o}, func() {
		close(h.letGo)
		if err := <-started; err != nil {
			t.Fatal(err)
		}
	}
}

func manyServices(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		text := fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: s%02d, namespace: shop}\nspec:\n  clusterIP: 10.96.0.%d\n  clusterIPs: [10.96.0.%[2]d]\n  ports: [{name: http, port: 80}]\n", i, i+10)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("s%02d.yaml", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (a *app) get(t *testing.T, path string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + a.address(t, "--http-addr") + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

var sidecar = xdsclient.Options{
	NodeID: "sidecar~10.244.9.9~web-1.shop~shop.svc.cluster.local", Metadata: map[string]any{"NAMESPACE": "shop"},
}

// outbound counts the clusters of services in the first answer that a new client gets.
func (a *app) outbound(t *testing.T) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := xdsclient.Connect(ctx, a.address(t, "--grpc-addr"), sidecar)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Subscribe(resource.ClusterType); err != nil {
		t.Fatal(err)
	}
	state, err := c.Wait(ctx, "clusters", func(s xdsclient.State) bool { return len(s.Of(resource.ClusterType)) > 0 })
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range state.Names(resource.ClusterType) {
		if strings.HasPrefix(name, "outbound|") {
			n++
		}
	}
	return n
}

// While the source is loading, a client is refused, ready says no and why, and nothing is sent; the first answer
// afterwards holds everything.
func TestCaseA1(t *testing.T) {
	o := runOptions(t)
	o.Dir = manyServices(t, 50)
	o.GRPCAddr = "127.0.0.1:" + freePort(t)
	a, release := startHeld(t, o)
	defer a.stop(t)

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := xdsclient.Connect(ctx, o.GRPCAddr, sidecar)
	if err == nil {
		defer c.Close()
		_ = c.Subscribe(resource.ClusterType) // the stream may be refused already
		var state xdsclient.State
		if state, err = c.Wait(ctx, "the end of the stream", func(s xdsclient.State) bool { return s.Ended }); err != nil {
			t.Fatal(err)
		}
		if len(state.Responses) > 0 {
			t.Fatalf("%d responses before the source was loaded", len(state.Responses))
		}
		err = state.Err
	}
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a stream before the source was loaded: %v, want Unavailable", err)
	}
	code, body := a.get(t, "/ready")
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "source.load") || !strings.Contains(body, "snapshot.catch-up") {
		t.Errorf("/ready: %d %s", code, body)
	}

	release()
	if code, body := a.get(t, "/ready"); code != http.StatusOK {
		t.Errorf("/ready at the end of the start: %d %s", code, body)
	}
	if n := a.outbound(t); n != 50 {
		t.Errorf("the first answer has %d services, want 50", n)
	}
}

// With a quiet time of two seconds, ready waits for the snapshot and not only for the source, and the first answer of
// a client that comes in that moment holds everything.
func TestCaseA2(t *testing.T) {
	o := runOptions(t)
	o.Dir = manyServices(t, 50)
	o.DebounceAfter = 2 * time.Second
	runner, err := lifecycle.New(All(o), zap.NewNop(), lifecycle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := &app{runner: runner, opts: o}
	started := make(chan error, 1)
	go func() { started <- runner.Start(context.Background()) }()
	loaded := func(s lifecycle.StepStatus) bool { return s.Name == "source.load" && s.State == lifecycle.Started }
	eventually(t, "the source is loaded", func() bool { return slices.ContainsFunc(runner.Trace().Steps(), loaded) })
	if code, body := a.get(t, "/ready"); code != http.StatusServiceUnavailable || !strings.Contains(body, "snapshot.catch-up") {
		t.Errorf("/ready when the source is loaded and nothing is compiled: %d %s", code, body)
	}
	eventually(t, "ready", func() bool { code, _ := a.get(t, "/ready"); return code == http.StatusOK })
	if n := a.outbound(t); n != 50 {
		t.Errorf("the first answer has %d services, want 50", n)
	}
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	defer a.stop(t)
	compiled, all := span(runner, "snapshot.catch-up"), span(runner, "source.load")
	if waited := compiled.Ended - all.Ended; waited < o.DebounceAfter-100*time.Millisecond {
		t.Errorf("caught up %v after the source was loaded, within the quiet time of %v", waited, o.DebounceAfter)
	}
}

// A load that has been called and has done nothing yet does not count as loaded.
func TestCaseA4(t *testing.T) {
	a, release := startHeld(t, runOptions(t))
	defer a.stop(t)
	for range 20 {
		code, body := a.get(t, "/ready")
		if code != http.StatusServiceUnavailable || !strings.Contains(body, "[-] source (source)") {
			t.Fatalf("/ready before the load has begun: %d %s", code, body)
		}
		time.Sleep(10 * time.Millisecond) // between two polls
	}
	release()
	if code, body := a.get(t, "/readyz?verbose"); code != http.StatusOK || !strings.Contains(body, "[+] source (source)") {
		t.Errorf("/readyz after the load: %d %s", code, body)
	}
}

// The first snapshot is made with everything that it depends on, here the mesh config: a process that starts anew and
// one that compiled everything once more give the same bytes.
func TestCaseA11(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "mesh.yaml")
	writeConfig := func(timeout string) {
		if err := os.WriteFile(config, []byte("connectTimeout: "+timeout+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	writeConfig("7s")
	first := func() (*app, string) {
		o := runOptions(t)
		o.MeshConfig = config
		a := start(t, o, All(o), lifecycle.Options{})
		return a, a.firstAnswer(t)
	}
	a, want := first()
	defer a.stop(t)
	o := runOptions(t)
	b := start(t, o, All(o), lifecycle.Options{})
	defer b.stop(t)
	if b.firstAnswer(t) == want {
		t.Fatal("the first answer does not depend on the mesh config")
	}
	// There and back compiles everything twice.
	writeConfig("8s")
	eventually(t, "another answer", func() bool { return a.firstAnswer(t) != want })
	writeConfig("7s")
	eventually(t, "the first answer again", func() bool { return a.firstAnswer(t) == want })
}

func span(r *lifecycle.Runner, step string) lifecycle.Span {
	for _, s := range r.Trace().Record().Spans {
		if s.Name == step {
			return s
		}
	}
	return lifecycle.Span{}
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
