package xds

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

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
func TestCaseA1(t *testing.T) { protocols(t, testCaseA1) }

func testCaseA1(t *testing.T, p protocol) {
	r := p.rig(t)
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

func TestAllTypes(t *testing.T) { protocols(t, testAllTypes) }

func testAllTypes(t *testing.T, p protocol) {
	r := p.rig(t)
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
	r.quiet()
	r.set("lds l=3").publish()
	s := r.want(c, "lds l=3")
	if n := len(s.Responses); n != before+5 {
		t.Errorf("one listener changed, and %d responses came: %s", n-before-4, s)
	}
}

// After a parent update, a request that looks like an acknowledgement is answered in full.
func TestCaseB1(t *testing.T) { protocols(t, testCaseB1) }

func testCaseB1(t *testing.T, p protocol) {
	r := p.rig(t)
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
func TestCaseB2(t *testing.T) { protocols(t, testCaseB2) }

func testCaseB2(t *testing.T, p protocol) {
	r := p.rig(t)
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
func TestCaseB10(t *testing.T) { protocols(t, testCaseB10) }

func testCaseB10(t *testing.T, p protocol) {
	for _, acceptFirst := range []bool{false, true} {
		t.Run(fmt.Sprintf("first accepted %v", acceptFirst), func(t *testing.T) {
			r := p.rig(t)
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
func TestSharedAcrossStreams(t *testing.T) { protocols(t, testSharedAcrossStreams) }

func testSharedAcrossStreams(t *testing.T, p protocol) {
	r := p.rig(t)
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
	for name, want := range map[string]float64{
		"meshd_xds_resources{cds}": 2 + classes, "meshd_xds_resources{eds}": 2, "meshd_xds_classes{cds}": classes, "meshd_xds_classes{lds}": 0,
		"meshd_xds_references{cds}": 3 * streams, "meshd_xds_sharing_ratio{eds}": streams, "meshd_xds_streams{envoy}": streams,
	} {
		if got := r.metric(name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	r.eventually("nobody has to look at the snapshot any more", func() bool { return r.metric("meshd_xds_queue_length") == 0 })
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

// A mesh that changes all the time does not keep a new client waiting (case B19).
func TestCaseB19(t *testing.T) {
	t.Run("under a storm of changes", func(t *testing.T) { protocols(t, testCaseB19) })
	t.Run("requests go first", func(t *testing.T) { protocols(t, testRequestsFirst) })
	t.Run("what is asked for is overtaken once", func(t *testing.T) { protocols(t, testOvertakenOnce) })
}

func testCaseB19(t *testing.T, p protocol) {
	r := p.rig(t)
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
func TestCaseA20(t *testing.T) { protocols(t, testCaseA20) }

func testCaseA20(t *testing.T, p protocol) {
	r := p.rig(t)
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
				c, err := xdsclient.Connect(r.ctx, r.addr, xdsclient.Options{NodeID: node(fmt.Sprint("w", i)), Delta: r.delta})
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

// The codec leaves other services and messages alone.
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
}

func TestGRPCFlavor(t *testing.T) { protocols(t, testGRPCFlavor) }

func testGRPCFlavor(t *testing.T, p protocol) {
	r := p.rig(t)
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
