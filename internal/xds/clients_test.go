package xds

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/subscription"
)

func node(pod string) string { return "sidecar~10.0.0.1~" + pod + ".default~default.svc.cluster.local" }

// raw is a stream of a test that sends and receives for itself.
type raw struct {
	// send asks for a type, or accepts a response of it.
	send func(n *corev3.Node, typeURL, nonce string) error
	// recv gives the nonce of the next response, and its version.
	recv func() (nonce, version string, err error)
}

// open opens a stream on a connection of the test's.
func (r *rig) open(conn *grpc.ClientConn) (raw, error) {
	ads := discoveryv3.NewAggregatedDiscoveryServiceClient(conn)
	if r.delta {
		stream, err := ads.DeltaAggregatedResources(r.ctx)
		return raw{
			func(n *corev3.Node, typeURL, nonce string) error {
				return stream.Send(&discoveryv3.DeltaDiscoveryRequest{Node: n, TypeUrl: typeURL, ResponseNonce: nonce})
			},
			func() (string, string, error) {
				m, err := stream.Recv()
				return m.GetNonce(), m.GetSystemVersionInfo(), err
			},
		}, err
	}
	stream, err := ads.StreamAggregatedResources(r.ctx)
	return raw{
		func(n *corev3.Node, typeURL, nonce string) error {
			return stream.Send(&discoveryv3.DiscoveryRequest{Node: n, TypeUrl: typeURL, ResponseNonce: nonce})
		},
		func() (string, string, error) {
			m, err := stream.Recv()
			return m.GetNonce(), m.GetVersionInfo(), err
		},
	}, err
}

// dial makes a connection that is closed at the end of the test.
func (r *rig) dial(options ...grpc.DialOption) *grpc.ClientConn {
	r.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+r.addr, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// connect opens a stream as a sidecar of a pod of that name, which is its workload too.
func (r *rig) connect(pod string, change ...func(*xdsclient.Options)) *xdsclient.Client {
	r.t.Helper()
	opts := xdsclient.Options{NodeID: node(pod), Metadata: map[string]any{"WORKLOAD_NAME": pod, "ISTIO_VERSION": "1.32.0"}, Delta: r.delta}
	for _, f := range change {
		f(&opts)
	}
	c, err := xdsclient.Connect(r.ctx, r.addr, opts)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

func manual(o *xdsclient.Options) { o.Manual = true }

// introduce sends a request for a type with a node of the test's choice.
func (r *rig) introduce(c *xdsclient.Client, nodeID, typeURL string) {
	r.t.Helper()
	var err error
	if n := (&corev3.Node{Id: nodeID}); r.delta {
		err = c.SendDelta(&discoveryv3.DeltaDiscoveryRequest{Node: n, TypeUrl: typeURL})
	} else {
		err = c.Send(&discoveryv3.DiscoveryRequest{Node: n, TypeUrl: typeURL})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// types gives what the server shows of its only stream.
func (r *rig) types() []subscription.Status {
	var out []subscription.Status
	for _, s := range r.server.deps.Connections.List()[0].Types {
		out = append(out, s.Status)
	}
	return out
}

// quiet waits until everything that was sent is answered.
func (r *rig) quiet() {
	r.t.Helper()
	r.eventually("everything is answered", func() bool {
		return !slices.ContainsFunc(r.types(), func(s subscription.Status) bool { return s.Unacknowledged || s.Pending })
	})
}

// subscribe asks for a type: "eds a b".
func (r *rig) subscribe(c *xdsclient.Client, line string) {
	r.t.Helper()
	words := strings.Fields(line)
	if err := c.Subscribe(typeURLs[words[0]], words[1:]...); err != nil {
		r.t.Fatal(err)
	}
}

// want waits until the client has exactly these resources of a type: "cds a=1 b=2".
func (r *rig) want(c *xdsclient.Client, line string) xdsclient.State {
	r.t.Helper()
	words := strings.Fields(line)
	want := map[string]string{}
	for _, w := range words[1:] {
		name, text, _ := strings.Cut(w, "=")
		want[name] = text
	}
	return r.waitFor(c, line, func(s xdsclient.State) bool {
		got := map[string]string{}
		for name, msg := range s.Resources[typeURLs[words[0]]] {
			got[name] = textOf(msg)
		}
		return len(s.Of(typeURLs[words[0]])) > 0 && maps.Equal(got, want)
	})
}

func (r *rig) waitFor(c *xdsclient.Client, what string, condition func(xdsclient.State) bool) xdsclient.State {
	r.t.Helper()
	s, err := c.Wait(r.ctx, what, condition)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// count waits for a number of responses of a type.
func (r *rig) count(c *xdsclient.Client, short string, n int) xdsclient.State {
	r.t.Helper()
	return r.waitFor(c, fmt.Sprintf("%d responses of %s", n, short), func(s xdsclient.State) bool {
		return len(s.Of(typeURLs[short])) >= n
	})
}
