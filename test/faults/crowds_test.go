package faults

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3" // clients know what is linked in
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/meshd/meshd/internal/testkit/manifests"
	"github.com/meshd/meshd/internal/testkit/swarm"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// A thousand streams that connect and die at once leave nothing behind.
func TestThousandDie(t *testing.T) { protocols(t, testThousandDie) }

func testThousandDie(t *testing.T, r *rig) {
	const streams = 1000
	before := r.used()
	contents := swarm.NewContents()
	for range 2 { // what the first crowd leaves would be twice as much after the second
		crowd := make([]*swarm.Client, streams)
		failures := make([]error, streams)
		all(streams, func(i int) {
			crowd[i] = r.stock(r.pod(i), contents)
			failures[i] = crowd[i].Connect(r.ctx, r.addr)
		})
		r.check(errors.Join(failures...))
		// Some die before they have anything, some in the middle, some when they have all.
		r.has(crowd[0], swarm.State.Complete)
		r.change()
		all(streams, func(i int) { crowd[i].Disconnect() })
		r.change()
	}
	r.back(before, 8e6)
	if n := r.metric(`pilot_xds{version="1.31.0"}`); n != 1 {
		t.Errorf("%v streams are counted, want the one that is left", n)
	}
}

// Clients that refuse everything are sent what changes and nothing else, and as soon as they accept have that.
func TestEverythingRefused(t *testing.T) { protocols(t, testEverythingRefused) }

func testEverythingRefused(t *testing.T, r *rig) {
	const clients, changes = 50, 4
	before := r.used()
	refusing := make([]*xdsclient.Client, clients)
	var accepting atomic.Bool
	refuse := func(o *xdsclient.Options) {
		o.Judge = func(*discoveryv3.DiscoveryResponse) error {
			if accepting.Load() {
				return nil
			}
			return errors.New("no")
		}
	}
	types := map[string][]string{
		resource.ClusterType: nil, resource.EndpointType: {r.mesh.Service(1).Cluster(80)}, resource.ListenerType: nil, resource.RouteType: {"80"},
	}
	all(clients, func(i int) {
		c := r.connect(i, refuse)
		refusing[i] = c
		for typeURL, names := range types {
			if err := c.Subscribe(typeURL, names...); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for _, c := range refusing {
		r.waitFor(c, "all types", func(s xdsclient.State) bool {
			for typeURL := range types {
				if len(s.Of(typeURL)) == 0 {
					return false
				}
			}
			return true
		})
	}
	for range changes {
		r.change()
	}
	r.meshd.Eventually("each refusal is counted", func() error {
		sent := 0
		for _, c := range refusing {
			sent += len(c.State().Responses)
		}
		counted := 0.0
		for _, short := range []string{"cds", "eds", "lds", "rds"} {
			counted += r.metric(fmt.Sprintf("pilot_total_xds_rejects{type=%q}", short))
		}
		if int(counted) != sent {
			return fmt.Errorf("%v of %d", counted, sent)
		}
		return nil
	})
	for i, c := range refusing {
		for typeURL := range types {
			if n := len(c.State().Of(typeURL)); n > 1+changes {
				t.Errorf("client %d was sent %s %d times for %d changes", i, resource.TypeOf(typeURL).Short, n, changes)
			}
		}
	}
	accepting.Store(true)
	svc := r.change()
	for _, c := range refusing {
		r.waitFor(c, "what came after the refusals", func(s xdsclient.State) bool {
			clusters := s.Resources[resource.ClusterType]
			// In delta those that were refused and are as they were are not sent again.
			return clusters[svc.Cluster(manifests.HTTPPort)] != nil && (r.delta || clusters[r.mesh.Service(1).Cluster(manifests.HTTPPort)] != nil)
		})
		c.Close()
	}
	r.back(before, 5e6)
}

// Of the versions that clients say they have, none stay when they are answered (case B16), over the wire.
func TestCaseB16(t *testing.T) {
	const clients, versions = 200, 5000
	r := newRig(t, true)
	have := map[string]map[string]string{resource.ClusterType: {}}
	for i := range versions {
		have[resource.ClusterType][fmt.Sprintf("outbound|80||gone-%d.ns-0.svc.cluster.local", i)] = fmt.Sprint("v", i)
	}
	// heap connects clients, and gives what they make the process hold when all are answered.
	heap := func(have map[string]map[string]string) float64 {
		before := r.used()
		ctx, cancel := context.WithCancel(r.ctx)
		defer cancel()
		connected := make([]*xdsclient.Client, clients)
		for i := range connected {
			c := r.connect(i, func(o *xdsclient.Options) { o.Have = have })
			connected[i] = c
			r.check(c.Subscribe(resource.ClusterType))
			s, err := c.Wait(ctx, "clusters", func(s xdsclient.State) bool {
				removed := 0
				for _, d := range s.Deltas {
					removed += len(d.GetRemovedResources())
				}
				return len(s.Deltas) > 0 && removed == len(have[resource.ClusterType])
			})
			r.check(err)
			if len(s.Resources[resource.ClusterType]) == 0 {
				t.Fatal("no clusters")
			}
		}
		held := r.used().heap - before.heap
		all(clients, func(i int) { connected[i].Close() })
		r.back(before, 5e6)
		return held
	}
	without, with := heap(nil), heap(have)
	t.Logf("%d clients hold %.1f MB without versions, %.1f MB with", clients, without/1e6, with/1e6)
	// The versions have 200 × 5,000 × about 60 bytes.
	if with > without+10e6 {
		t.Errorf("200 clients that stated 5,000 versions each hold %.1f MB, without them %.1f MB", with/1e6, without/1e6)
	}
}
