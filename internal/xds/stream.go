package xds

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/xds/admission"
	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// maxQueued bounds the requests of one stream that wait to be read. A client that sends faster is slowed down by flow
// control. It must exceed the types of a client: while a response to one of them is being sent, the client may ask for
// each of the others before it reads on.
const maxQueued = 16

// stream is one client. One goroutine receives, one decides and sends; the goroutine that gRPC calls the handler on
// only waits, so that a stream can be ended while a client does not read.
type stream struct {
	server *Server
	live   *snapshot.Live
	wire   wire
	place  *admission.Place
	log    *zap.Logger

	woken chan struct{} // holds one: there is a new snapshot
	stop  chan struct{} // closed to end the stream
	end   func()        // closes stop
	ended chan struct{} // closed when nothing of the stream is left
	lag   lag

	// Only the deciding goroutine uses what follows.
	id         uint64
	proxy      *model.Proxy
	version    string // as metrics count it
	machine    machine
	nonces     string // what all of this stream's begin with
	nonce      func() string
	asked      map[string]asked // by type URL
	generation *generation
	classes    map[string]*class // of the generation, by type URL; nil for one that cannot be made
}

// request is one request and the node that it comes from, if it says so.
type request struct {
	node *corev3.Node
	in   subscription.Request
}

func newStream(s *Server, live *snapshot.Live, w wire, place *admission.Place) *stream {
	stop := make(chan struct{})
	return &stream{
		server: s, live: live, wire: w, place: place, log: s.deps.Log,
		woken: make(chan struct{}, 1), stop: stop, end: sync.OnceFunc(func() { close(stop) }), ended: make(chan struct{}),
	}
}

// serve runs the stream. Its error is what the client is told.
func (st *stream) serve() error {
	requests := make(chan request, maxQueued)
	var broken error // read after requests is closed
	go func() {
		defer close(requests)
		broken = st.receive(requests)
	}()
	result := make(chan error, 1)
	go func() {
		err := st.guarded(func() error { return st.loop(requests, &broken) })
		if told := st.told(); told != nil {
			err = told // what it came to is only that the stream was ended
		}
		if st.proxy != nil {
			st.disconnected(err)
		}
		result <- err
		// Receiving ends when the handler has returned.
		for range requests {
		}
		st.place.Leave()
		st.server.forget(st)
		close(st.ended)
	}()
	select {
	case err := <-result:
		return err
	case <-st.stop:
	case <-st.place.Expired():
	}
	return st.told()
}

// told gives what the client is told if it is the server that ends the stream, and nil otherwise.
func (st *stream) told() error {
	select {
	case <-st.stop:
		return status.Error(codes.Unavailable, drainingText)
	case <-st.place.Expired():
		return status.Error(codes.Unavailable, expiredText)
	default:
		return nil
	}
}

// guarded makes a panic the end of this stream, and of no other.
func (st *stream) guarded(serve func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			st.server.metrics.internal.Inc()
			st.log.Error("a stream is ended by a panic", zap.Any("panic", v), zap.ByteString("stack", debug.Stack()))
			err = status.Error(codes.Internal, "meshd failed to serve this stream: its log says why")
		}
	}()
	return serve()
}

func (st *stream) receive(requests chan<- request) error {
	for {
		node, in, err := st.wire.receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case requests <- request{node, in}:
		case <-st.wire.Context().Done():
			return context.Cause(st.wire.Context())
		}
	}
}

// loop serves requests before anything else, so that a mesh that changes all the time does not keep a new client
// waiting, then sends what is due, then waits. It ends with the requests, which end with the stream.
func (st *stream) loop(requests <-chan request, broken *error) error {
	for {
		select {
		case r, ok := <-requests:
			if !ok {
				return *broken
			}
			if err := st.request(r); err != nil {
				return err
			}
			continue
		default:
		}
		sent, err := st.push()
		if err != nil {
			return err
		}
		if sent {
			continue
		}
		if st.proxy != nil && st.machine.Answered() {
			st.place.Yield()
		}
		select {
		case r, ok := <-requests:
			if !ok {
				return *broken
			}
			if err := st.request(r); err != nil {
				return err
			}
		case <-st.woken:
		}
	}
}

// request takes one request in, as soon as it is the stream's turn.
func (st *stream) request(r request) error {
	if err := st.place.Wait(st.wire.Context()); err != nil {
		return err
	}
	if r.in.TypeURL == resource.HealthType {
		st.server.metrics.unknown.Inc() // an agent's report: it may be the first of the stream, and wants no answer
		return nil
	}
	switch id := r.node.GetId(); {
	case st.proxy == nil:
		p, err := proxyFromNode(r.node)
		if err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		st.connected(p)
	case id != "" && id != st.proxy.ID:
		return status.Error(codes.InvalidArgument, fmt.Sprintf(
			"node id %.80q on a stream of node %q: a stream serves one node, open another one", id, st.proxy.ID))
	}
	in, typeURL := r.in, r.in.TypeURL
	if a := st.server.deps.Answerer; a != nil && a.Answers(typeURL) {
		return st.question(in)
	}
	if _, served := st.server.generators[kind{st.proxy.Flavor, typeURL}]; !served {
		st.server.metrics.unknown.Inc()
		if st.server.warned.first(st.proxy.ID) {
			st.log.Warn("a client asks for a type that is not served, and gets no answer; said once per node", zap.String("typeURL", fmt.Sprintf("%.200s", typeURL)))
		}
		return nil
	}
	outcome := st.machine.Request(in)
	typ := st.server.generators[kind{st.proxy.Flavor, typeURL}].typ
	st.answered(typ, outcome)
	if outcome == subscription.Refused {
		st.log.Warn("a client refused a response; it is not sent again until it changes",
			zap.String("type", typ.Short), zap.String("nonce", in.Nonce), zap.String("reason", *in.Refused))
	}
	return nil
}

// push sends one response, if one is due.
func (st *stream) push() (sent bool, err error) {
	if st.proxy == nil {
		return false, nil
	}
	begin, woken := time.Now(), st.lag.look()
	if g := st.server.current(st.live); g != st.generation {
		st.follow(st.generation, g, woken, begin)
		st.generation, st.classes = g, map[string]*class{}
	}
	r, ok := st.machine.Next(st.source)
	st.publish()
	if !ok {
		st.looked()
		return false, nil
	}
	st.nothing(r) // before the client knows it
	made := time.Now()
	st.place.Sending()
	err = st.wire.send(r, st.classes[r.Type.URL].frames())
	st.sent(r, begin, made, err)
	return err == nil, err
}

// source gives the class of this client for a type, and the one it had if that cannot be made.
func (st *stream) source(typeURL string, last subscription.Source) subscription.Source {
	c, ok := st.classes[typeURL]
	if !ok {
		before, _ := last.(*class)
		gen := st.server.generators[kind{st.proxy.Flavor, typeURL}]
		var err error
		if c, err = st.generation.class(gen, st.proxy, before); err != nil {
			gen.fail("", err)
			c = before
		}
		st.classes[typeURL] = c
	}
	if c == nil {
		return nil
	}
	return c
}

func (st *stream) connected(p *model.Proxy) {
	addr := ""
	if from, ok := peer.FromContext(st.wire.Context()); ok {
		addr = from.Addr.String()
	}
	st.proxy = p
	st.nonces = rand.Text()[:8]
	st.nonce = subscription.Nonces(st.nonces)
	st.machine.m = subscription.New(st.wire.encoding(), st.wildcard, st.nonce)
	st.id = st.server.deps.Connections.add(Connection{
		Proxy: p, Peer: addr, Protocol: st.wire.encoding(), Since: time.Now(), interests: st.machine.Interests,
	})
	st.log = st.log.With(zap.String("node", p.ID), zap.Uint64("connection", st.id))
	st.version = st.server.metrics.version(p.Metadata.IstioVersion)
	st.server.metrics.connected.WithLabelValues(st.version).Inc()
	st.log.Info("a client connected", zap.String("peer", addr), zap.String("flavor", string(p.Flavor)), zap.Stringer("protocol", st.wire.encoding()))
}

func (st *stream) disconnected(err error) {
	st.server.deps.Connections.remove(st.id)
	st.server.metrics.connected.WithLabelValues(st.version).Dec()
	st.log.Info("a client disconnected", zap.NamedError("reason", err))
}

// publish shows the state of the stream to debug pages.
func (st *stream) publish() {
	held := map[string]withheld{}
	for url, c := range st.classes {
		if c != nil {
			held[url] = c.state().withheld
		}
	}
	st.server.deps.Connections.update(st.id, st.machine.Status(), held, time.Now())
}

func (st *stream) wildcard(typeURL string) bool {
	g := st.server.generators[kind{st.proxy.Flavor, typeURL}]
	return g != nil && g.Wildcard()
}
