package xds

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/admission"
	"github.com/meshd/meshd/internal/xds/resource"
)

// A client that never reads holds back nobody and costs one pending version.
func TestNeverReading(t *testing.T) { protocols(t, testNeverReading) }

func testNeverReading(t *testing.T, p protocol) {
	r := p.rig(t)
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
	stream, err := r.open(r.dial(grpc.WithStaticStreamWindowSize(1<<16), grpc.WithStaticConnWindowSize(1<<16))) // otherwise gRPC reads 16 MB ahead
	if err != nil {
		r.t.Fatal(err)
	}
	for _, typeURL := range []string{resource.ClusterType, resource.ListenerType} {
		if err := stream.send(&corev3.Node{Id: node(pod)}, typeURL, ""); err != nil {
			r.t.Fatal(err)
		}
	}
}

// An unknown type gets no answer and does not close the stream; the node is warned of once.
func TestUnknownType(t *testing.T) { protocols(t, testUnknownType) }

func testUnknownType(t *testing.T, p protocol) {
	r := p.rig(t)
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

func TestBadNodes(t *testing.T) { protocols(t, testBadNodes) }

func testBadNodes(t *testing.T, p protocol) {
	r := p.rig(t)
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
		r.introduce(c, node("web"), resource.ListenerType)
		r.count(c, "lds", 1) // the same node again is fine
		r.introduce(c, node("other"), resource.ListenerType)
		if s := r.ended(c); s.Code() != codes.InvalidArgument || !strings.Contains(s.Message(), "other.default") {
			t.Errorf("status %v: want InvalidArgument", s)
		}
	})
	r.eventually("no stream is left", func() bool { return r.server.deps.Connections.Len() == 0 })
	if got := r.metric("pilot_xds{1.32.0}"); got != 0 {
		t.Errorf("%v clients are counted as connected", got)
	}
}

// A resource that cannot be made stays as it was, is named, and holds back nothing else: also for clients that connect
// later, and while it stays broken.
func TestLastGoodVersion(t *testing.T) { protocols(t, testLastGoodVersion) }

func testLastGoodVersion(t *testing.T, p protocol) {
	for _, text := range []string{"!bad", "panic", "invalid"} {
		t.Run(text, func(t *testing.T) {
			r := p.rig(t)
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
			if got := r.withheld("cds"); got != "a new" {
				t.Errorf("shown as withheld: %q", got)
			}
			r.set("cds a=5 b=5").publish()
			r.want(c, "cds a=5 b=5")
			r.eventually("nothing is shown as withheld", func() bool { return r.withheld("cds") == "" })
			if got := r.withheld("eds"); got != "a" {
				t.Errorf("endpoints shown as withheld: %q", got)
			}
		})
	}
}

// withheld gives the names that the table of connections shows as withheld from the oldest stream.
func (r *rig) withheld(short string) string {
	for _, s := range r.server.deps.Connections.List()[0].Types {
		if s.Type.Short == short {
			return strings.Join(slices.Sorted(maps.Keys(s.Withheld)), " ")
		}
	}
	return ""
}

// A generator that panics keeps everything as it was, and what was never known is not sent as nothing.
func TestPanickingGenerator(t *testing.T) { protocols(t, testPanickingGenerator) }

func testPanickingGenerator(t *testing.T, p protocol) {
	for _, where := range []string{"panic in class", "panic in all"} {
		t.Run(where, func(t *testing.T) {
			r := p.rig(t)
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
		r := p.rig(t)
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

// Streams are told to go one after another, evenly over the time that there is.
func TestDrainIsSpread(t *testing.T) {
	r := newRig(t)
	r.set("cds a=0").publish()
	const streams, over = 4, 400 * time.Millisecond
	var clients []*xdsclient.Client
	for i := range streams {
		c := r.connect(fmt.Sprint("w", i))
		r.subscribe(c, "cds")
		r.count(c, "cds", 1)
		clients = append(clients, c)
	}
	began := time.Now()
	ended := make(chan time.Duration, streams)
	for _, c := range clients {
		go func() {
			_, _ = c.Wait(r.ctx, "the end", func(s xdsclient.State) bool { return s.Ended })
			ended <- time.Since(began)
		}()
	}
	if err := r.server.Drain(r.ctx, over); err != nil {
		t.Fatal(err)
	}
	for i := range streams {
		// Each at its turn, and not before.
		if at, turn := <-ended, time.Duration(i)*over/streams; at < turn {
			t.Errorf("stream %d ended after %v, before its turn at %v", i, at, turn)
		}
	}
	if took := time.Since(began); took < over*(streams-1)/streams {
		t.Errorf("all had ended after %v", took)
	}
}

func TestDrain(t *testing.T) { protocols(t, testDrain) }

func testDrain(t *testing.T, p protocol) {
	r := p.rig(t)
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
	if err := r.server.Drain(r.ctx, 0); err != nil {
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
	if err := r.server.Drain(r.ctx, 0); err != nil || time.Since(begin) > time.Second {
		t.Errorf("with no streams: %v after %v", err, time.Since(begin))
	}
}

// gated is a connection from which nothing is read while its gate is locked.
type gated struct {
	net.Conn
	gate *sync.RWMutex
}

func (c gated) Read(b []byte) (int, error) {
	c.gate.RLock()
	c.gate.RUnlock() //lint:ignore SA2001 what is waited for is that the gate opens
	return c.Conn.Read(b)
}

// A client that reads nothing for longer than it may owe a sign of life, but is not asked for one, has its connection
// when it reads again, though TCP could send it nothing more (the kind of case B20).
func TestCaseB20Frozen(t *testing.T) { protocols(t, testCaseB20Frozen) }

func testCaseB20Frozen(t *testing.T, p protocol) {
	const timeout = time.Second
	alive := admission.Connections{Interval: time.Hour, Timeout: timeout}
	r := p.rigWith(t, admission.Options{}, alive.ServerOptions(0)...)
	big := map[string]string{}
	for i := range 128 { // 16 MB, more than the kernel holds for a connection
		big[fmt.Sprint("big", i)] = strings.Repeat("x", 1<<17)
	}
	r.setAll("cds", big).set("lds l=0").publish()
	var gate sync.RWMutex
	c := r.connect("frozen", func(o *xdsclient.Options) {
		o.Dial = []grpc.DialOption{
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithStaticStreamWindowSize(1 << 26), grpc.WithStaticConnWindowSize(1 << 26),
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
				return gated{conn, &gate}, err
			}),
		}
	})
	gate.Lock()
	open := sync.OnceFunc(gate.Unlock)
	defer open()
	r.subscribe(c, "cds")
	r.eventually("it is being sent", func() bool { return r.metric("pilot_xds_pushes{cds}") == 1 })
	time.Sleep(3 * timeout) // the subject of the test is that it takes longer than the timeout
	open()
	s := r.waitFor(c, "everything", func(s xdsclient.State) bool { return len(s.Names(resource.ClusterType)) == len(big) })
	if s.Ended {
		t.Error("the client was cut off")
	}
}
