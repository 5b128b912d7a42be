// Package faults lets clients misbehave in numbers, against the real process, and looks that it bounds what they get and
// what they cost, that nothing of them stays, and that a client that behaves notices nothing.
package faults

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/meshd/meshd/internal/testkit/manifests"
	"github.com/meshd/meshd/internal/testkit/process"
	"github.com/meshd/meshd/internal/testkit/swarm"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	services = 50
	classes  = 5
	// unaffected is how soon the client that behaves has a change, whatever the others do. It would be a tenth of a
	// second; the rest is for machines that are busy with other things.
	unaffected = 10 * time.Second
)

// rig is a meshd with one client that behaves.
type rig struct {
	t       *testing.T
	ctx     context.Context // ends the test rather than let it hang
	delta   bool            // what clients speak
	dir     string
	mesh    manifests.Mesh
	meshd   *process.Meshd
	addr    string
	witness *swarm.Client
	next    int // number of the next new service
}

// protocols runs a test in both.
func protocols(t *testing.T, test func(*testing.T, *rig)) {
	for _, protocol := range []string{"sotw", "delta"} {
		t.Run(protocol, func(t *testing.T) { test(t, newRig(t, protocol == "delta")) })
	}
}

func newRig(t *testing.T, delta bool) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Minute, fmt.Errorf("the test takes too long"))
	t.Cleanup(cancel)
	r := &rig{t: t, ctx: ctx, delta: delta, dir: t.TempDir(), mesh: manifests.Mesh{Services: services, Namespaces: classes, Endpoints: 3}, next: services}
	r.check(r.mesh.Write(r.dir))
	r.meshd = process.Start(t, "--dir="+r.dir, "--profile") // whose heap profile collects garbage first
	r.meshd.WaitReady()
	r.addr = r.meshd.Address("--grpc-addr")
	r.witness = r.stock(r.pod(0), swarm.NewContents())
	r.check(r.witness.Connect(ctx, r.addr))
	t.Cleanup(r.witness.Disconnect)
	r.has(r.witness, swarm.State.Complete)
	r.change() // so that what is made only once is made
	return r
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) pod(i int) manifests.Pod {
	return manifests.Pod{Number: i, Workload: i % classes, Namespaces: classes}
}

// stock makes a client that behaves; it is not connected.
func (r *rig) stock(pod manifests.Pod, contents *swarm.Contents) *swarm.Client {
	r.t.Helper()
	c, err := swarm.New(swarm.Options{NodeID: pod.NodeID(), Metadata: pod.Metadata(), Delta: r.delta, Contents: contents})
	r.check(err)
	return c
}

func (r *rig) has(c *swarm.Client, condition func(swarm.State) bool) {
	r.t.Helper()
	_, err := c.Expect(condition).At(r.ctx)
	r.check(err)
}

// connect makes a client that does what the test says.
func (r *rig) connect(i int, change ...func(*xdsclient.Options)) *xdsclient.Client {
	r.t.Helper()
	opts := xdsclient.Options{NodeID: r.pod(i).NodeID(), Metadata: r.pod(i).Metadata(), Delta: r.delta}
	for _, f := range change {
		f(&opts)
	}
	c, err := xdsclient.Connect(r.ctx, r.addr, opts)
	r.check(err)
	r.t.Cleanup(c.Close)
	return c
}

func manual(o *xdsclient.Options) { o.Manual = true }

func (r *rig) waitFor(c *xdsclient.Client, what string, condition func(xdsclient.State) bool) xdsclient.State {
	r.t.Helper()
	s, err := c.Wait(r.ctx, what, condition)
	r.check(err)
	return s
}

// change makes a new service, and waits until the client that behaves has all of it.
func (r *rig) change() manifests.Service {
	r.t.Helper()
	svc := r.mesh.Service(r.next)
	r.next++
	began := time.Now()
	r.check(svc.Write(r.dir))
	r.has(r.witness, func(s swarm.State) bool {
		return s.Get(resource.EndpointType, svc.Cluster(manifests.TCPPort)) != nil &&
			s.Get(resource.ListenerType, fmt.Sprintf("%s_%d", svc.Address(), manifests.TCPPort)) != nil
	})
	if took := time.Since(began); took > unaffected {
		r.t.Errorf("a client that behaves has a change after %v", took)
	}
	return svc
}

// metric reads a metric, with its labels if it has any; 0 if it is not there.
func (r *rig) metric(name string) float64 {
	r.t.Helper()
	status, body := r.meshd.Get("/metrics")
	if status != 200 {
		r.t.Fatalf("metrics: %d %s", status, body)
	}
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			r.check(err)
			return f
		}
	}
	return 0
}

// used is what the process holds.
type used struct{ heap, goroutines float64 }

// used collects garbage and gives what is left, heap in bytes.
func (r *rig) used() used {
	r.t.Helper()
	// Twice, because what a sync.Pool holds survives one collection.
	for range 2 {
		if status, body := r.meshd.Get("/debug/pprof/heap?gc=1&debug=1"); status != 200 {
			r.t.Fatalf("heap profile: %d %.200s", status, body)
		}
	}
	return used{r.metric("go_memstats_heap_alloc_bytes"), r.metric("go_goroutines")}
}

// back waits until the process holds what it held before, and not much more.
func (r *rig) back(before used, more float64) {
	r.t.Helper()
	const few = 4 // goroutines that serve this very question
	r.meshd.Eventually("memory and goroutines as before", func() error {
		if now := r.used(); now.heap > before.heap+more || now.goroutines > before.goroutines+few {
			return fmt.Errorf("%.1f MB and %.0f goroutines instead of %.1f and %.0f",
				now.heap/1e6, now.goroutines, before.heap/1e6, before.goroutines)
		}
		return nil
	})
}

// all does something for each of n clients at once.
func all(n int, do func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}
