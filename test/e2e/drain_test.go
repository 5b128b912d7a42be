package e2e

import (
	"context"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/meshd/meshd/internal/testkit/process"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// watched is a connection that says when the other side has closed it.
type watched struct {
	net.Conn
	closed func()
}

func (c watched) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.closed()
	}
	return n, err
}

// watch gives options of a connection, and a channel that is closed when the first connection made with them is.
func watch() ([]grpc.DialOption, <-chan struct{}) {
	closed := make(chan struct{})
	once := sync.OnceFunc(func() { close(closed) })
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
			if err != nil {
				return nil, err
			}
			return watched{conn, once}, nil
		}),
	}, closed
}

// served opens a stream and waits for its first answer.
func served(ctx context.Context, t *testing.T, meshd *process.Meshd, options xdsclient.Options) *xdsclient.Client {
	t.Helper()
	options.NodeID = "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local"
	c, err := xdsclient.Connect(ctx, meshd.Address("--grpc-addr"), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Subscribe(resource.ClusterType); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(ctx, "clusters", func(s xdsclient.State) bool { return len(s.Of(resource.ClusterType)) > 0 }); err != nil {
		t.Fatal(err)
	}
	return c
}

// ended waits for the end of a stream and gives its status.
func ended(ctx context.Context, t *testing.T, c *xdsclient.Client) *status.Status {
	t.Helper()
	s, err := c.Wait(ctx, "the end of the stream", func(s xdsclient.State) bool { return s.Ended })
	if err != nil {
		t.Fatal(err)
	}
	return status.Convert(s.Err)
}

// At SIGTERM nobody can connect any more, and each stream is ended at its turn, with its connection.
func TestDrain(t *testing.T) {
	const clients, drain = 4, 2 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	meshd := process.Start(t, "--dir="+t.TempDir(), "--drain="+drain.String())
	meshd.WaitReady()
	addr := meshd.Address("--grpc-addr")
	type end struct{ stream, connection time.Time }
	ends := make(chan end, clients)
	for i := range clients {
		options, closed := watch()
		c := served(ctx, t, meshd, xdsclient.Options{Dial: options, Delta: i%2 == 0})
		go func() {
			s, _ := c.Wait(ctx, "the end", func(s xdsclient.State) bool { return s.Ended })
			e := end{stream: time.Now()}
			if code := status.Code(s.Err); code != codes.Unavailable || !strings.Contains(s.Err.Error(), "another replica") {
				t.Errorf("the stream ended with %v, want Unavailable", s.Err)
			}
			select {
			case <-closed:
			case <-ctx.Done():
			}
			e.connection = time.Now()
			ends <- e
		}()
	}
	began := time.Now()
	meshd.Signal(syscall.SIGTERM)
	var first, last end
	for i := range clients {
		last = <-ends
		if apart := last.connection.Sub(last.stream); apart > drain/4 {
			t.Errorf("a connection was closed %s after its stream", apart)
		}
		if i > 0 {
			continue
		}
		first = last
		if conn, err := net.Dial("tcp", addr); err == nil {
			conn.Close()
			t.Error("a new connection is accepted while the process stops")
		}
	}
	if apart := last.connection.Sub(first.connection); apart < drain/2 {
		t.Errorf("all connections were closed within %s", apart)
	}
	if code := meshd.Exit(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if took := time.Since(began); took < drain/2 || first.connection.Sub(began) > drain/2 {
		t.Errorf("the first connection was closed after %s and the process ended after %s", first.connection.Sub(began), took)
	}
}

// A connection without a stream holds nothing up.
func TestStopWithAnIdleConnection(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	meshd := process.Start(t, "--dir="+t.TempDir())
	meshd.WaitReady()
	conn, err := grpc.NewClient("passthrough:///"+meshd.Address("--grpc-addr"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Connect()
	for s := conn.GetState(); s != connectivity.Ready; s = conn.GetState() {
		if !conn.WaitForStateChange(ctx, s) {
			t.Fatal("no connection")
		}
	}
	silent, err := net.Dial("tcp", meshd.Address("--grpc-addr")) // not even a greeting
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	began := time.Now()
	if code := meshd.Stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("stopping took %v with no stream", took)
	}
}

// The limits reach the port: the age of connections, the size of requests, the number of streams.
func TestLimitsOfThePort(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	meshd := process.Start(t, "--dir="+t.TempDir(), "--max-connection-age=2s", "--max-request-size=65536", "--max-streams=2")
	meshd.WaitReady()
	options, closed := watch()
	began := time.Now()
	aging := served(ctx, t, meshd, xdsclient.Options{Dial: options})

	greedy := served(ctx, t, meshd, xdsclient.Options{})
	third, err := xdsclient.Connect(ctx, meshd.Address("--grpc-addr"), xdsclient.Options{NodeID: "sidecar~10.0.0.1~b.shop~shop"})
	if err != nil {
		t.Fatal(err)
	}
	defer third.Close()
	if s := ended(ctx, t, third); s.Code() != codes.ResourceExhausted || !strings.Contains(s.Message(), "--max-streams ") {
		t.Errorf("a third stream: %v", s)
	}
	_ = greedy.Send(&discoveryv3.DiscoveryRequest{TypeUrl: resource.EndpointType, ResourceNames: []string{strings.Repeat("x", 65536)}}) // the status says it
	if s := ended(ctx, t, greedy); s.Code() != codes.ResourceExhausted || !strings.Contains(s.Message(), "65536") {
		t.Errorf("a large request: %v", s)
	}
	if status, body := meshd.Get("/debug/admission"); status != 200 || !strings.Contains(body, `"source": "127.0.0.1"`) || strings.Contains(body, `"Open"`) {
		t.Errorf("/debug/admission: %d %s", status, body)
	}
	if s := ended(ctx, t, aging); s.Code() != codes.Unavailable || !strings.Contains(s.Message(), "maximum age") {
		t.Errorf("an old stream: %v", s)
	}
	if took := time.Since(began); took < 1800*time.Millisecond {
		t.Errorf("it ended after %s", took)
	}
	select {
	case <-closed:
	case <-ctx.Done():
		t.Error("its connection is still open")
	}
}

// gRPC's own clients do not notice that their streams grow old: every RPC is answered, and they learn what changes.
func TestStreamsGrowOld(t *testing.T) {
	eachProgram(t, func(t *testing.T, p program) {
		a, b := startBackend(t, "a"), startBackend(t, "b")
		dir := t.TempDir()
		write(t, dir, "echo.yaml", service("echo", 7070))
		write(t, dir, "a.yaml", slice("echo", a))
		meshd := process.Start(t, "--dir="+dir, "--max-connection-age=1s")
		meshd.WaitReady()
		c := startClient(t, p, meshd.Address("--grpc-addr"), proxyless)
		c.waitAnsweredBy(echoTarget, "a")
		reconnected := func() int { return strings.Count(meshd.Log(), "a client connected") - 1 }
		deadline := time.Now().Add(process.Patience)
		for reconnected() < 3 {
			if got := c.try(echoTarget); got.Backend != "a" {
				t.Fatalf("an RPC failed: %+v", got)
			}
			if time.Now().After(deadline) {
				t.Fatalf("the client came back %d times:\n%s", reconnected(), meshd.Log())
			}
			time.Sleep(10 * time.Millisecond) // between two RPCs
		}
		write(t, dir, "b.yaml", slice("echo", b))
		c.waitAnsweredBy(echoTarget, "a", "b")
		wantNoRefusals(t, meshd)
	})
}
