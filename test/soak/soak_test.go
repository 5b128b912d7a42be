// Package soak lets a mesh change and its proxies come and go for a long time, and then looks whether each proxy has
// what it should have, and the server no more than it should.
package soak

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/meshd/meshd/internal/testkit/manifests"
	"github.com/meshd/meshd/internal/testkit/process"
	"github.com/meshd/meshd/internal/testkit/swarm"
	"github.com/meshd/meshd/internal/testkit/usage"
	"github.com/meshd/meshd/internal/xds/resource"
)

// By default it is short and small; `task soak` is the whole of it.
var (
	lasts    = flag.Duration("for", 15*time.Second, "how long the mesh changes")
	services = flag.Int("services", 50, "how many services there are")
	streams  = flag.Int("streams", 40, "how many proxies there are, half of them in delta")
	change   = flag.Duration("change", 200*time.Millisecond, "how often something changes")
	seed     = flag.Uint64("seed", uint64(time.Now().UnixNano()), "what the changes are made of")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSoak(t *testing.T) {
	ctx := t.Context()
	t.Logf("-seed=%d", *seed)
	w, err := newWorld(t.TempDir(), *services, *streams, *seed)
	check(t, err)
	meshd := process.Start(t, "--dir="+w.dir)
	meshd.WaitReady()
	baseline := metric(t, meshd, "go_goroutines")

	contents := swarm.NewContents()
	old, err := newFleet(ctx, meshd.Address("--grpc-addr"), w.pods, contents)
	defer old.disconnect()
	check(t, err)
	connected := metric(t, meshd, "go_goroutines")

	curve := soak(ctx, t, w, meshd, old)
	if log := meshd.Log(); strings.Contains(log, " error ") {
		t.Errorf("the server had something to complain about:\n%s", log)
	}

	// What comes last everybody has, so that all are compared after everything that was before.
	last := manifests.Mesh{Namespaces: w.mesh.Namespaces, Endpoints: 1}.Service(50_000)
	check(t, last.Write(w.dir))
	hasLast := func(s swarm.State) bool {
		return s.Get(resource.EndpointType, last.Cluster(manifests.HTTPPort)) != nil && s.Get(resource.EndpointType, last.Cluster(manifests.TCPPort)) != nil
	}
	soon, cancel := context.WithTimeout(ctx, process.Patience)
	defer cancel()
	check(t, old.each(func(c *swarm.Client) error { return has(soon, c, hasLast) }))
	fresh, err := newFleet(ctx, old.addr, w.pods, contents)
	defer fresh.disconnect()
	check(t, err)
	check(t, fresh.each(func(c *swarm.Client) error { return has(soon, c, hasLast) }))
	meshd.Eventually("all have what fresh clients have", func() error { return old.differ(fresh) })

	fresh.disconnect()
	atMost(t, meshd, "with the same clients", connected)
	old.disconnect()
	atMost(t, meshd, "without clients", baseline)
	curve.flat(t)
}

// soak lets everything change, and gives what the server used meanwhile.
func soak(ctx context.Context, t *testing.T, w *world, meshd *process.Meshd, f *fleet) curve {
	done := make(chan struct{})
	reconnected := make(chan struct{})
	var times int
	var broken error
	go func() {
		defer close(reconnected)
		times, broken = f.restless(ctx, done, *change/2, *seed)
	}()
	before, err := usage.CPU(meshd.PID())
	check(t, err)
	var c curve
	sampleEvery := max(*lasts/60, time.Second)
	tick, sample, end := time.NewTicker(*change), time.NewTicker(sampleEvery), time.After(*lasts)
	defer tick.Stop()
	defer sample.Stop()
	for running := true; running; {
		select {
		case <-tick.C:
			check(t, w.change())
		case <-sample.C:
			c = append(c, take(t, meshd))
		case <-end:
			running = false
		}
	}
	close(done)
	<-reconnected
	check(t, broken)
	after, err := usage.CPU(meshd.PID())
	check(t, err)
	var responses, bytes int64
	for _, client := range f.clients {
		n, b := client.Received("")
		responses, bytes = responses+n, bytes+b
	}
	t.Logf("%v: changes %v, %d reconnects, %d responses of %d MB (without those that clients forgot), server CPU %v (%.0f%% of a core)",
		*lasts, w.made, times, responses, bytes>>20, after-before, 100*(after-before).Seconds()/lasts.Seconds())
	t.Logf("%s", c)
	return c
}

// atMost waits until the server has no more goroutines than it had. A few are the scrape's own, or come and go.
func atMost(t *testing.T, meshd *process.Meshd, when string, before float64) {
	t.Helper()
	const few = 4
	meshd.Eventually(fmt.Sprintf("%.0f goroutines %s", before, when), func() error {
		if n := metric(t, meshd, "go_goroutines"); n > before+few {
			return fmt.Errorf("there are %.0f", n)
		}
		return nil
	})
}

// moment is what the server had in use at one time.
type moment struct {
	resident   int64 // bytes
	live       float64
	goroutines float64
}

type curve []moment

func take(t *testing.T, meshd *process.Meshd) moment {
	t.Helper()
	m, err := usage.Of(meshd.PID())
	check(t, err)
	// The next collection is due at twice what was found alive by the last, or at 4 MB.
	return moment{m.Resident, metric(t, meshd, "go_memstats_next_gc_bytes") / 2, metric(t, meshd, "go_goroutines")}
}

// third gives the median of what was in use in the first, second or last third of the time.
func (c curve) third(n int, of func(moment) float64) float64 {
	part := c[len(c)*n/3 : max(len(c)*(n+1)/3, len(c)*n/3+1)]
	values := make([]float64, len(part))
	for i, m := range part {
		values[i] = of(m)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func live(m moment) float64     { return m.live / 1e6 }
func resident(m moment) float64 { return float64(m.resident) / 1e6 }

func (c curve) String() string {
	var out strings.Builder
	for what, of := range map[string]func(moment) float64{"resident MB": resident, "live heap MB": live, "goroutines": func(m moment) float64 { return m.goroutines }} {
		fmt.Fprintf(&out, "%s by thirds: %.1f, %.1f, %.1f; ", what, c.third(0, of), c.third(1, of), c.third(2, of))
	}
	return strings.TrimSuffix(out.String(), "; ")
}

// flat fails the test if the last third of the time used more memory than the middle one. The first is for warming up.
func (c curve) flat(t *testing.T) {
	t.Helper()
	for what, of := range map[string]func(moment) float64{"resident memory": resident, "the live heap": live} {
		const noise = 8 // MB
		if middle, last := c.third(1, of), c.third(2, of); last > middle*1.1+noise {
			t.Errorf("%s grew from %.1f to %.1f MB", what, middle, last)
		}
	}
}

// metric reads a metric without labels.
func metric(t *testing.T, meshd *process.Meshd, name string) float64 {
	t.Helper()
	_, body := meshd.Get("/metrics")
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			check(t, err)
			return f
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
