package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/meshd/meshd/internal/testkit/manifests"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// A client that asks for 100,000 names gets those that there are, costs little while it is there, and nothing after.
func TestManyNames(t *testing.T) { protocols(t, testManyNames) }

func testManyNames(t *testing.T, r *rig) {
	const many, batch = 100_000, 10_000
	before := r.used()
	names := make([]string, 0, many)
	for i := range many {
		names = append(names, fmt.Sprintf("outbound|80||missing-%d.ns-0.svc.cluster.local", i))
	}
	there := r.mesh.Service(7).Cluster(manifests.HTTPPort)
	for what, ask := range map[string]func(c *xdsclient.Client) error{
		"at once": func(c *xdsclient.Client) error {
			return c.Subscribe(resource.EndpointType, append(names, there)...)
		},
		"bit by bit": func(c *xdsclient.Client) error {
			if !r.delta {
				for n := batch; n < many; n += batch {
					if err := c.Subscribe(resource.EndpointType, names[:n]...); err != nil {
						return err
					}
				}
				return c.Subscribe(resource.EndpointType, append(names, there)...)
			}
			for part := range slices.Chunk(append(names, there), batch) {
				if err := r.send(c, resource.EndpointType, "", part...); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		c := r.connect(1)
		r.check(ask(c))
		r.waitFor(c, "what there is, "+what, func(s xdsclient.State) bool {
			got, told := 0, 0
			for _, resp := range s.Of(resource.EndpointType) {
				got += len(resp.GetResources())
			}
			for _, resp := range s.Deltas {
				told += len(resp.GetRemovedResources())
			}
			return got >= 1 && (!r.delta || told >= many)
		})
		svc := r.change() // with the names in place
		if s := c.State(); strings.Contains(fmt.Sprint(s.Names(resource.EndpointType)), svc.Name()) {
			t.Errorf("%s: it got what it did not ask for", what)
		}
		// A name and what is booked of it. In text the names alone have 4.6 MB.
		r.meshd.Eventually("names that cost little", func() error {
			if now := r.used(); now.heap > before.heap+40e6 {
				return fmt.Errorf("%s: the names cost %.1f MB", what, (now.heap-before.heap)/1e6)
			}
			return nil
		})
		c.Close()
	}
	r.back(before, 3e6)
}

// A request that is larger than any that makes sense ends its stream.
func TestHugeRequest(t *testing.T) { protocols(t, testHugeRequest) }

func testHugeRequest(t *testing.T, r *rig) {
	before := r.used()
	c := r.connect(1, manual)
	// The stream may end before it is sent.
	_ = c.Subscribe(resource.EndpointType, strings.Repeat("x", 20<<20))
	s := r.waitFor(c, "the end", func(s xdsclient.State) bool { return s.Ended })
	if got := status.Code(s.Err); got != codes.ResourceExhausted {
		t.Errorf("it ended with %v", s.Err)
	}
	r.change()
	c.Close()
	r.back(before, 3e6)
}

// Requests for one type in a loop, whose answers nobody waits for, are answered once: nothing else can be in flight.
// What else they ask for is answered when the client has answered.
func TestRequestsInALoop(t *testing.T) { protocols(t, testRequestsInALoop) }

func testRequestsInALoop(t *testing.T, r *rig) {
	const clients, requests = 10, 5000
	before := r.used()
	loop := make([]*xdsclient.Client, clients)
	for i := range loop {
		loop[i] = r.connect(i, manual)
	}
	all(clients, func(i int) {
		for range requests {
			if err := r.send(loop[i], resource.ClusterType, "", "*"); err != nil {
				t.Error(err)
				return
			}
		}
		// When this is answered everything before it was read.
		if err := r.send(loop[i], resource.ListenerType, ""); err != nil {
			t.Error(err)
		}
	})
	r.change()
	for i, c := range loop {
		s := r.waitFor(c, "listeners", func(s xdsclient.State) bool { return len(s.Of(resource.ListenerType)) > 0 })
		if n := len(s.Of(resource.ClusterType)); n != 1 {
			t.Errorf("client %d got %d responses though it answered none", i, n)
		}
		for n := 1; n <= 3; n++ { // the repetition, the new service; then there is nothing left
			last := s.Of(resource.ClusterType)
			r.check(r.send(c, resource.ClusterType, last[len(last)-1].GetNonce(), "*"))
			r.check(r.send(c, "nobody.knows/"+fmt.Sprint(n), ""))
			s = c.State()
		}
		c.Close()
		if n := len(c.State().Of(resource.ClusterType)); n > 4 {
			t.Errorf("client %d got %d responses for 3 answers", i, n)
		}
	}
	r.back(before, 3e6)
}

// A stream serves one node. Whoever comes with another one is told so, and leaves nothing behind.
func TestOtherNode(t *testing.T) { protocols(t, testOtherNode) }

func testOtherNode(t *testing.T, r *rig) {
	const clients = 100
	before := r.used()
	all(clients, func(i int) {
		c := r.connect(i, manual)
		if err := r.send(c, resource.ClusterType, ""); err != nil {
			t.Error(err)
			return
		}
		if _, err := c.Wait(r.ctx, "clusters", func(s xdsclient.State) bool { return len(s.Responses) == 1 }); err != nil {
			t.Error(err)
			return
		}
		// The stream may end while it is sent.
		other := &corev3.Node{Id: r.pod(i + clients).NodeID()}
		if r.delta {
			_ = c.SendDelta(&discoveryv3.DeltaDiscoveryRequest{Node: other, TypeUrl: resource.ListenerType})
		} else {
			_ = c.Send(&discoveryv3.DiscoveryRequest{Node: other, TypeUrl: resource.ListenerType})
		}
		// The end of the stream is an error of Wait only if it is not what is waited for.
		s, err := c.Wait(r.ctx, "the end", func(s xdsclient.State) bool { return s.Ended })
		if err != nil || status.Code(s.Err) != codes.InvalidArgument || len(s.Of(resource.ListenerType)) > 0 {
			t.Errorf("it ended with %v, after %s", s.Err, s)
		}
		c.Close()
	})
	r.change()
	r.back(before, 3e6)
}

// ACKs for nonces that were never sent say nothing, and are not answered.
func TestForeignNonces(t *testing.T) { protocols(t, testForeignNonces) }

func testForeignNonces(t *testing.T, r *rig) {
	const clients, requests = 10, 5000
	before := r.used()
	liars := make([]*xdsclient.Client, clients)
	for i := range liars {
		liars[i] = r.connect(i, manual)
		r.check(r.send(liars[i], resource.ClusterType, ""))
		r.waitFor(liars[i], "clusters", func(s xdsclient.State) bool { return len(s.Responses) == 1 })
	}
	all(clients, func(i int) {
		for n := range requests {
			if err := r.send(liars[i], resource.ClusterType, fmt.Sprint("never-", n)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	svc := r.change()
	for i, c := range liars {
		// It waits for the answer to what was really sent.
		r.check(r.send(c, resource.ListenerType, ""))
		s := r.waitFor(c, "listeners", func(s xdsclient.State) bool { return len(s.Of(resource.ListenerType)) > 0 })
		clusters := s.Of(resource.ClusterType)
		if len(clusters) != 1 {
			t.Fatalf("client %d got %d responses though it answered none", i, len(clusters))
		}
		r.check(r.send(c, resource.ClusterType, clusters[0].GetNonce()))
		s = r.waitFor(c, "the change", func(s xdsclient.State) bool { return len(s.Of(resource.ClusterType)) == 2 })
		last := s.Of(resource.ClusterType)[1]
		if text := fmt.Sprintf("%q", last.GetResources()); !strings.Contains(text, svc.Host()) {
			t.Errorf("client %d: no %s in what came after its first true answer", i, svc.Host())
		}
		c.Close()
	}
	r.back(before, 3e6)
}

// send sends a request that answers a nonce, or none. The names are all that the client wants.
func (r *rig) send(c *xdsclient.Client, typeURL, nonce string, names ...string) error {
	if r.delta {
		return c.SendDelta(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResponseNonce: nonce, ResourceNamesSubscribe: names})
	}
	return c.Send(&discoveryv3.DiscoveryRequest{TypeUrl: typeURL, ResponseNonce: nonce, ResourceNames: names})
}
