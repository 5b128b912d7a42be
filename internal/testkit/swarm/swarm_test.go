package swarm_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	// The other client knows what is linked in.
	_ "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"go.uber.org/goleak"

	"github.com/meshd/meshd/internal/testkit/manifests"
	"github.com/meshd/meshd/internal/testkit/process"
	"github.com/meshd/meshd/internal/testkit/swarm"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestAsOthers: a client of a swarm has what a client has that decodes everything, in either protocol, and after each
// of the changes that a mesh goes through; also one that was away meanwhile.
func TestAsOthers(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	dir := t.TempDir()
	mesh := manifests.Mesh{Services: 4, Namespaces: 2, Endpoints: 2}
	if err := mesh.Write(dir); err != nil {
		t.Fatal(err)
	}
	meshd := process.Start(t, "--dir="+dir)
	meshd.WaitReady()
	addr := meshd.Address("--grpc-addr")
	pod := manifests.Pod{Number: 7, Workload: 1, Namespaces: 2}
	contents := swarm.NewContents()
	join := func(delta bool) *swarm.Client {
		c, err := swarm.New(swarm.Options{NodeID: pod.NodeID(), Metadata: pod.Metadata(), Delta: delta, Contents: contents})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Connect(ctx, addr); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Disconnect)
		return c
	}
	until := func(c *swarm.Client, condition func(swarm.State) bool) {
		t.Helper()
		if _, err := c.Expect(condition).At(ctx); err != nil {
			t.Fatal(err)
		}
	}
	clients := []*swarm.Client{join(false), join(true), join(false), join(true)}
	for _, c := range clients {
		until(c, swarm.State.Complete)
	}

	added := mesh.Service(4)
	moved := mesh.Service(1)
	moved.Moved++
	gone := mesh.Service(2)
	http := func(svc manifests.Service) string { return svc.Cluster(manifests.HTTPPort) }
	before := clients[0].Get(resource.EndpointType, http(moved))
	for _, step := range []struct {
		what   string
		change func() error
		done   func(swarm.State) bool
	}{
		{"a new service", func() error { return added.Write(dir) },
			func(s swarm.State) bool { return s.Get(resource.EndpointType, http(added)) != nil }},
		{"other endpoints", func() error { return moved.Write(dir) },
			func(s swarm.State) bool { return s.Get(resource.EndpointType, http(moved)) != before }},
		{"a service less", func() error { return gone.Remove(dir) },
			func(s swarm.State) bool { return s.Get(resource.ClusterType, http(gone)) == nil }},
	} {
		away := clients[2:]
		for _, c := range away {
			c.Disconnect()
		}
		if err := step.change(); err != nil {
			t.Fatal(err)
		}
		for _, c := range away {
			if err := c.Connect(ctx, addr); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range clients {
			until(c, step.done)
		}
		// A client that is there first may have the last of the change later.
		fresh := join(true)
		until(fresh, swarm.State.Complete)
		meshd.Eventually("all have the same after "+step.what, func() error {
			for _, c := range clients {
				if diff := c.State().Diff(fresh.State()); diff != "" {
					return errors.New(diff)
				}
			}
			return nil
		})
	}

	other, err := xdsclient.Connect(ctx, addr, xdsclient.Options{NodeID: pod.NodeID(), Metadata: pod.Metadata()})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	mine := clients[0].State()
	for _, typeURL := range []string{resource.ClusterType, resource.EndpointType, resource.ListenerType, resource.RouteType} {
		names := slices.Sorted(maps.Keys(mine.Types[typeURL].Resources))
		asked := names
		if resource.TypeOf(typeURL).Parent == "" {
			asked = nil
		}
		if err := other.Subscribe(typeURL, asked...); err != nil {
			t.Fatal(err)
		}
		s, err := other.Wait(ctx, typeURL, func(s xdsclient.State) bool { return len(s.Of(typeURL)) > 0 })
		if err != nil {
			t.Fatal(err)
		}
		if theirs := s.Names(typeURL); !slices.Equal(theirs, names) || len(names) == 0 {
			t.Errorf("%s: the swarm has %v, another client %v", typeURL, names, theirs)
		}
	}
}

// TestEndOfStream: whoever waits is told that there is nothing to wait for.
func TestEndOfStream(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	meshd := process.Start(t, "--dir="+t.TempDir())
	meshd.WaitReady()
	c, err := swarm.New(swarm.Options{NodeID: "nobody", Contents: swarm.NewContents()})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Connect(ctx, meshd.Address("--grpc-addr")); err != nil {
		t.Fatal(err)
	}
	defer c.Disconnect()
	began := time.Now()
	if _, err := c.Expect(swarm.State.Complete).At(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("a stream that is refused ends the waiting with %v after %v", err, time.Since(began))
	}
}
