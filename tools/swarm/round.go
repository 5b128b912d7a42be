package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/meshd/meshd/internal/testkit/manifests"
	"github.com/meshd/meshd/internal/testkit/swarm"
	"github.com/meshd/meshd/internal/xds/resource"
)

// patience is how long the whole swarm may take to get something.
const patience = 2 * time.Minute

// round is one server with its swarm.
type round struct {
	size    size
	mesh    manifests.Mesh
	dir     string // of manifests
	server  *server
	clients []*swarm.Client
	figures *figures
	next    int // number of the next new service
}

// run measures everything once, with a server of its own.
func (o *options) run(ctx context.Context, sz size, bin string, figures *figures) (err error) {
	scratch, err := os.MkdirTemp("", "swarm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	r := &round{
		size: sz, dir: filepath.Join(scratch, "manifests"), figures: figures, next: sz.Services,
		mesh: manifests.Mesh{Services: sz.Services, Namespaces: o.classes, Endpoints: o.endpoints},
	}
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return err
	}
	if err := r.mesh.Write(r.dir); err != nil {
		return err
	}
	if r.server, err = start(ctx, bin, r.dir, scratch, o.args); err != nil {
		return err
	}
	defer r.server.stop()
	if err := r.server.quiet(ctx); err != nil {
		return err
	}
	figures.add("ready", sample{slowest: r.server.ready})
	defer r.disconnect()
	if err := r.measure(ctx, "connect", func(ctx context.Context) ([]*swarm.Wait, error) { return r.connect(ctx, o.classes) }); err != nil {
		return err
	}
	connected, err := r.server.atRest(ctx)
	if err != nil {
		return err
	}
	for i := range o.changes {
		for _, c := range []struct {
			what string
			do   func(context.Context) ([]*swarm.Wait, error)
		}{
			{"new service", func(context.Context) ([]*swarm.Wait, error) { return r.newService(false) }},
			{"new HTTP service", func(context.Context) ([]*swarm.Wait, error) { return r.newService(true) }},
			{"one endpoint", func(context.Context) ([]*swarm.Wait, error) { return r.endpoint(i) }},
		} {
			if err := r.measure(ctx, c.what, c.do); err != nil {
				return err
			}
		}
	}
	changed, err := r.server.atRest(ctx)
	if err != nil {
		return err
	}
	figures.memory = append(figures.memory, memory{connected: connected.Resident, changed: changed.Resident, peak: changed.Peak})
	return nil
}

// measure does something that all clients wait for, and adds up what it took.
func (r *round) measure(ctx context.Context, what string, do func(context.Context) ([]*swarm.Wait, error)) error {
	// The bound is for the waiting: a stream lives as long as the context that it was opened with.
	bounded, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("nothing for %v", patience))
	defer cancel()
	before, err := r.received()
	if err != nil {
		return err
	}
	began := time.Now()
	waits, err := do(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w\nlog of meshd:\n%s", what, err, r.server.tail())
	}
	var s sample
	for _, w := range waits {
		at, err := w.At(bounded)
		if err != nil {
			return fmt.Errorf("%s: %w\nlog of meshd:\n%s", what, err, r.server.tail())
		}
		s.latencies = append(s.latencies, at.Sub(began))
		s.slowest = max(s.slowest, at.Sub(began))
	}
	if err := r.server.quiet(bounded); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	after, err := r.received()
	if err != nil {
		return err
	}
	s.cpu = after.cpu - before.cpu
	s.bytes, s.responses = map[string]int64{}, map[string]int64{}
	for short := range after.bytes {
		s.bytes[short] = after.bytes[short] - before.bytes[short]
		s.responses[short] = after.responses[short] - before.responses[short]
	}
	r.figures.add(what, s)
	return nil
}

// totals is what the server has used and the clients have received so far, by type.
type totals struct {
	cpu              time.Duration
	bytes, responses map[string]int64
}

func (r *round) received() (totals, error) {
	t := totals{bytes: map[string]int64{}, responses: map[string]int64{}}
	for _, c := range r.clients {
		for _, typeURL := range []string{resource.ClusterType, resource.EndpointType, resource.ListenerType, resource.RouteType} {
			responses, bytes := c.Received(typeURL)
			short := resource.TypeOf(typeURL).Short
			t.bytes[short] += bytes
			t.responses[short] += responses
		}
	}
	var err error
	t.cpu, err = r.server.cpu()
	return t, err
}

// connect opens all streams at once.
func (r *round) connect(ctx context.Context, classes int) ([]*swarm.Wait, error) {
	contents := swarm.NewContents()
	for i := range r.size.Streams {
		pod := manifests.Pod{Number: i, Workload: i % classes, Namespaces: classes}
		c, err := swarm.New(swarm.Options{NodeID: pod.NodeID(), Metadata: pod.Metadata(), Delta: r.size.Protocol == "delta", Contents: contents})
		if err != nil {
			return nil, err
		}
		r.clients = append(r.clients, c)
	}
	failures := make([]error, len(r.clients))
	waits := make([]*swarm.Wait, len(r.clients))
	var all sync.WaitGroup
	for i, c := range r.clients {
		all.Go(func() {
			failures[i] = c.Connect(ctx, r.server.address)
			waits[i] = c.Expect(swarm.State.Complete)
		})
	}
	all.Wait()
	if i := slices.IndexFunc(failures, func(err error) bool { return err != nil }); i >= 0 {
		return nil, failures[i] // the others say the same
	}
	return waits, nil
}

func (r *round) disconnect() {
	var all sync.WaitGroup
	for _, c := range r.clients {
		all.Go(c.Disconnect)
	}
	all.Wait()
}

// newService adds one service to the mesh. A client has it when it has its clusters, the listener of its TCP port, and
// routes that are others than before.
func (r *round) newService(httpOnly bool) ([]*swarm.Wait, error) {
	svc := r.mesh.Service(r.next)
	svc.HTTPOnly = httpOnly
	r.next++
	routes := fmt.Sprint(manifests.HTTPPort)
	waits := make([]*swarm.Wait, len(r.clients))
	for i, c := range r.clients {
		old := c.Get(resource.RouteType, routes)
		waits[i] = c.Expect(func(s swarm.State) bool {
			http := s.Get(resource.ClusterType, svc.Cluster(manifests.HTTPPort)) != nil && s.Get(resource.RouteType, routes) != old
			return http && (httpOnly || s.Get(resource.ClusterType, svc.Cluster(manifests.TCPPort)) != nil &&
				s.Get(resource.ListenerType, fmt.Sprintf("%s_%d", svc.Address(), manifests.TCPPort)) != nil)
		})
	}
	return waits, svc.Write(r.dir)
}

// endpoint gives one more endpoint to a service.
func (r *round) endpoint(change int) ([]*swarm.Wait, error) {
	svc := r.mesh.Service(change % r.size.Services)
	svc.Endpoints += 1 + change/r.size.Services
	waits := make([]*swarm.Wait, len(r.clients))
	for i, c := range r.clients {
		http, tcp := c.Get(resource.EndpointType, svc.Cluster(manifests.HTTPPort)), c.Get(resource.EndpointType, svc.Cluster(manifests.TCPPort))
		waits[i] = c.Expect(func(s swarm.State) bool {
			return s.Get(resource.EndpointType, svc.Cluster(manifests.HTTPPort)) != http &&
				s.Get(resource.EndpointType, svc.Cluster(manifests.TCPPort)) != tcp
		})
	}
	return waits, svc.Write(r.dir)
}
