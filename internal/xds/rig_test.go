package xds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/xds/admission"
	"github.com/meshd/meshd/internal/xds/push"
	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a server on a real port, over a fake world.
type rig struct {
	t         testing.TB
	delta     bool // clients speak it
	world     *world
	server    *Server
	admission *admission.Queue
	grpc      *grpc.Server
	store     *resource.Store
	registry  *prometheus.Registry
	pushes    *push.Journal
	logs      *observer.ObservedLogs
	addr      string
	ctx       context.Context // ends the test rather than let it hang

	stores   *config.Stores
	compiler *snapshot.Compiler

	gate chan struct{} // closed when live is set
	mu   sync.Mutex
	live *snapshot.Live
	data map[string]map[string]string // published last
}

const patience = time.Minute // on a machine that is busy

// protocol is what the clients of a test speak.
type protocol subscription.Encoding

// protocols runs a test in both.
func protocols(t *testing.T, test func(*testing.T, protocol)) {
	for _, encoding := range []subscription.Encoding{subscription.StateOfTheWorld, subscription.Delta} {
		t.Run(encoding.String(), func(t *testing.T) { test(t, protocol(encoding)) })
	}
}

func (p protocol) rig(t testing.TB) *rig {
	return p.rigWith(t, admission.Options{})
}

func newRig(t testing.TB) *rig { return newRigWith(t, admission.Options{}) }

func newRigWith(t testing.TB, limits admission.Options, options ...grpc.ServerOption) *rig {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	r := &rig{
		t: t, world: &world{data: map[*snapshot.Mesh]map[string]map[string]string{}}, store: resource.NewStore(valid),
		registry: prometheus.NewRegistry(), logs: logs, gate: make(chan struct{}), data: map[string]map[string]string{},
		stores: config.NewStores(func(model.Change) {}),
	}
	published := 0
	r.compiler = snapshot.NewCompiler(r.stores, func() *meshv1alpha1.MeshConfig {
		published++ // each snapshot has a mesh config of its own
		m := mesh.Default()
		m.IngressClass = fmt.Sprint(published)
		return m
	}, snapshot.Options{})
	table, err := NewTable(generators(r.world))
	if err != nil {
		t.Fatal(err)
	}
	if r.admission, err = admission.New(limits, zap.New(core), r.registry); err != nil {
		t.Fatal(err)
	}
	if r.pushes, err = push.New(r.registry); err != nil {
		t.Fatal(err)
	}
	r.server, err = New(Deps{
		Admission: r.admission, Table: table, Store: r.store, Live: r.peek, Gate: r.wait, Connections: NewConnections(), Pushes: r.pushes, Log: zap.New(core), Registerer: r.registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = listener.Addr().String()
	r.grpc = grpc.NewServer(append(options, grpc.ForceServerCodecV2(Codec()))...)
	r.server.Register(r.grpc)
	healthpb.RegisterHealthServer(r.grpc, health.NewServer())
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r.ctx = ctx
	run, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() {
		if err := r.server.Run(run); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	work.Go(func() {
		if err := r.grpc.Serve(admission.NewPort(listener)); err != nil && !errors.Is(err, grpc.ErrServerStopped) { // before it began
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		ctx, end := context.WithTimeout(context.Background(), patience)
		defer end()
		if err := r.server.Drain(ctx, 0); err != nil {
			t.Errorf("Drain: %v", err)
		}
		r.grpc.Stop()
		work.Wait()
		cancel()
	})
	return r
}

func (r *rig) peek() (*snapshot.Live, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live, r.live != nil
}

func (r *rig) wait(ctx context.Context) (*snapshot.Live, error) {
	select {
	case <-r.gate:
		live, _ := r.peek()
		return live, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// set changes resources: "cds a=1 b=2" replaces all clusters. publish makes a snapshot of it.
func (r *rig) set(line string) *rig {
	words := strings.Fields(line)
	texts := map[string]string{}
	for _, w := range words[1:] {
		name, text, _ := strings.Cut(w, "=")
		texts[name] = text
	}
	return r.setAll(words[0], texts)
}

func (r *rig) setAll(short string, texts map[string]string) *rig {
	r.data = maps.Clone(r.data)
	r.data[typeURLs[short]] = texts
	return r
}

var typeURLs = map[string]string{
	"cds": resource.ClusterType, "eds": resource.EndpointType, "lds": resource.ListenerType, "rds": resource.RouteType,
	"sds": resource.SecretType, "ecds": resource.ExtensionType, "nds": resource.NameTableType, "pcds": resource.ProxyConfigType,
}

// publish makes what was set the newest snapshot, and opens the gate with the first.
func (r *rig) publish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, err := r.compiler.Compile(r.ctx, r.stores.MarkSynced(), map[model.Change]struct{}{{Kind: model.KindMeshConfig}: {}})
	if err != nil {
		r.t.Fatal(err)
	}
	r.world.mu.Lock()
	r.world.data[s.Mesh()] = r.data
	r.world.mu.Unlock()
	if r.live == nil {
		r.live = snapshot.NewLive(s)
		close(r.gate)
		return
	}
	r.live.Publish(s)
}

// eventually waits for something that has no event to wait for.
func (r *rig) eventually(what string, condition func() bool) {
	r.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			r.t.Fatalf("still not: %s", what)
		}
	}
}

// metric gives the value of a counter or gauge, with "name" or "name{label value}"; 0 if it is not there.
func (r *rig) metric(name string) float64 {
	r.t.Helper()
	base, label, _ := strings.Cut(strings.TrimSuffix(name, "}"), "{")
	families, err := r.registry.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != base {
			continue
		}
		for _, m := range f.GetMetric() {
			if label == "" || m.GetLabel()[0].GetValue() == label {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}
