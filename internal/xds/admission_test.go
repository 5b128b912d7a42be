package xds

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/admission"
	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

func (p protocol) rigWith(t testing.TB, limits admission.Options, options ...grpc.ServerOption) *rig {
	r := newRigWith(t, limits, options...)
	r.delta = p == protocol(subscription.Delta)
	return r
}

// Thousands of streams that arrive at once at a server that is slow are all served, in the order in which they came,
// and never more at a time than there may be.
func TestThousandsArrive(t *testing.T) { protocols(t, testThousandsArrive) }

func testThousandsArrive(t *testing.T, p protocol) {
	const batch, turns, connections = 100, 4, 20
	streams := 2000
	if raceEnabled {
		streams = 400 // the detector makes each ten times as slow
	}
	r := p.rigWith(t, admission.Options{Turns: turns, Hold: time.Minute})
	var busy, most atomic.Int64
	var mu sync.Mutex
	var order []string
	seen := map[string]bool{}
	held := make(chan struct{})
	r.world.project = func(proxy *model.Proxy) {
		mu.Lock()
		if !seen[proxy.ID] {
			seen[proxy.ID] = true
			order = append(order, proxy.ID)
		}
		mu.Unlock()
		n := busy.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		<-held
		time.Sleep(200 * time.Microsecond) // the server is slow
		busy.Add(-1)
	}
	r.set("cds a=1").set("lds l=1").publish()

	conns := make([]*grpc.ClientConn, connections)
	for i := range conns {
		conns[i] = r.dial()
	}
	ends := make(chan error, streams)
	talk := func(stream raw, pod string) error {
		for _, typeURL := range []string{resource.ClusterType, resource.ListenerType} {
			if typeURL == resource.ListenerType { // clusters were asked for
				if err := stream.send(nil, typeURL, ""); err != nil {
					return err
				}
			}
			nonce, _, err := stream.recv()
			if err != nil {
				return err
			}
			if err := stream.send(nil, typeURL, nonce); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range streams {
		pod := fmt.Sprint("w", i)
		stream, err := r.open(conns[i%connections])
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.send(&corev3.Node{Id: node(pod)}, resource.ClusterType, ""); err != nil {
			t.Fatal(err)
		}
		go func() { ends <- talk(stream, pod) }()
		if (i+1)%batch == 0 { // so that it is known who came before whom
			r.eventually("they have arrived", func() bool { return r.admission.Status().Waiting == i+1-turns })
		}
	}
	if n := r.metric("meshd_xds_streams_waiting"); n != float64(streams-turns) {
		t.Errorf("%v streams wait", n)
	}
	began := time.Now()
	close(held)
	for range streams {
		if err := <-ends; err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d streams were served in %s", streams, time.Since(began))
	if n := most.Load(); n != turns {
		t.Errorf("%d streams were served at a time, want %d", n, turns)
	}
	for at, id := range order {
		var i int
		if _, err := fmt.Sscanf(strings.TrimPrefix(id, "sidecar~10.0.0.1~w"), "%d", &i); err != nil {
			t.Fatal(err)
		}
		if early, late := i-at, at-i; early > batch+turns || late > batch+turns {
			t.Errorf("stream %d was served as number %d", i, at)
		}
	}
	if n := r.metric("meshd_xds_admission_wait_seconds"); n != float64(streams) {
		t.Errorf("%v waits were measured, want %d", n, streams)
	}
	r.eventually("nobody has a turn any more", func() bool { s := r.admission.Status(); return s.Waiting+s.Served == 0 })
}

// Clients that do not read hold up the queue for no longer than a turn.
func TestSlowReadersHoldUpNobody(t *testing.T) { protocols(t, testSlowReadersHoldUpNobody) }

func testSlowReadersHoldUpNobody(t *testing.T, p protocol) {
	r := p.rigWith(t, admission.Options{Turns: 2, Hold: 50 * time.Millisecond})
	big := map[string]string{"big": strings.Repeat("x", 4<<20)}
	r.setAll("cds", big).setAll("lds", big).set("rds r=1").publish()
	for i := range 6 {
		r.deaf(fmt.Sprint("deaf", i))
	}
	for i := range 20 {
		c := r.connect(fmt.Sprint("alive", i))
		r.subscribe(c, "rds r")
		r.want(c, "rds r=1")
	}
	if n := r.admission.Status().Open; n != 26 {
		t.Errorf("%d streams are open, want all: a slow client is kept", n)
	}
}

// Who waits when the process stops is told so at once; who is served, in turn.
func TestDrainWhileWaiting(t *testing.T) { protocols(t, testDrainWhileWaiting) }

func testDrainWhileWaiting(t *testing.T, p protocol) {
	r := p.rigWith(t, admission.Options{Turns: 2, Hold: time.Hour})
	r.set("cds a=1").publish()
	var served, waiting []*xdsclient.Client
	for i := range 2 {
		c := r.connect(fmt.Sprint("served", i), manual) // it does not answer, and so keeps its turn
		r.subscribe(c, "cds")
		r.count(c, "cds", 1)
		served = append(served, c)
	}
	for i := range 50 {
		c := r.connect(fmt.Sprint("waiting", i))
		r.subscribe(c, "cds")
		waiting = append(waiting, c)
	}
	r.eventually("they wait", func() bool { return r.admission.Status().Waiting == len(waiting) })
	ctx, cancel := context.WithCancel(r.ctx)
	drained := make(chan error, 1)
	go func() { drained <- r.server.Drain(ctx, time.Hour) }()
	for _, c := range waiting {
		if s := r.ended(c); s.Code() != codes.Unavailable || !strings.Contains(s.Message(), "another replica") {
			t.Errorf("status %v: want Unavailable", s)
		}
	}
	ended := func() (n int) {
		for _, c := range served {
			if c.State().Ended {
				n++
			}
		}
		return n
	}
	r.eventually("one was told to move", func() bool { return ended() > 0 })
	r.eventually("it is out of the queue", func() bool { s := r.admission.Status(); return s.Open == 1 && s.Waiting == 0 })
	if n := ended(); n != 1 {
		t.Errorf("%d of those that were served have ended, want one: the other has half an hour", n)
	}
	cancel()  // cuts it short
	<-drained // its error, if it has one, says so
	for _, c := range served {
		r.ended(c)
	}
	r.eventually("nobody is left", func() bool { return r.admission.Status().Open == 0 })
}

func TestLimits(t *testing.T) { protocols(t, testLimits) }

func testLimits(t *testing.T, p protocol) {
	for flag, limits := range map[string]admission.Options{"--max-streams ": {Total: 2}, "--max-streams-per-source ": {PerSource: 2}} {
		r := p.rigWith(t, limits)
		r.set("cds a=1").publish()
		var clients []*xdsclient.Client
		for i := range 2 {
			c := r.connect(fmt.Sprint("w", i))
			r.subscribe(c, "cds")
			r.want(c, "cds a=1")
			clients = append(clients, c)
		}
		more := r.connect("more")
		ignore(more.Subscribe(resource.ClusterType))
		if s := r.ended(more); s.Code() != codes.ResourceExhausted || !strings.Contains(s.Message(), flag) {
			t.Errorf("%sstatus %v", flag, s)
		}
		clients[0].Close()
		r.eventually("it has left", func() bool { return r.admission.Status().Open == 1 })
		next := r.connect("next")
		r.subscribe(next, "cds")
		r.want(next, "cds a=1")
	}
}

// Streams end at the maximum age, each at a time of its own; their clients come back on a new connection and have the
// same as before.
func TestMaxAge(t *testing.T) { protocols(t, testMaxAge) }

func testMaxAge(t *testing.T, p protocol) {
	const clients, rounds, age = 12, 2, 2 * time.Second
	r := p.rigWith(t, admission.Options{MaxAge: age}, admission.Connections{}.ServerOptions(age)...)
	r.set("cds a=1 own=1").set("eds a=1").publish()
	var mu sync.Mutex
	var ages []time.Duration
	var work sync.WaitGroup
	for i := range clients {
		var dials atomic.Int64
		conn := r.dial(grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			dials.Add(1)
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		}))
		work.Go(func() {
			had := ""
			for round := range rounds {
				stream, err := r.open(conn)
				if err != nil {
					t.Error(err)
					return
				}
				began := time.Now()
				ignore(stream.send(&corev3.Node{Id: node(fmt.Sprint("w", i))}, resource.ClusterType, ""))
				nonce, version, err := stream.recv()
				if err != nil {
					t.Errorf("client %d has no clusters in round %d: %v", i, round, err)
					return
				}
				if round == 0 {
					had = version
				} else if version != had {
					t.Errorf("client %d has other clusters in round %d", i, round)
				}
				ignore(stream.send(nil, resource.ClusterType, nonce))
				if _, _, err = stream.recv(); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "maximum age") {
					t.Errorf("the stream ended with %v", err)
				}
				mu.Lock()
				ages = append(ages, time.Since(began))
				mu.Unlock()
			}
			if n := dials.Load(); n != rounds {
				t.Errorf("%d streams came on %d connections", rounds, n)
			}
		})
	}
	work.Wait()
	reason := zap.NamedError("reason", status.Error(codes.Unavailable, expiredText))
	r.eventually("the log says why each of them ended", func() bool {
		return r.logs.FilterMessageSnippet("a client disconnected").FilterField(reason).Len() == clients*rounds
	})
	least, most := ages[0], ages[0]
	for _, a := range ages {
		least, most = min(least, a), max(most, a)
	}
	if least < age-age/10-age/20 {
		t.Errorf("a stream ended after %s", least)
	}
	if most-least < age/20 {
		t.Errorf("streams ended after %s to %s: not spread", least, most)
	}
}

// hole passes a connection on, until it is cut: then bytes vanish, and nobody is told, as when a machine loses power.
type hole struct {
	addr string
	cut  func()
}

func newHole(t *testing.T, to string) hole {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone, end := make(chan struct{}), make(chan struct{})
	var work sync.WaitGroup
	pass := func(from, to net.Conn) {
		defer from.Close()
		defer to.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			select {
			case <-gone:
				<-end
				return
			default:
			}
			if err != nil {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	work.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				return
			}
			work.Go(func() { pass(client, server) })
			work.Go(func() { pass(server, client) })
		}
	})
	t.Cleanup(func() {
		close(end)
		_ = listener.Close()
		work.Wait()
	})
	return hole{listener.Addr().String(), sync.OnceFunc(func() { close(gone) })}
}
