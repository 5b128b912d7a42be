// Package xds serves configuration to proxies over gRPC streams.
//
// A snapshot is projected to classes, one per type and kind of proxy, whose resources are made once and shared as
// bytes by all streams. A stream holds a state machine (package subscription) and references, nothing else, so a slow
// client costs one pending version and holds back nobody.
package xds

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/xds/admission"
	"github.com/meshd/meshd/internal/xds/push"
	"github.com/meshd/meshd/internal/xds/resource"
)

// Deps is what a Server is made of. All fields are required but Answerer and Workers.
type Deps struct {
	Table *Table
	// Store is where resources are made and shared.
	Store *resource.Store
	// Live gives the snapshots as soon as the first one is complete, and false before. Until then streams are refused.
	Live func() (*snapshot.Live, bool)
	// Gate waits for the same.
	Gate func(context.Context) (*snapshot.Live, error)
	// Admission decides when a stream is served.
	Admission *admission.Queue
	// Connections is the table of streams that debug pages read.
	Connections *Connections
	// Pushes is the journal of what led to the snapshots.
	Pushes *push.Journal
	// Answerer answers what tools ask; without it such questions are of a type that is not served.
	Answerer   Answerer
	Log        *zap.Logger
	Registerer prometheus.Registerer
	// Workers bounds how many classes are generated at the same time; 0 means one per core.
	Workers int
}

// Server is the aggregated discovery service.
type Server struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer

	deps       Deps
	generators map[kind]*generator
	workers    *workers
	metrics    *metrics
	warned     *warned

	mu         sync.Mutex
	generation *generation
	streams    map[*stream]struct{}
	draining   bool
}

// New makes a server that serves nothing before it is registered on a gRPC server made with Codec. It is an error if
// a dependency is missing or a metric is registered already.
func New(d Deps) (*Server, error) {
	switch {
	case d.Table == nil:
		return nil, fmt.Errorf("xds server: no table of generators")
	case d.Store == nil:
		return nil, fmt.Errorf("xds server: no store of resources")
	case d.Live == nil || d.Gate == nil:
		return nil, fmt.Errorf("xds server: no gate, so it could not tell an empty mesh from one that is not compiled yet")
	case d.Admission == nil:
		return nil, fmt.Errorf("xds server: no admission, so it would serve thousands of streams at once")
	case d.Connections == nil || d.Pushes == nil || d.Log == nil || d.Registerer == nil:
		return nil, fmt.Errorf("xds server: connections, pushes, log and registerer are all required")
	}
	if d.Workers <= 0 {
		d.Workers = runtime.GOMAXPROCS(0)
	}
	m, err := newMetrics(d.Registerer, d.Store.Stats)
	if err != nil {
		return nil, err
	}
	s := &Server{
		deps: d, generators: map[kind]*generator{}, workers: newWorkers(d.Workers), metrics: m,
		warned: newWarned(), streams: map[*stream]struct{}{},
	}
	for k, g := range d.Table.generators {
		s.generators[k] = &generator{
			Generator: g, store: d.Store, pool: d.Store.NewPool(k.flavor, k.typeURL, s.failed),
			typ: resource.TypeOf(k.typeURL), report: s.failed,
		}
	}
	if err := d.Registerer.Register(newCollector(s)); err != nil {
		return nil, fmt.Errorf("xds server: register its metrics: %w", err)
	}
	return s, nil
}

// Register puts the service on a gRPC server, which must be made with Codec.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(r, s)
}

// Run waits for the first snapshot and then tells all streams of each new one, until the context ends.
func (s *Server) Run(ctx context.Context) error {
	live, err := s.deps.Gate(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("xds server: wait for the first snapshot: %w", err)
	}
	for {
		_, changed := live.Watch()
		s.wake()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// Drain refuses new streams and ends those that are open as unavailable, so that their clients go to another replica:
// one after another, evenly over a time, because the other replica has to take them all in. Those that were told
// nothing yet go first and at once: they lose nothing but their place in this queue. It returns when all have ended or
// the context has, whose error it then gives; a context that ends cuts the time short.
func (s *Server) Drain(ctx context.Context, over time.Duration) error {
	s.mu.Lock()
	s.draining = true
	all := slices.Collect(maps.Keys(s.streams))
	s.mu.Unlock()
	var open []*stream
	for _, st := range all {
		if st.place.Begun() {
			open = append(open, st)
		} else {
			st.end()
		}
	}
	for i, st := range open {
		if i > 0 {
			select {
			case <-time.After(over / time.Duration(len(open))):
			case <-st.ended: // it has gone by itself
			case <-ctx.Done():
			}
		}
		st.end()
	}
	for i, st := range all {
		select {
		case <-st.ended:
		case <-ctx.Done():
			return fmt.Errorf("xds server: %d of %d streams have not ended: %w", len(all)-i, len(all), context.Cause(ctx))
		}
	}
	return nil
}

// StreamAggregatedResources serves one client in the state-of-the-world protocol until it goes or must go.
func (s *Server) StreamAggregatedResources(g discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return s.serve(sotw{g, newIncoming()})
}

// DeltaAggregatedResources serves one client in the delta protocol until it goes or must go.
func (s *Server) DeltaAggregatedResources(g discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer) error {
	return s.serve(delta{g})
}

func (s *Server) serve(w wire) error {
	st, err := s.admit(w)
	if err != nil {
		return err
	}
	return st.serve()
}

// admit takes a stream in, or says why not.
func (s *Server) admit(w wire) (*stream, error) {
	live, ok := s.deps.Live()
	if !ok {
		return nil, status.Error(codes.Unavailable, "not ready: configuration is not compiled yet")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining {
		return nil, status.Error(codes.Unavailable, drainingText)
	}
	place, err := s.deps.Admission.Enter(admission.Source(w.Context()))
	if err != nil {
		return nil, err
	}
	st := newStream(s, live, w, place)
	s.streams[st] = struct{}{}
	return st, nil
}

const (
	drainingText = "shutting down: connect to another replica"
	expiredText  = "the stream has reached its maximum age: connect again"
)

func (s *Server) forget(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, st)
}

// wake tells all streams that there is a new snapshot.
func (s *Server) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for st := range s.streams {
		st.lag.wake(now)
		select {
		case st.woken <- struct{}{}:
		default: // it was told already and has not looked yet
		}
	}
}

// current gives the classes of the newest snapshot.
func (s *Server) current(live *snapshot.Live) *generation {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Read under the lock, so that nobody brings an older snapshot back.
	if snap := live.Current(); s.generation == nil || s.generation.snapshot != snap {
		s.generation = newGeneration(snap, s.generation, s.workers)
		s.generation.push = s.deps.Pushes.Of(snap.Version())
	}
	return s.generation
}

// failed reports a resource that could not be made.
func (s *Server) failed(f resource.Failure) {
	typ := resource.TypeOf(f.TypeURL)
	s.metrics.failures.WithLabelValues(typ.Short).Inc()
	s.metrics.internal.Inc()
	s.deps.Log.Error("a resource cannot be made and stays as it was",
		zap.String("type", typ.Short), zap.String("resource", f.Name), zap.String("flavor", string(f.Flavor)), zap.Error(f.Err))
}

// warned remembers who was warned of, so that a client that comes back for ever does not fill the log.
type warned struct {
	mu    sync.Mutex
	nodes map[string]struct{}
}

// maxWarned bounds the memory of it. Beyond, nodes may be warned of again.
const maxWarned = 10_000

func newWarned() *warned { return &warned{nodes: map[string]struct{}{}} }

// first reports whether the node was not warned of before.
func (w *warned) first(node string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.nodes[node]; ok {
		return false
	}
	if len(w.nodes) >= maxWarned {
		clear(w.nodes)
	}
	w.nodes[node] = struct{}{}
	return true
}
