package xds

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/xds/admission"
	"github.com/meshd/meshd/internal/xds/push"
	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what fake generators translate: for each snapshot, by its mesh config, the resources by type URL and name, as
// one text each. A text that begins with "!" fails to build, and one that begins with "panic" panics.
type world struct {
	mu   sync.Mutex
	data map[*snapshot.Mesh]map[string]map[string]string
	// project is called when a generator looks at a proxy, unless nil; it is set before there are streams.
	project func(*model.Proxy)
}

func (w *world) of(s *snapshot.Snapshot, typeURL string) map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.data[s.Mesh()][typeURL]
}

// fakeGenerator has the workload name as its class. A resource whose name contains "own" differs per class.
type fakeGenerator struct {
	world   *world
	flavor  model.Flavor
	typeURL string
}

func (g fakeGenerator) TypeURL() string      { return g.typeURL }
func (g fakeGenerator) Flavor() model.Flavor { return g.flavor }
func (g fakeGenerator) Wildcard() bool {
	typ := resource.TypeOf(g.typeURL)
	return typ.FullState || typ.Agent
}

func (g fakeGenerator) Class(s *snapshot.Snapshot, p *model.Proxy) model.ProxyClass {
	if g.world.project != nil {
		g.world.project(p)
	}
	if g.world.of(s, g.typeURL)["panic in class"] != "" {
		panic("class")
	}
	return p.Metadata.WorkloadName
}

func (g fakeGenerator) List(c model.ProxyClass) translate.Listing {
	return translate.Listing{Rest: func(s *snapshot.Snapshot) []translate.Recipe {
		texts := g.world.of(s, g.typeURL)
		if texts["panic in all"] != "" {
			panic("all")
		}
		var out []translate.Recipe
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			out = append(out, g.recipe(name, texts[name], c))
		}
		return out
	}}
}

func (g fakeGenerator) Named(s *snapshot.Snapshot, c model.ProxyClass, name string) (translate.Recipe, bool) {
	text, ok := g.world.of(s, g.typeURL)[name]
	if text == "panic in named" {
		panic("named")
	}
	return g.recipe(name, text, c), ok
}

func (g fakeGenerator) recipe(name, text string, c model.ProxyClass) translate.Recipe {
	key := struct{ text, class string }{text: text}
	if strings.Contains(name, "own") {
		key.class = c.(string)
		text += " of " + key.class
	}
	return translate.Recipe{Name: name, Key: key, Build: func() (proto.Message, error) {
		if strings.HasPrefix(text, "!") {
			return nil, fmt.Errorf("virtualservice default/%s: %s", name, text[1:])
		}
		if strings.HasPrefix(text, "panic") {
			panic(text)
		}
		switch g.typeURL {
		case resource.ClusterType:
			return &clusterv3.Cluster{Name: name, AltStatName: text}, nil
		case resource.EndpointType:
			return &endpointv3.ClusterLoadAssignment{ClusterName: name, NamedEndpoints: map[string]*endpointv3.Endpoint{text: {}}}, nil
		case resource.ListenerType:
			return &listenerv3.Listener{Name: name, StatPrefix: text}, nil
		case resource.ExtensionType:
			return &corev3.TypedExtensionConfig{Name: name, TypedConfig: &anypb.Any{TypeUrl: text}}, nil
		default:
			return &routev3.RouteConfiguration{Name: name, RequestHeadersToRemove: []string{text}}, nil
		}
	}}
}

// valid refuses resources that were made from a text that begins with "invalid".
func valid(m proto.Message, _ []byte) error {
	if strings.HasPrefix(textOf(m), "invalid") {
		return errors.New("no client takes it")
	}
	return nil
}

// textOf gives back what a fake resource was made from.
func textOf(msg proto.Message) string {
	switch m := msg.(type) {
	case *clusterv3.Cluster:
		return m.GetAltStatName()
	case *endpointv3.ClusterLoadAssignment:
		for text := range m.GetNamedEndpoints() {
			return text
		}
	case *listenerv3.Listener:
		return m.GetStatPrefix()
	case *corev3.TypedExtensionConfig:
		return m.GetTypedConfig().GetTypeUrl()
	case *routev3.RouteConfiguration:
		return m.GetRequestHeadersToRemove()[0]
	}
	return ""
}

func generators(w *world) []translate.Generator {
	var out []translate.Generator
	for _, k := range required() {
		out = append(out, fakeGenerator{w, k.flavor, k.typeURL})
	}
	return out
}

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
		if err := r.grpc.Serve(admission.NewPort(listener)); err != nil {
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
