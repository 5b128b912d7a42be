package xds

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// ended waits for the end of a stream and gives its status.
func (r *rig) ended(c *xdsclient.Client) *status.Status {
	r.t.Helper()
	s := r.waitFor(c, "the end of the stream", func(s xdsclient.State) bool { return s.Ended })
	return status.Convert(s.Err)
}

func ignore(error) {} // of a request on a stream that is being refused; its status says why

// Before the first snapshot a stream is refused and nothing is sent; afterwards the first answer is complete.
func TestCaseA1(t *testing.T) {
	r := newRig(t)
	early := r.connect("a")
	ignore(early.Subscribe(resource.ClusterType))
	if s := r.ended(early); s.Code() != codes.Unavailable || !strings.Contains(s.Message(), "not ready: configuration is not compiled yet") {
		t.Errorf("status %v: want Unavailable and why", s)
	}
	if got := early.State(); len(got.Responses) != 0 {
		t.Errorf("%s before the gate is open", got)
	}
	var line strings.Builder
	line.WriteString("cds")
	for i := range 50 {
		fmt.Fprintf(&line, " s%d=1", i)
	}
	r.set(line.String()).publish()
	late := r.connect("a")
	r.subscribe(late, "cds")
	r.count(late, "cds", 1)
	r.want(late, line.String())
	if n := len(late.State().Responses); n != 1 {
		t.Errorf("%d responses until the client had all clusters, want the first to be complete", n)
	}
}

func TestAllTypes(t *testing.T) {
	r := newRig(t)
	r.set("cds a=1").set("eds a=1").set("lds l=1 own=1").set("rds 80=1").publish()
	c := r.connect("web")
	for _, line := range []string{"cds", "eds a", "lds", "rds 80"} {
		r.subscribe(c, line)
	}
	r.want(c, "cds a=1")
	r.want(c, "eds a=1")
	r.waitFor(c, "listeners", func(s xdsclient.State) bool { return len(s.Resources[resource.ListenerType]) == 2 })
	r.want(c, "rds 80=1")
	if got := textOf(c.State().Resources[resource.ListenerType]["own"]); got != "1 of web" {
		t.Errorf("the class's own listener is %q", got)
	}

	// One snapshot that changes everything goes out in the order make-before-break.
	before := len(c.State().Responses)
	r.eventually("everything is acknowledged", func() bool {
		for _, s := range r.server.deps.Connections.List()[0].Types {
			if s.Acked == "" || s.Unacknowledged {
				return false
			}
		}
		return true
	})
	r.set("cds a=2 b=1").set("eds a=2").set("lds l=2").set("rds 80=2").publish()
	r.want(c, "rds 80=2")
	var order []string
	for _, resp := range c.State().Responses[before:] {
		order = append(order, resource.TypeOf(resp.GetTypeUrl()).Short)
	}
	if got := fmt.Sprint(order); got != "[cds eds lds rds]" {
		t.Errorf("pushed in the order %s", got)
	}

	// A type that does not change is not sent again.
	r.set("lds l=3").publish()
	s := r.want(c, "lds l=3")
	if n := len(s.Responses); n != before+5 {
		t.Errorf("one listener changed, and %d responses came: %s", n-before-4, s)
	}
}

// After a parent update, a request that looks like an acknowledgement is answered in full.
func TestCaseB1(t *testing.T) {
	r := newRig(t)
	r.set("cds a=1 b=1").set("eds a=1 b=1").publish()
	c := r.connect("web")
	r.subscribe(c, "cds")
	r.want(c, "cds a=1 b=1")
	r.subscribe(c, "eds a b")
	r.want(c, "eds a=1 b=1")
	r.set("cds a=2 b=2").publish()
	r.count(c, "eds", 2) // case B2: unasked
	r.eventually("the endpoints are acknowledged", func() bool { return !r.server.deps.Connections.List()[0].Types[1].Unacknowledged })
	r.subscribe(c, "eds a b") // the same names and nonce
	s := r.count(c, "eds", 3)
	if got := len(s.Of(resource.EndpointType)[2].GetResources()); got != 2 {
		t.Errorf("the renewed request was answered with %d of 2 resources", got)
	}
}

// Endpoints follow a cluster that changed, and only those.
func TestCaseB2(t *testing.T) {
	r := newRig(t)
	r.set("cds a=1 b=1").set("eds a=1 b=1").publish()
	c := r.connect("web")
	r.subscribe(c, "cds")
	r.want(c, "cds a=1 b=1")
	r.subscribe(c, "eds a b")
	r.want(c, "eds a=1 b=1")
	r.set("cds a=2 b=1").publish()
	s := r.count(c, "eds", 2)
	if got := s.Of(resource.EndpointType)[1].GetResources(); len(got) != 1 {
		t.Fatalf("%d assignments, want that of a", len(got))
	}
	if last := s.Responses[len(s.Responses)-2]; last.GetTypeUrl() != resource.ClusterType {
		t.Errorf("before the endpoints came %s, want the clusters", last.GetTypeUrl())
	}
}

// A client that refuses everything gets one response per change, and other types go on.
func TestCaseB10(t *testing.T) {
	for _, acceptFirst := range []bool{false, true} {
		t.Run(fmt.Sprintf("first accepted %v", acceptFirst), func(t *testing.T) {
			r := newRig(t)
			r.set("cds a=0").set("lds l=0").publish()
			var listeners int // used by the receiving goroutine only
			c := r.connect("web", func(o *xdsclient.Options) {
				o.Judge = func(resp *discoveryv3.DiscoveryResponse) error {
					if resp.GetTypeUrl() != resource.ListenerType {
						return nil
					}
					if listeners++; acceptFirst && listeners == 1 {
						return nil
					}
					return errors.New("no such filter")
				}
			})
			r.subscribe(c, "cds")
			r.subscribe(c, "lds")
			r.count(c, "lds", 1)
			const changes = 5
			refused := 0.0
			if !acceptFirst {
				refused = 1
			}
			for i := 1; i <= changes; i++ {
				r.set(fmt.Sprintf("lds l=%d", i)).set(fmt.Sprintf("cds a=%d", i)).publish()
				r.count(c, "lds", i+1)
				refused++
				r.eventually("the refusal is counted", func() bool { return r.metric("pilot_total_xds_rejects{lds}") == refused })
				r.want(c, fmt.Sprintf("cds a=%d", i))
			}
			if got := len(c.State().Of(resource.ListenerType)); got != changes+1 {
				t.Errorf("%d responses for %d changes", got, changes)
			}
			for _, s := range r.server.deps.Connections.List()[0].Types {
				if s.Type.URL == resource.ListenerType && (s.Refused != "no such filter" || (s.Acked != "") != acceptFirst) {
					t.Errorf("shown: %+v", s)
				}
			}
			if n := r.logs.FilterField(reason("no such filter")).Len(); n != int(refused) {
				t.Errorf("%d log lines for %v refusals", n, refused)
			}
		})
	}
}

// A client that never reads holds back nobody and costs one pending version.
func TestNeverReading(t *testing.T) {
	r := newRig(t)
	big := strings.Repeat("x", 1<<17)
	clusters := func(text string) map[string]string {
		out := map[string]string{}
		for i := range 8 {
			out[fmt.Sprint("big", i)] = big
		}
		out["small"] = text
		return out
	}
	r.setAll("cds", clusters("0")).setAll("lds", map[string]string{"big": big}).publish()
	r.deaf("stuck")
	r.eventually("the server is sending", r.stuck)
	c := r.connect("alive")
	r.subscribe(c, "cds")
	for i := 1; i <= 10; i++ {
		r.setAll("cds", clusters(fmt.Sprint(i))).publish()
		r.waitFor(c, "a change", func(s xdsclient.State) bool {
			m := s.Resources[resource.ClusterType]["small"]
			return m != nil && textOf(m) == fmt.Sprint(i)
		})
	}
	if n := r.server.deps.Connections.Len(); n != 2 {
		t.Errorf("%d streams are open, want both: a slow client is kept", n)
	}
	types := r.server.deps.Connections.List()[0].Types
	if len(types) != 2 || !types[0].Unacknowledged || types[0].Acked != "" {
		t.Errorf("the stuck stream shows %+v", types)
	}
	// Drain, in the clean-up, ends the stream that is stuck in a send.
}

// stuck reports whether the oldest stream is in the middle of sending its second type. gRPC queues one message without
// a reader, so the first one does not block.
func (r *rig) stuck() bool {
	l := r.server.deps.Connections.List()
	return len(l) > 0 && len(l[0].Types) == 2 && l[0].Types[0].Unacknowledged && l[0].Types[1].Unacknowledged &&
		r.metric("pilot_xds_pushes{cds}") == 1 && r.metric("pilot_xds_pushes{lds}") == 0
}

// deaf opens a stream that asks for clusters and listeners and never reads.
func (r *rig) deaf(pod string) {
	r.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+r.addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithStaticStreamWindowSize(1<<16), grpc.WithStaticConnWindowSize(1<<16)) // otherwise gRPC reads 16 MB ahead
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(r.ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, typeURL := range []string{resource.ClusterType, resource.ListenerType} {
		if err := stream.Send(&discoveryv3.DiscoveryRequest{Node: &corev3.Node{Id: node(pod)}, TypeUrl: typeURL}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// An unknown type gets no answer and does not close the stream; the node is warned of once.
func TestUnknownType(t *testing.T) {
	r := newRig(t)
	r.set("cds a=1").publish()
	for range 2 {
		c := r.connect("web")
		for range 3 {
			if err := c.Subscribe("type.googleapis.com/nobody.knows"); err != nil {
				t.Fatal(err)
			}
		}
		r.subscribe(c, "cds")
		if s := r.want(c, "cds a=1"); len(s.Responses) != 1 {
			t.Errorf("%s, want clusters only", s)
		}
		c.Close()
	}
	if got := r.metric("meshd_xds_unknown_types_total"); got != 6 {
		t.Errorf("%v requests counted, want 6", got)
	}
	if n := r.logs.FilterMessageSnippet("not served").Len(); n != 1 {
		t.Errorf("%d warnings, want 1 for the node", n)
	}
}

func TestBadNodes(t *testing.T) {
	r := newRig(t)
	r.set("cds a=1").publish()
	for what, id := range map[string]string{
		"empty":        "",
		"one field":    "web",
		"no namespace": "sidecar~10.0.0.1~web~d",
		"no address":   "sidecar~x~web.default~d",
		"unknown type": "toaster~10.0.0.1~web.default~d",
		"1 MB":         node(strings.Repeat("w", 1<<20)),
	} {
		t.Run(what, func(t *testing.T) {
			c := r.connect("x", func(o *xdsclient.Options) { o.NodeID = id })
			ignore(c.Subscribe(resource.ClusterType))
			s := r.ended(c)
			if s.Code() != codes.InvalidArgument || !strings.Contains(s.Message(), "node id") || len(s.Message()) > 500 {
				t.Errorf("status %.500v: want InvalidArgument, short and clear", s)
			}
		})
	}
	t.Run("another node on the stream", func(t *testing.T) {
		c := r.connect("web")
		r.subscribe(c, "cds")
		r.want(c, "cds a=1")
		if err := c.Send(&discoveryv3.DiscoveryRequest{Node: &corev3.Node{Id: node("web")}, TypeUrl: resource.ListenerType}); err != nil {
			t.Fatal(err)
		}
		r.count(c, "lds", 1) // the same node again is fine
		if err := c.Send(&discoveryv3.DiscoveryRequest{Node: &corev3.Node{Id: node("other")}, TypeUrl: resource.ListenerType}); err != nil {
			t.Fatal(err)
		}
		if s := r.ended(c); s.Code() != codes.InvalidArgument || !strings.Contains(s.Message(), "other.default") {
			t.Errorf("status %v: want InvalidArgument", s)
		}
	})
	r.eventually("no stream is left", func() bool { return r.server.deps.Connections.Len() == 0 })
	if got := r.metric("pilot_xds{1.32.0}"); got != 0 {
		t.Errorf("%v clients are counted as connected", got)
	}
}

// A client that comes back to another process with its versions is answered, and equal content has equal versions.
func TestRestart(t *testing.T) {
	versions := map[string]bool{}
	nonces := map[string]bool{}
	last := ""
	for range 2 {
		r := newRig(t)
		r.set("cds a=1 b=1").publish()
		c := r.connect("web", manual)
		if err := c.Send(&discoveryv3.DiscoveryRequest{TypeUrl: resource.ClusterType, VersionInfo: last}); err != nil {
			t.Fatal(err)
		}
		resp := r.want(c, "cds a=1 b=1").Responses[0]
		last = resp.GetVersionInfo()
		versions[last], nonces[resp.GetNonce()] = true, true
	}
	if len(versions) != 1 || len(nonces) != 2 {
		t.Errorf("versions %v, nonces %v: want one version and two nonces", versions, nonces)
	}
}

// Many streams of few classes cause one generation per distinct resource.
func TestSharedAcrossStreams(t *testing.T) {
	r := newRig(t)
	r.set("cds a=1 b=1 own=1").set("eds a=1 b=1").publish()
	const streams, classes = 40, 4
	var all sync.WaitGroup
	for i := range streams {
		c := r.connect(fmt.Sprint("w", i%classes))
		all.Go(func() {
			ignore(c.Subscribe(resource.ClusterType))
			ignore(c.Subscribe(resource.EndpointType, "a", "b"))
			if _, err := c.Wait(r.ctx, "both types", func(s xdsclient.State) bool {
				return len(s.Resources[resource.ClusterType]) == 3 && len(s.Resources[resource.EndpointType]) == 2
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := r.store.Stats().Generated; got != 2+classes+2 {
		t.Errorf("%d resources generated for %d streams, want 2 clusters, one more per class, 2 assignments", got, streams)
	}
	if got := r.metric("pilot_xds{1.32.0}"); got != streams {
		t.Errorf("pilot_xds is %v", got)
	}
	// A change of one is one more.
	r.set("cds a=2 b=1 own=1").publish()
	r.eventually("the change is everywhere", func() bool { return r.metric("pilot_xds_pushes{cds}") == 2*streams })
	if got := r.store.Stats().Generated; got != 2+classes+2+1 {
		t.Errorf("%d resources generated after one changed", got)
	}
	if r.metric("meshd_xds_resources_generated_total") != float64(r.store.Stats().Generated) || r.metric("meshd_xds_resources_reused_total") == 0 {
		t.Error("the metrics do not say what the store counted")
	}
}

// A resource that cannot be made stays as it was, is named, and holds back nothing else: also for clients that connect
// later, and while it stays broken.
func TestLastGoodVersion(t *testing.T) {
	for _, text := range []string{"!bad", "panic"} {
		t.Run(text, func(t *testing.T) {
			r := newRig(t)
			r.set("cds a=1 b=1").set("eds a=1 b=1").publish()
			c := r.connect("web")
			r.subscribe(c, "cds")
			r.want(c, "cds a=1 b=1")
			r.subscribe(c, "eds a b")
			r.want(c, "eds a=1 b=1")
			for i := 2; i < 5; i++ {
				r.set(fmt.Sprintf("cds a=%s%d b=%d new=%s", text, i, i, text)).set(fmt.Sprintf("eds a=%s%d b=%d", text, i, i)).publish()
				r.want(c, fmt.Sprintf("cds a=1 b=%d", i))
				r.want(c, fmt.Sprintf("eds a=1 b=%d", i))
			}
			later := r.connect("web")
			r.subscribe(later, "cds")
			r.want(later, "cds a=1 b=4")
			r.subscribe(later, "eds a b")
			r.want(later, "eds a=1 b=4")
			if n := r.logs.FilterField(named("a")).Len(); n != 6 {
				t.Errorf("a is named in %d lines, want one for each time and type it could not be made", n)
			}
			if r.metric("meshd_xds_resources_failed_total{cds}") == 0 {
				t.Error("no failure was counted")
			}
			r.set("cds a=5 b=5").publish()
			r.want(c, "cds a=5 b=5")
		})
	}
}

// A generator that panics keeps everything as it was, and what was never known is not sent as nothing.
func TestPanickingGenerator(t *testing.T) {
	for _, where := range []string{"panic in class", "panic in all"} {
		t.Run(where, func(t *testing.T) {
			r := newRig(t)
			r.set("cds a=1").set("lds l=1").publish()
			c := r.connect("web")
			r.subscribe(c, "cds")
			r.want(c, "cds a=1")
			r.subscribe(c, "lds")
			r.want(c, "lds l=1")
			r.setAll("cds", map[string]string{"a": "2", where: "yes"}).set("lds l=2").publish()
			r.want(c, "lds l=2")
			r.want(c, "cds a=1")
			fresh := r.connect("never seen")
			r.subscribe(fresh, "cds")
			r.subscribe(fresh, "lds")
			r.want(fresh, "lds l=2")
			if got := fresh.State().Of(resource.ClusterType); len(got) != 0 {
				t.Errorf("clusters that are not known were sent as %d", len(got[0].GetResources()))
			}
			r.set("cds a=3").publish()
			r.want(c, "cds a=3")
			r.want(fresh, "cds a=3")
		})
	}
	t.Run("by name", func(t *testing.T) {
		r := newRig(t)
		r.set("eds a=1 b=1").publish()
		c := r.connect("web")
		r.subscribe(c, "eds a b")
		r.want(c, "eds a=1 b=1")
		r.setAll("eds", map[string]string{"a": "panic in named", "b": "2"}).publish()
		r.want(c, "eds a=1 b=2")
		later := r.connect("web")
		r.subscribe(later, "eds a b")
		r.want(later, "eds a=1 b=2")
	})
}

// A mesh that changes all the time does not keep a new client waiting (case B19).
func TestCaseB19(t *testing.T) {
	r := newRig(t)
	r.set("cds a=0").set("eds a=0").set("lds l=0").set("rds r=0").publish()
	stop := make(chan struct{})
	var storm sync.WaitGroup
	storm.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Microsecond):
				r.set(fmt.Sprintf("eds a=%d", i)).publish()
			}
		}
	})
	defer storm.Wait()
	defer close(stop)
	c := r.connect("web")
	for _, line := range []string{"cds", "eds a", "lds", "rds r"} {
		r.subscribe(c, line)
		r.count(c, strings.Fields(line)[0], 1)
	}
}

// Nothing locks up when streams come and go while everything changes and is listed (the kind of case A20).
func TestCaseA20(t *testing.T) {
	r := newRig(t)
	r.set("cds a=0").publish()
	stop := make(chan struct{})
	var work sync.WaitGroup
	forever := func(f func(i int)) {
		work.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(50 * time.Microsecond): // or nothing else gets a core
					f(i)
				}
			}
		})
	}
	forever(func(i int) { r.set(fmt.Sprintf("cds a=%d", i)).publish() })
	forever(func(int) { r.server.deps.Connections.List() })
	forever(func(int) { _, _ = r.registry.Gather() })
	var streams sync.WaitGroup
	for i := range 4 {
		streams.Go(func() {
			for range 10 {
				c, err := xdsclient.Connect(r.ctx, r.addr, xdsclient.Options{NodeID: node(fmt.Sprint("w", i))})
				if err != nil {
					t.Error(err)
					return
				}
				ignore(c.Subscribe(resource.ClusterType))
				if _, err := c.Wait(r.ctx, "clusters", func(s xdsclient.State) bool { return len(s.Responses) > 0 }); err != nil {
					t.Error(err)
				}
				c.Close()
			}
		})
	}
	streams.Wait()
	close(stop)
	work.Wait()
	r.eventually("all streams are gone", func() bool { return r.server.deps.Connections.Len() == 0 })
}

func TestDrain(t *testing.T) {
	r := newRig(t)
	big := map[string]string{"big": strings.Repeat("x", 4<<20)}
	r.setAll("cds", big).setAll("lds", big).publish()
	r.deaf("stuck")
	r.eventually("one is stuck", r.stuck)
	c := r.connect("web")
	r.subscribe(c, "cds")
	r.count(c, "cds", 1)
	idle := r.connect("idle") // has not said anything yet
	r.eventually("all are admitted", func() bool {
		r.server.mu.Lock()
		defer r.server.mu.Unlock()
		return len(r.server.streams) == 3
	})
	if err := r.server.Drain(r.ctx); err != nil {
		t.Fatal(err)
	}
	for _, client := range []*xdsclient.Client{c, idle} {
		if s := r.ended(client); s.Code() != codes.Unavailable || !strings.Contains(s.Message(), "another replica") {
			t.Errorf("status %v: want Unavailable", s)
		}
	}
	if n := r.server.deps.Connections.Len(); n != 0 {
		t.Errorf("%d streams are left", n)
	}
	late := r.connect("late")
	ignore(late.Subscribe(resource.ClusterType))
	if s := r.ended(late); s.Code() != codes.Unavailable {
		t.Errorf("a new stream while draining: %v", s)
	}
	begin := time.Now()
	if err := r.server.Drain(r.ctx); err != nil || time.Since(begin) > time.Second {
		t.Errorf("with no streams: %v after %v", err, time.Since(begin))
	}
}

// The codec leaves other services and messages alone, and delta clients are told what to do.
func TestOtherServices(t *testing.T) {
	r := newRig(t)
	r.set("cds a=1").publish()
	conn, err := grpc.NewClient("passthrough:///"+r.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if resp, err := healthpb.NewHealthClient(conn).Check(r.ctx, &healthpb.HealthCheckRequest{}); err != nil || resp.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", resp, err)
	}
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), "state-of-the-world") {
		t.Errorf("delta: %v", err)
	}
}

func TestGRPCFlavor(t *testing.T) {
	r := newRig(t)
	r.set("lds shop:80=1 cart:80=1").publish()
	c := r.connect("web", func(o *xdsclient.Options) { o.Metadata["GENERATOR"] = "grpc" })
	r.subscribe(c, "lds shop:80")
	r.want(c, "lds shop:80=1")
	r.subscribe(c, "lds") // as grpc-go does last on a stream
	r.eventually("it is read", func() bool { return r.server.deps.Connections.List()[0].Types[0].Names == 0 })
	r.set("lds shop:80=2 cart:80=2").publish()
	r.subscribe(c, "lds cart:80")
	if s := r.want(c, "lds cart:80=2"); len(s.Responses) != 2 {
		t.Errorf("%s, want none while nothing was subscribed", s)
	}
}
