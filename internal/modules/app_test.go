package modules

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// runOptions are options with which the real application runs beside others: ports of the kernel's choice.
func runOptions(t testing.TB) Options {
	o := testOptions()
	o.Dir = "testdata/mesh"
	o.GRPCAddr, o.HTTPAddr, o.MonitoringAddr = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	o.AddressesFile = filepath.Join(t.TempDir(), "addresses.json")
	o.Domain, o.ClusterID = "cluster.local", "Kubernetes"
	o.DebounceAfter, o.DebounceMax = 100*time.Millisecond, 10*time.Second
	o.EndpointDebounceAfter, o.EndpointDebounceMax = 10*time.Millisecond, 100*time.Millisecond
	o.Drain = time.Second
	o.Log = zap.NewNop()
	return o
}

// app is the real application, running in this process.
type app struct {
	runner *lifecycle.Runner
	opts   Options
}

// start runs the components to the end of their start, and stops them at the end of the test unless stop was called.
func start(t testing.TB, o Options, components []lifecycle.Component, run lifecycle.Options) *app {
	t.Helper()
	runner, err := lifecycle.New(components, o.Log, run)
	if err != nil {
		t.Fatal(err)
	}
	if err := runner.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	return &app{runner: runner, opts: o}
}

func (a *app) stop(t testing.TB) {
	t.Helper()
	if err := a.runner.Stop(); err != nil {
		t.Error(err)
	}
}

func (a *app) address(t testing.TB, flag string) string {
	t.Helper()
	data, err := os.ReadFile(a.opts.AddressesFile)
	if err != nil {
		t.Fatal(err)
	}
	bound := map[string]string{}
	if err := json.Unmarshal(data, &bound); err != nil {
		t.Fatal(err)
	}
	return bound[flag]
}

// firstAnswer asks for all clusters, as a sidecar does first, and gives the answer's resources as bytes.
func (a *app) firstAnswer(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c := a.sidecar(ctx, t)
	defer c.Close()
	state, err := c.Wait(ctx, "clusters", func(s xdsclient.State) bool { return len(s.Of(resource.ClusterType)) > 0 })
	if err != nil {
		t.Fatal(err)
	}
	// The nonce is new for every response; everything else must be the same.
	answer := proto.CloneOf(state.Of(resource.ClusterType)[0])
	answer.Nonce = ""
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal((*discoveryv3.DiscoveryResponse)(answer))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// sidecar is a client that asks for all clusters. What it has not said before it is closed, the server may never hear.
func (a *app) sidecar(ctx context.Context, t testing.TB) *xdsclient.Client {
	t.Helper()
	c, err := xdsclient.Connect(ctx, a.address(t, "--grpc-addr"), xdsclient.Options{
		NodeID: "sidecar~10.244.7.1~echo-1.default~default.svc.cluster.local", Metadata: map[string]any{"NAMESPACE": "default"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Subscribe(resource.ClusterType); err != nil {
		c.Close()
		t.Fatal(err)
	}
	return c
}

// freePort gives a port that nobody had a moment ago, for a client that must know it before it is bound.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}
