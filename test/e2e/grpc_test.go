package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/meshd/meshd/internal/testkit/process"
)

// backend is an echo server that says its name in a header.
type backend struct {
	grpc_health_v1.UnimplementedHealthServer
	name string
	port int
}

func (b *backend) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if err := grpc.SetHeader(ctx, metadata.Pairs("backend", b.name)); err != nil {
		return nil, err
	}
	return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_SERVING}, nil
}

func startBackend(t *testing.T, name string) *backend {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{name: name, port: l.Addr().(*net.TCPAddr).Port}
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, b)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l) // ends with Stop
	}()
	t.Cleanup(func() { server.Stop(); <-served })
	return b
}

// client is a process of its own: this test binary with a bootstrap for gRPC in its environment.
type client struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func startClient(t *testing.T, xdsAddress, target string) *client {
	t.Helper()
	bootstrap := filepath.Join(t.TempDir(), "bootstrap.json")
	content := fmt.Sprintf(`{
  "xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}], "server_features": ["xds_v3"]}],
  "node": {"id": "sidecar~127.0.0.1~client.default~default.svc.cluster.local", "cluster": "client", "locality": {},
    "metadata": {"GENERATOR": "grpc", "NAMESPACE": "default", "CLUSTER_ID": "Kubernetes"}}
}`, xdsAddress)
	if err := os.WriteFile(bootstrap, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "GRPC_XDS_BOOTSTRAP="+bootstrap, clientTarget+"="+target, "GRPC_GO_LOG_SEVERITY_LEVEL=error")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the client: %v", err)
		}
	})
	return &client{t: t, in: in, out: bufio.NewScanner(out)}
}

// call sends one RPC.
func (c *client) call() answer {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, "call"); err != nil {
		c.t.Fatal(err)
	}
	if !c.out.Scan() {
		c.t.Fatalf("the client has ended: %v", c.out.Err())
	}
	var a answer
	if err := json.Unmarshal(c.out.Bytes(), &a); err != nil {
		c.t.Fatal(err)
	}
	return a
}

// answeredBy sends some RPCs and gives the names of those who answered. No RPC may fail.
func (c *client) answeredBy() []string {
	c.t.Helper()
	seen := map[string]bool{}
	for range 8 { // round robin: twice as many as could miss one of a few
		a := c.call()
		if a.Error != "" {
			c.t.Fatalf("an RPC failed: %s", a.Error)
		}
		seen[a.Backend] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func (c *client) waitAnsweredBy(names ...string) {
	c.t.Helper()
	deadline := time.Now().Add(process.Patience)
	for {
		got := c.answeredBy()
		if slices.Equal(got, names) {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("answered by %v, want %v", got, names)
		}
		time.Sleep(10 * time.Millisecond) // between two polls
	}
}

const echoService = `
apiVersion: v1
kind: Service
metadata: {name: echo, namespace: default}
spec:
  clusterIP: 10.96.7.1
  selector: {app: echo}
  ports: [{name: grpc, port: 7070, targetPort: grpc}]
`

func echoSlice(b *backend) string {
	return fmt.Sprintf(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: echo-%s, namespace: default, labels: {kubernetes.io/service-name: echo}}
endpoints: [{addresses: [127.0.0.1], conditions: {ready: true, serving: true, terminating: false}}]
ports: [{name: grpc, port: %d, protocol: TCP}]
`, b.name, b.port)
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A stock gRPC client sends RPCs along what meshd serves, follows endpoints that come and go in the directory, and
// keeps working while meshd is away and after it is back.
func TestStockGRPCClient(t *testing.T) {
	a, b := startBackend(t, "a"), startBackend(t, "b")
	dir := t.TempDir()
	write(t, dir, "service.yaml", echoService)
	write(t, dir, "a.yaml", echoSlice(a))

	meshd := process.Start(t, "--dir="+dir)
	meshd.WaitReady()
	xds := meshd.Address("--grpc-addr")
	c := startClient(t, xds, "xds:///echo.default.svc.cluster.local:7070")
	c.waitAnsweredBy("a")

	write(t, dir, "b.yaml", echoSlice(b))
	c.waitAnsweredBy("a", "b")

	if err := os.Remove(filepath.Join(dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	c.waitAnsweredBy("b")

	if code := meshd.Stop(); code != 0 {
		t.Fatalf("exit code %d after SIGTERM, want 0", code)
	}
	if got := c.answeredBy(); !slices.Equal(got, []string{"b"}) {
		t.Fatalf("while meshd is away: answered by %v, want b alone", got)
	}

	again := process.Start(t, "--dir="+dir, "--grpc-addr="+xds)
	again.WaitReady()
	write(t, dir, "a.yaml", echoSlice(a))
	c.waitAnsweredBy("a", "b")
}
