// Package swarm is a client of the aggregated discovery service that costs little, so that hundreds of them can be run
// beside the server that is measured. It behaves as a stock proxy does: clusters first, then the endpoints that they
// name, then listeners, then the routes that those name; it accepts everything; what is removed is gone.
//
// Responses are not decoded. A resource is looked into once for the whole swarm, and afterwards known by its hash.
package swarm

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/protobuf/types/known/structpb"
)

// window is how far a client reads ahead, in bytes: that of Istio's agent.
const window = 1 << 20

// Options say who a client is.
type Options struct {
	// NodeID and Metadata introduce it.
	NodeID   string
	Metadata map[string]any
	// Delta makes it speak the delta protocol.
	Delta bool
	// Contents are shared by all clients of a swarm.
	Contents *Contents
}

// Client is one proxy. It has at most one stream at a time, on a connection of its own. It is safe for concurrent use,
// but Connect and Disconnect are called by one goroutine.
type Client struct {
	opts Options
	node *corev3.Node

	stop  context.CancelFunc // of the stream
	ended chan struct{}      // closed when the stream is over; nil before the first

	mu     sync.Mutex
	state  State
	names  map[string][]string // subscribed names by type, of types that were asked for; nil for a wildcard
	waits  []*Wait
	err    error // why the last stream ended
	asking bool  // a stream is open
}

// New makes a client that is not connected. It is an error if the metadata cannot be sent.
func New(opts Options) (*Client, error) {
	meta, err := structpb.NewStruct(opts.Metadata)
	if err != nil {
		return nil, fmt.Errorf("metadata of node %s: %w", opts.NodeID, err)
	}
	return &Client{
		opts: opts, node: &corev3.Node{Id: opts.NodeID, Metadata: meta},
		state: newState(), names: map[string][]string{},
	}, nil
}

// Connect opens a connection and a stream to a TCP address, on which the client says what it has, if it has anything.
// The stream lives until Disconnect, or until the server or the context ends it.
func (c *Client) Connect(ctx context.Context, addr string) error {
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window), experimental.WithBufferPool(c.opts.Contents.buffers),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30), grpc.ForceCodecV2(newCodec())))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", addr, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	method := discoveryv3.AggregatedDiscoveryService_StreamAggregatedResources_FullMethodName
	if c.opts.Delta {
		method = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResources_FullMethodName
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		cancel()
		_ = conn.Close() // nothing was sent on it
		return fmt.Errorf("open a stream to %s: %w", addr, err)
	}
	c.stop, c.ended = cancel, make(chan struct{})
	c.mu.Lock()
	c.err, c.asking = nil, true
	c.mu.Unlock()
	go func() {
		defer close(c.ended)
		defer conn.Close()
		defer cancel()
		err := c.run(stream)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.err, c.asking = err, false
		c.wake()
	}()
	return nil
}

// Disconnect ends the stream and the connection. What the client has it keeps.
func (c *Client) Disconnect() {
	if c.ended == nil {
		return
	}
	c.stop()
	<-c.ended
}

// Forget makes it a client that has never been connected. It must not be connected now.
func (c *Client) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state, c.names = newState(), map[string][]string{}
}

// State gives what the client has now.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.copy()
}

// Get gives a resource, or nil.
func (c *Client) Get(typeURL, name string) *Content {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Get(typeURL, name)
}

// Received counts responses and their bytes, of one type or, with "", of all.
func (c *Client) Received(typeURL string) (responses, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for u, t := range c.state.Types {
		if typeURL == "" || typeURL == u {
			responses, bytes = responses+t.Responses, bytes+t.Bytes
		}
	}
	return responses, bytes
}

// Wait is something that a client is to have.
type Wait struct {
	condition func(State) bool
	done      chan struct{}
	err       error
	at        time.Time
}

// Expect begins to look for the first state that meets a condition, beginning with the present one. The condition must
// not keep the state, nor change it.
func (c *Client) Expect(condition func(State) bool) *Wait {
	w := &Wait{condition: condition, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waits = append(c.waits, w)
	c.wake()
	return w
}

// At waits until the condition is met, and says when it was. It is an error if the context ends before, or the stream.
func (w *Wait) At(ctx context.Context) (time.Time, error) {
	select {
	case <-w.done:
		return w.at, w.err
	case <-ctx.Done():
		return time.Time{}, context.Cause(ctx)
	}
}

// wake looks at what is waited for. It is called with the lock held.
func (c *Client) wake() {
	var open []*Wait
	for _, w := range c.waits {
		switch {
		case w.condition(c.state):
			w.at = time.Now()
			close(w.done)
		case !c.asking:
			w.err = fmt.Errorf("%s: the stream is over: %w", c.node.GetId(), c.err)
			close(w.done)
		default:
			open = append(open, w)
		}
	}
	c.waits = open
}
