package xds

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/admission"
	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// say sends a request for endpoints as it is: names that were wanted before and those that come new with it.
func (r *rig) say(c *xdsclient.Client, nonce, refused string, names, added []string) {
	r.t.Helper()
	var detail *rpcstatus.Status
	if refused != "" {
		detail = &rpcstatus.Status{Code: 3, Message: refused}
	}
	var err error
	if r.delta {
		err = c.SendDelta(&discoveryv3.DeltaDiscoveryRequest{
			TypeUrl: resource.EndpointType, ResponseNonce: nonce, ErrorDetail: detail, ResourceNamesSubscribe: added,
		})
	} else {
		err = c.Send(&discoveryv3.DiscoveryRequest{
			TypeUrl: resource.EndpointType, ResponseNonce: nonce, ErrorDetail: detail, ResourceNames: slices.Concat(names, added),
		})
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// A request that answers nothing changes the subscription, and what is known of the last response stays (case B4).
func TestCaseB4(t *testing.T) { protocols(t, testCaseB4) }

func testCaseB4(t *testing.T, p protocol) {
	r := p.rig(t)
	r.set("eds a=1 c=1 d=1 e=1").publish()
	c := r.connect("web", manual)
	shown := func() subscription.Status { return r.types()[0] }
	nonce := func(n int) string {
		return r.count(c, "eds", n).Of(resource.EndpointType)[n-1].GetNonce()
	}
	r.say(c, "", "", nil, []string{"a"})
	n1 := nonce(1)
	r.say(c, "", "", []string{"a"}, []string{"c"})
	r.eventually("c is subscribed", func() bool { return shown().Names == 2 })
	if s := shown(); !s.Unacknowledged || s.Acked != "" || s.Nonce != n1 {
		t.Errorf("a request without nonce was booked as an answer: %+v", s)
	}
	r.say(c, n1, "", []string{"a", "c"}, nil)
	n2 := nonce(2)
	if s := shown(); s.Acked == "" {
		t.Errorf("the answer was not booked: %+v", s)
	}
	r.want(c, "eds a=1 c=1")

	r.say(c, n1, "", []string{"a", "c"}, []string{"d"})
	r.eventually("d is subscribed", func() bool { return shown().Names == 3 })
	if s := shown(); !s.Unacknowledged || s.Nonce != n2 {
		t.Errorf("an outdated nonce was booked as an answer: %+v", s)
	}
	r.say(c, n2, "", []string{"a", "c", "d"}, nil)
	n3 := nonce(3)
	r.want(c, "eds a=1 c=1 d=1")

	r.say(c, n3, "not d", []string{"a", "c", "d"}, nil)
	r.eventually("the refusal is shown", func() bool { return shown().Refused == "not d" })
	r.say(c, "", "", []string{"a", "c", "d"}, []string{"e"})
	nonce(4)
	if s := shown(); s.Refused != "not d" {
		t.Errorf("the refusal is gone: %+v", s)
	}
}

// A deferred update of clusters is followed by their endpoints too (case B6).
func TestCaseB6(t *testing.T) { protocols(t, testCaseB6) }

func testCaseB6(t *testing.T, p protocol) {
	r := p.rig(t)
	r.set("cds a=1 b=1").set("eds a=1 b=1").publish()
	c := r.connect("web", manual)
	r.subscribe(c, "cds")
	clusters := r.count(c, "cds", 1).Of(resource.ClusterType)[0]
	r.subscribe(c, "eds a b")
	endpoints := r.count(c, "eds", 1).Of(resource.EndpointType)[0]
	r.set("cds a=2 b=2").publish()
	r.eventually("the update waits", func() bool { return r.types()[0].Pending })
	if err := c.Ack(clusters); err != nil {
		t.Fatal(err)
	}
	r.count(c, "cds", 2)
	if err := c.Ack(endpoints); err != nil {
		t.Fatal(err)
	}
	if got := r.count(c, "eds", 2).Of(resource.EndpointType)[1].GetResources(); len(got) != 2 {
		t.Errorf("endpoints of %d clusters followed, want 2", len(got))
	}
}

// A name that is dropped and asked for again is sent again, and only it (case B7).
func TestCaseB7(t *testing.T) { protocols(t, testCaseB7) }

func testCaseB7(t *testing.T, p protocol) {
	r := p.rig(t)
	r.set("eds a=1 b=1").publish()
	c := r.connect("web")
	r.subscribe(c, "eds a b")
	r.want(c, "eds a=1 b=1")
	r.quiet()
	r.subscribe(c, "eds a")
	r.eventually("b is dropped", func() bool { return r.types()[0].Names == 1 })
	r.subscribe(c, "eds a b")
	again := r.count(c, "eds", 2).Of(resource.EndpointType)[1].GetResources()
	if len(again) != 1 || !strings.Contains(string(again[0].GetValue()), "b") {
		t.Errorf("sent again: %v, want b", again)
	}
}

// Each request is answered for its names, whatever was asked and sent before (case B9).
func TestCaseB9(t *testing.T) { protocols(t, testCaseB9) }

func testCaseB9(t *testing.T, p protocol) {
	r := p.rig(t)
	r.set("cds cart=1 shop=1 tracing=1").set("eds cart=1 shop=1 tracing=1").publish()
	c := r.connect("web")
	r.subscribe(c, "eds tracing")
	r.want(c, "eds tracing=1")
	r.quiet()
	r.subscribe(c, "cds")
	r.want(c, "cds cart=1 shop=1 tracing=1")
	r.quiet()
	r.subscribe(c, "eds tracing shop cart")
	s := r.want(c, "eds cart=1 shop=1 tracing=1")
	sent := 0
	for _, resp := range s.Of(resource.EndpointType) {
		for _, a := range resp.GetResources() {
			if strings.Contains(string(a.GetValue()), "tracing") {
				sent++
			}
		}
	}
	if sent != 2 {
		t.Errorf("tracing was sent %d times, want once more after its cluster", sent)
	}
}

// Dropping names costs nothing, and a new name costs that name (case B13).
func TestCaseB13(t *testing.T) { protocols(t, testCaseB13) }

func testCaseB13(t *testing.T, p protocol) {
	r := p.rig(t)
	names := make([]string, 100)
	texts := map[string]string{"new": "1"}
	for i := range names {
		names[i] = fmt.Sprint("r", i)
		texts[names[i]] = "1"
	}
	r.set("lds l=0").setAll("rds", texts).publish()
	c := r.connect("web")
	r.subscribe(c, "lds")
	r.want(c, "lds l=0")
	r.subscribe(c, "rds "+strings.Join(names, " "))
	r.count(c, "rds", 1)
	r.quiet()
	// A change of listeners is why names are dropped.
	r.set("lds l=1").publish()
	r.want(c, "lds l=1")
	r.quiet()
	generated := r.store.Stats().Generated
	for len(names) > 1 {
		names = names[1:]
		r.subscribe(c, "rds "+strings.Join(names, " "))
	}
	r.eventually("all but one are dropped", func() bool { return r.types()[1].Names == 1 })
	r.subscribe(c, "rds new "+names[0])
	s := r.count(c, "rds", 2)
	if n := len(s.Of(resource.RouteType)); n != 2 {
		t.Errorf("%d responses, want none for names that are dropped", n)
	}
	if n := r.store.Stats().Generated - generated; n != 1 {
		t.Errorf("%d routes were generated, want the new one", n)
	}
}

// What is deleted is deleted at the client too, and said once; of clusters and listeners only (case B15).
func TestCaseB15(t *testing.T) { protocols(t, testCaseB15) }

func testCaseB15(t *testing.T, p protocol) {
	r := p.rig(t)
	r.set("cds a=1 b=1").set("eds a=1 b=1").set("lds in=1 a=1 b=1").set("rds a=1 b=1").publish()
	c := r.connect("web")
	for _, line := range []string{"cds", "eds a b", "lds", "rds a b"} {
		r.subscribe(c, line)
		r.count(c, strings.Fields(line)[0], 1)
	}
	r.quiet()
	r.set("cds a=1").set("eds a=2").set("lds in=1 a=1").set("rds a=2").publish()
	r.count(c, "eds", 2)
	r.count(c, "rds", 2)
	r.want(c, "cds a=1")
	r.want(c, "lds a=1 in=1")
	r.set("lds a=1").publish()
	r.want(c, "lds a=1")
	r.set("lds a=2").publish()
	r.want(c, "lds a=2")
	// Of these it is not even said that they do not exist.
	r.subscribe(c, "sds a")
	r.count(c, "sds", 1)
	r.subscribe(c, "ecds a")
	s := r.count(c, "ecds", 1)
	var removed []string
	for _, d := range s.Deltas {
		for _, name := range d.GetRemovedResources() {
			removed = append(removed, resource.TypeOf(d.GetTypeUrl()).Short+" "+name)
		}
	}
	slices.Sort(removed)
	if want := []string{"cds b", "lds b", "lds in"}; r.delta && !slices.Equal(removed, want) {
		t.Errorf("removed %q, want %q", removed, want)
	}
}

// Nothing of a stream stays when it has ended (case B17).
func TestCaseB17(t *testing.T) { protocols(t, testCaseB17) }

func testCaseB17(t *testing.T, p protocol) {
	r := p.rig(t)
	r.set("cds a=1").publish()
	var streams []weak.Pointer[stream]
	for i := range 20 {
		c := r.connect(fmt.Sprint("w", i))
		r.subscribe(c, "cds")
		r.want(c, "cds a=1")
		r.server.mu.Lock()
		for st := range r.server.streams {
			streams = append(streams, weak.Make(st))
		}
		r.server.mu.Unlock()
		r.set(fmt.Sprintf("cds a=%d", 1)).publish() // they are woken too
		c.Close()
		r.eventually("the stream has ended", func() bool { return r.server.deps.Connections.Len() == 0 })
	}
	if len(streams) < 20 {
		t.Fatalf("%d streams were seen", len(streams))
	}
	r.eventually("streams that ended are collected", func() bool {
		runtime.GC()
		return !slices.ContainsFunc(streams, func(w weak.Pointer[stream]) bool { return w.Value() != nil })
	})
}

// trickle is a connection that is read slowly.
type trickle struct{ net.Conn }

func (c trickle) Read(b []byte) (int, error) {
	time.Sleep(time.Millisecond) // the subject of the test is that it takes long
	return c.Conn.Read(b[:min(len(b), 4<<10)])
}

// A slow client is neither cut off nor sent a part: it ends up complete, and with the newest. One that is dead, without
// having said so, is noticed by keep-alive (case B20).
func TestCaseB20(t *testing.T) { protocols(t, testCaseB20) }

func testCaseB20(t *testing.T, p protocol) {
	alive := admission.Connections{Interval: time.Second, Timeout: time.Second}
	r := p.rigWith(t, admission.Options{}, alive.ServerOptions(0)...)
	big := map[string]string{"small": "0"}
	for i := range 32 {
		big[fmt.Sprint("big", i)] = strings.Repeat("x", 1<<17)
	}
	r.setAll("cds", big).set("lds l=0").publish()
	hole := newHole(t, r.addr)
	conn, err := grpc.NewClient("passthrough:///"+hole.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	dead, err := r.open(conn)
	if err != nil {
		t.Fatal(err)
	}
	ignore(dead.send(&corev3.Node{Id: node("dead")}, resource.ListenerType, ""))
	if _, _, err := dead.recv(); err != nil {
		t.Fatal(err)
	}
	hole.cut()
	c := r.connect("slow", func(o *xdsclient.Options) {
		o.Dial = []grpc.DialOption{
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithStaticStreamWindowSize(1 << 16), grpc.WithStaticConnWindowSize(1 << 16),
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
				return trickle{conn}, err
			}),
		}
	})
	r.subscribe(c, "cds")
	r.subscribe(c, "lds")
	r.eventually("it is being sent", func() bool { return r.metric("pilot_xds_pushes{cds}") == 1 })
	for i := 1; i <= 20; i++ {
		now := map[string]string{"small": fmt.Sprint(i)}
		for name, text := range big {
			if name != "small" {
				now[name] = text
			}
		}
		r.setAll("cds", now).publish()
	}
	s := r.waitFor(c, "the newest", func(s xdsclient.State) bool {
		m := s.Resources[resource.ClusterType]["small"]
		return m != nil && textOf(m) == "20"
	})
	if n := len(s.Names(resource.ClusterType)); n != 33 {
		t.Errorf("%d clusters, want all", n)
	}
	if n := len(s.Of(resource.ClusterType)); n > 3 {
		t.Errorf("%d responses: what became outdated meanwhile was sent too", n)
	}
	r.want(c, "lds l=0")
	r.eventually("the dead client is noticed", func() bool { return r.server.deps.Connections.Len() == 1 })
	if c.State().Ended {
		t.Error("the slow client was cut off")
	}
}

// A new service is one new cluster, and nothing else.
func TestOnlyWhatChanged(t *testing.T) {
	r := protocol(subscription.Delta).rig(t)
	texts := map[string]string{}
	for i := range 200 {
		texts[fmt.Sprint("c", i)] = strings.Repeat("x", 1000)
	}
	r.setAll("cds", texts).setAll("eds", texts).set("lds l=1").publish()
	c := r.connect("web")
	r.subscribe(c, "cds")
	r.subscribe(c, "eds c0 c1")
	r.subscribe(c, "lds")
	r.count(c, "lds", 1)
	r.count(c, "eds", 1)
	r.quiet()
	before := len(c.State().Deltas)
	more := map[string]string{"new": "1"}
	for name, text := range texts {
		more[name] = text
	}
	r.setAll("cds", more).setAll("eds", more).publish()
	r.count(c, "cds", 2)
	r.quiet()
	got := c.State().Deltas[before:]
	if len(got) != 1 || len(got[0].GetResources()) != 1 || len(got[0].GetRemovedResources()) != 0 || got[0].GetResources()[0].GetName() != "new" {
		t.Errorf("a new cluster led to %v", got)
	}
}

// A client that comes back, to another process, is sent what changed while it was away, and told what is gone.
func TestComeBack(t *testing.T) {
	first := protocol(subscription.Delta).rig(t)
	first.set("cds a=1 b=1 gone=1").set("lds l=1").publish()
	c := first.connect("web")
	first.subscribe(c, "cds")
	first.want(c, "cds a=1 b=1 gone=1")
	first.subscribe(c, "lds")
	have := first.want(c, "lds l=1").Versions

	second := protocol(subscription.Delta).rig(t)
	second.set("cds a=1 b=2 new=1").set("lds l=1").publish()
	c = second.connect("web", func(o *xdsclient.Options) { o.Have = have })
	second.subscribe(c, "cds")
	second.subscribe(c, "lds")
	s := second.count(c, "lds", 1)
	if n := len(s.DeltasOf(resource.ListenerType)[0].GetResources()); n != 0 {
		t.Errorf("%d listeners were sent again", n)
	}
	s = second.count(c, "cds", 2)
	sent := fmt.Sprint(s.Names(resource.ClusterType))
	if sent != "[b new]" {
		t.Errorf("sent %s, want what changed and what is new", sent)
	}
	if got := fmt.Sprint(s.DeltasOf(resource.ClusterType)[1].GetRemovedResources()); got != "[gone]" {
		t.Errorf("removed %s", got)
	}
}
