package xds

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// counted is a wire that notes how many requests wait whenever something is sent.
type counted struct {
	wire
	protocol subscription.Encoding
	requests chan request

	mu      sync.Mutex
	waiting []int
}

func (c *counted) encoding() subscription.Encoding { return c.protocol }
func (c *counted) Context() context.Context        { return context.Background() }

func (c *counted) send(subscription.Response, *resource.Set) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, len(c.requests))
	return nil
}

func (c *counted) sent() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]int(nil), c.waiting...)
}

// testRequestsFirst: while a request waits nothing is pushed, however much is due.
func testRequestsFirst(t *testing.T, p protocol) {
	r := p.rig(t)
	r.set("cds a=0").set("eds a=0").set("lds l=0").set("rds r=0").publish()
	w := &counted{protocol: subscription.Encoding(p), requests: make(chan request, maxQueued)}
	st, err := r.server.admit(w)
	if err != nil {
		t.Fatal(err)
	}
	for typeURL, names := range map[string][]string{
		resource.ClusterType: nil, resource.EndpointType: {"a"}, resource.ListenerType: nil, resource.RouteType: {"r"},
	} {
		in := subscription.Request{TypeURL: typeURL, Names: names}
		if r.delta {
			in.Names, in.Subscribe = nil, names
		}
		w.requests <- request{&corev3.Node{Id: node("web")}, in}
	}
	select {
	case st.woken <- struct{}{}:
	default: // the server has done so
	}
	ended := make(chan error, 1)
	go func() {
		var broken error
		ended <- st.loop(w.requests, &broken)
	}()
	r.eventually("everything is answered", func() bool { return len(w.sent()) == 4 })
	close(w.requests)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	st.disconnected(nil)
	st.place.Leave()
	r.server.forget(st)
	for i, n := range w.sent() {
		if n > 0 {
			t.Errorf("response %d was sent while %d requests waited", i+1, n)
		}
	}
}

// busy is a wire of a client that answers at once, in a mesh whose endpoints change while they are sent.
type busy struct {
	counted
	r    *rig
	sent []string // types
}

func (b *busy) send(resp subscription.Response, _ *resource.Set) error {
	b.sent = append(b.sent, resp.Type.Short)
	if resp.Type.URL == resource.ListenerType || len(b.sent) == 5 {
		close(b.requests)
		return nil
	}
	b.r.set(fmt.Sprintf("eds a=%d", len(b.sent))).publish()
	answer := subscription.Request{TypeURL: resource.EndpointType, Nonce: resp.Nonce}
	if !b.r.delta {
		answer.Names = []string{"a"}
	}
	b.requests <- request{nil, answer}
	if len(b.sent) == 1 {
		b.requests <- request{nil, subscription.Request{TypeURL: resource.ListenerType}}
	}
	return nil
}

// testOvertakenOnce: endpoints that have changed whenever they were sent go before what was asked for once, and not again.
func testOvertakenOnce(t *testing.T, p protocol) {
	r := p.rig(t)
	r.set("eds a=0").set("lds l=0").publish()
	b := &busy{counted: counted{protocol: subscription.Encoding(p), requests: make(chan request, maxQueued)}, r: r}
	st, err := r.server.admit(b)
	if err != nil {
		t.Fatal(err)
	}
	in := subscription.Request{TypeURL: resource.EndpointType, Names: []string{"a"}}
	if r.delta {
		in.Names, in.Subscribe = nil, in.Names
	}
	b.requests <- request{&corev3.Node{Id: node("web")}, in}
	var broken error
	if err := st.loop(b.requests, &broken); err != nil {
		t.Error(err)
	}
	st.disconnected(nil)
	st.place.Leave()
	r.server.forget(st)
	if want := []string{"eds", "eds", "lds"}; !slices.Equal(b.sent, want) {
		t.Errorf("sent %q, want %q", b.sent, want)
	}
}
