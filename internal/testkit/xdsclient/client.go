// Package xdsclient is a client of the aggregated discovery service for tests. It speaks the state-of-the-world or the
// delta protocol over a real connection, accepts what it gets unless it is told otherwise, and remembers everything.
package xdsclient

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/meshd/meshd/internal/xds/resource"
)

// Options say who the client is and how it behaves.
type Options struct {
	// NodeID and Metadata introduce the client.
	NodeID   string
	Metadata map[string]any
	// Delta makes it speak the delta protocol.
	Delta bool
	// Have is what it has from an earlier stream: versions by type URL and name, as State.Versions gives them. Delta only.
	Have map[string]map[string]string
	// Judge looks at each response; an error refuses it with that text. Nil accepts everything.
	Judge func(*discoveryv3.DiscoveryResponse) error
	// Manual leaves all answers to the test, which sends them with Send.
	Manual bool
	// Dial are more options of the connection, for example credentials; the default is plaintext.
	Dial []grpc.DialOption
}

// Client is one stream. It is safe for concurrent use.
type Client struct {
	conn   *grpc.ClientConn
	stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	delta  discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient // instead, in delta
	cancel context.CancelFunc
	opts   Options
	node   *corev3.Node
	done   chan struct{}

	sendMu sync.Mutex // a stream allows one sender at a time

	mu        sync.Mutex
	changed   chan struct{} // closed at the next change
	introduce bool          // the next request is the first and carries the node
	names     map[string][]string
	state     State
}

// State is what a client has.
type State struct {
	// Resources by type URL and name, as the protocol says they add up.
	Resources map[string]map[string]proto.Message
	// Versions of the same resources. Delta only: the state of the world has none of single resources.
	Versions map[string]map[string]string
	// Responses are all that came, in order; in delta without names, versions, and what was removed.
	Responses []*discoveryv3.DiscoveryResponse
	// Deltas are the same responses as they came in delta.
	Deltas []*discoveryv3.DeltaDiscoveryResponse
	// Err is why the stream ended; nil while it goes on.
	Err error
	// Ended says that the stream is over.
	Ended bool
}

// Of lists the responses of one type.
func (s State) Of(typeURL string) []*discoveryv3.DiscoveryResponse {
	var out []*discoveryv3.DiscoveryResponse
	for _, r := range s.Responses {
		if r.GetTypeUrl() == typeURL {
			out = append(out, r)
		}
	}
	return out
}

// DeltasOf lists the responses of one type, as they came in delta.
func (s State) DeltasOf(typeURL string) []*discoveryv3.DeltaDiscoveryResponse {
	var out []*discoveryv3.DeltaDiscoveryResponse
	for _, r := range s.Deltas {
		if r.GetTypeUrl() == typeURL {
			out = append(out, r)
		}
	}
	return out
}

// Names lists the resources of one type, sorted.
func (s State) Names(typeURL string) []string {
	return slices.Sorted(maps.Keys(s.Resources[typeURL]))
}

// Connect opens a stream to a server at a TCP address. The stream lives until Close.
func Connect(ctx context.Context, addr string, opts Options) (*Client, error) {
	meta, err := structpb.NewStruct(opts.Metadata)
	if err != nil {
		return nil, fmt.Errorf("metadata of node %.80q: %w", opts.NodeID, err)
	}
	dial := opts.Dial
	if dial == nil {
		dial = []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	}
	dial = append(dial, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
	conn, err := grpc.NewClient("passthrough:///"+addr, dial...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	c := &Client{
		conn: conn, cancel: cancel, opts: opts,
		node:      &corev3.Node{Id: opts.NodeID, Metadata: meta},
		done:      make(chan struct{}),
		changed:   make(chan struct{}),
		introduce: true,
		names:     map[string][]string{},
		state:     State{Resources: map[string]map[string]proto.Message{}, Versions: map[string]map[string]string{}},
	}
	if ads := discoveryv3.NewAggregatedDiscoveryServiceClient(conn); opts.Delta {
		c.delta, err = ads.DeltaAggregatedResources(ctx)
	} else {
		c.stream, err = ads.StreamAggregatedResources(ctx)
	}
	if err != nil {
		cancel()
		_ = conn.Close()
		return nil, fmt.Errorf("open a stream to %s: %w", addr, err)
	}
	go c.receive()
	return c, nil
}

// Close ends the stream and the connection.
func (c *Client) Close() {
	c.cancel()
	<-c.done
	_ = c.conn.Close()
}

// Subscribe asks for names of a type, or for everything if there are none. Called again it replaces the names.
// In delta that is the difference, or the same names once more.
func (c *Client) Subscribe(typeURL string, names ...string) error {
	if c.opts.Delta {
		return c.subscribeDelta(typeURL, names)
	}
	c.mu.Lock()
	c.names[typeURL] = names
	r := &discoveryv3.DiscoveryRequest{TypeUrl: typeURL, ResourceNames: names}
	if last := c.last(typeURL); last != nil {
		r.VersionInfo, r.ResponseNonce = last.GetVersionInfo(), last.GetNonce()
	}
	c.mu.Unlock()
	return c.Send(r)
}

// Ack accepts a response, with the names that are subscribed now.
func (c *Client) Ack(resp *discoveryv3.DiscoveryResponse) error { return c.answer(resp, nil) }

// Nack refuses a response.
func (c *Client) Nack(resp *discoveryv3.DiscoveryResponse, reason string) error {
	return c.answer(resp, &rpcstatus.Status{Code: int32(codes.InvalidArgument), Message: reason})
}

func (c *Client) answer(resp *discoveryv3.DiscoveryResponse, refusal *rpcstatus.Status) error {
	if c.opts.Delta {
		return c.SendDelta(&discoveryv3.DeltaDiscoveryRequest{
			TypeUrl: resp.GetTypeUrl(), ResponseNonce: resp.GetNonce(), ErrorDetail: refusal,
		})
	}
	c.mu.Lock()
	r := &discoveryv3.DiscoveryRequest{
		TypeUrl: resp.GetTypeUrl(), ResponseNonce: resp.GetNonce(),
		ResourceNames: c.names[resp.GetTypeUrl()], ErrorDetail: refusal,
	}
	if refusal == nil {
		r.VersionInfo = resp.GetVersionInfo()
	}
	c.mu.Unlock()
	return c.Send(r)
}

// Send sends a request as it is; the first one of the stream gets the node if it has none.
func (c *Client) Send(r *discoveryv3.DiscoveryRequest) error {
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	if c.introduce && r.Node == nil {
		r.Node = c.node
	}
	c.introduce = false
	if err := c.stream.Send(r); err != nil {
		return fmt.Errorf("send a request for %s: %w", r.GetTypeUrl(), err)
	}
	return nil
}

// Wait returns the state as soon as it meets the condition. It is an error, which says what the client has, if the
// context ends before, or the stream does.
func (c *Client) Wait(ctx context.Context, what string, condition func(State) bool) (State, error) {
	for {
		c.mu.Lock()
		state, changed := c.copyState(), c.changed
		c.mu.Unlock()
		switch {
		case condition(state):
			return state, nil
		case state.Ended:
			return state, fmt.Errorf("waiting for %s: the stream ended: %w; %s", what, state.Err, state)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return state, fmt.Errorf("waiting for %s: %w; %s", what, context.Cause(ctx), state)
		}
	}
}

// State gives what the client has now.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.copyState()
}

// String lists the responses, for messages.
func (s State) String() string {
	out := fmt.Sprintf("%d responses:", len(s.Responses))
	for _, r := range s.Responses {
		out += fmt.Sprintf(" %s(%d)", resource.TypeOf(r.GetTypeUrl()).Short, len(r.GetResources()))
	}
	return out
}

func (c *Client) copyState() State {
	s := c.state
	s.Responses = slices.Clone(s.Responses)
	s.Resources = make(map[string]map[string]proto.Message, len(c.state.Resources))
	for t, byName := range c.state.Resources {
		s.Resources[t] = maps.Clone(byName)
	}
	s.Deltas = slices.Clone(s.Deltas)
	s.Versions = make(map[string]map[string]string, len(c.state.Versions))
	for t, byName := range c.state.Versions {
		s.Versions[t] = maps.Clone(byName)
	}
	return s
}

func (c *Client) last(typeURL string) *discoveryv3.DiscoveryResponse {
	for _, r := range slices.Backward(c.state.Responses) {
		if r.GetTypeUrl() == typeURL {
			return r
		}
	}
	return nil
}

func (c *Client) receive() {
	defer close(c.done)
	for {
		resp, delta, err := c.next()
		if err != nil {
			c.note(func() { c.state.Ended, c.state.Err = true, err })
			return
		}
		verdict := error(nil)
		if c.opts.Judge != nil {
			verdict = c.opts.Judge(resp)
		}
		c.note(func() {
			c.state.Responses = append(c.state.Responses, resp)
			if delta != nil {
				c.state.Deltas = append(c.state.Deltas, delta)
			}
			switch {
			case verdict != nil:
			case delta != nil:
				c.applyDelta(delta)
			default:
				c.apply(resp)
			}
		})
		if c.opts.Manual {
			continue
		}
		// If it cannot be sent the stream is over, and Recv says why.
		if verdict != nil {
			_ = c.Nack(resp, verdict.Error())
		} else {
			_ = c.Ack(resp)
		}
	}
}

func (c *Client) note(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
}

// apply adds a response up: it replaces everything for types whose responses state everything.
func (c *Client) apply(resp *discoveryv3.DiscoveryResponse) {
	t := resp.GetTypeUrl()
	if c.state.Resources[t] == nil || resource.TypeOf(t).FullState {
		c.state.Resources[t] = map[string]proto.Message{}
	}
	for _, a := range resp.GetResources() {
		msg, err := a.UnmarshalNew()
		if err != nil {
			// A type that is not linked in: the test sees it under the name of its type URL.
			c.state.Resources[t][a.GetTypeUrl()] = a
			continue
		}
		c.state.Resources[t][NameOf(msg)] = msg
	}
}

// NameOf gives the name of a resource: its field "name" or "cluster_name".
func NameOf(msg proto.Message) string {
	m := msg.ProtoReflect()
	for _, field := range []protoreflect.Name{"cluster_name", "name"} {
		if f := m.Descriptor().Fields().ByName(field); f != nil && f.Kind() == protoreflect.StringKind {
			return m.Get(f).String()
		}
	}
	return ""
}
