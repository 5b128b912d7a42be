package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/meshd/meshd/internal/testkit/process"
	"github.com/meshd/meshd/internal/xds/resource"
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

// echoTarget is what clients dial for the service "echo".
const echoTarget = "xds:///echo.default.svc.cluster.local:7070"

func service(name string, port int) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: default}
spec:
  clusterIP: None
  selector: {app: %[1]s}
  ports: [{name: grpc, port: %[2]d, targetPort: grpc}]
`, name, port)
}

// slice makes a backend an endpoint of a service.
func slice(service string, b *backend) string {
	return fmt.Sprintf(`
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: %s-%s, namespace: default, labels: {kubernetes.io/service-name: %[1]s}}
endpoints: [{addresses: [127.0.0.1], conditions: {ready: true, serving: true, terminating: false}}]
ports: [{name: grpc, port: %[3]d, protocol: TCP}]
`, service, b.name, b.port)
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// A stock gRPC client sends RPCs along what meshd serves, follows endpoints that come and go in the directory, and
// keeps working while meshd is away and after it is back.
func TestStockGRPCClient(t *testing.T) {
	eachProgram(t, func(t *testing.T, p program) {
		a, b := startBackend(t, "a"), startBackend(t, "b")
		dir := t.TempDir()
		write(t, dir, "echo.yaml", service("echo", 7070))
		write(t, dir, "a.yaml", slice("echo", a))

		meshd := process.Start(t, "--dir="+dir)
		meshd.WaitReady()
		xds := meshd.Address("--grpc-addr")
		c := startClient(t, p, xds, proxyless)
		c.waitAnsweredBy(echoTarget, "a")

		write(t, dir, "b.yaml", slice("echo", b))
		c.waitAnsweredBy(echoTarget, "a", "b")

		remove(t, dir, "a.yaml")
		c.waitAnsweredBy(echoTarget, "b")

		wantNoRefusals(t, meshd)
		if code := meshd.Stop(); code != 0 {
			t.Fatalf("exit code %d after SIGTERM, want 0", code)
		}
		if got := c.answeredBy(echoTarget); !slices.Equal(got, []string{"b"}) {
			t.Fatalf("while meshd is away: answered by %v, want b alone", got)
		}

		again := process.Start(t, "--dir="+dir, "--grpc-addr="+xds)
		again.WaitReady()
		write(t, dir, "a.yaml", slice("echo", a))
		c.waitAnsweredBy(echoTarget, "a", "b")
		wantNoRefusals(t, again)
	})
}

// One client with two services: the second does not exist when it is asked for, and comes; the first goes, and comes
// back. State of the world: what is sent of the one must hold the other too, or the client loses it.
func TestServicesComeAndGo(t *testing.T) {
	eachProgram(t, func(t *testing.T, p program) {
		a, b := startBackend(t, "a"), startBackend(t, "b")
		dir := t.TempDir()
		write(t, dir, "echo.yaml", service("echo", 7070))
		write(t, dir, "a.yaml", slice("echo", a))
		meshd := process.Start(t, "--dir="+dir)
		meshd.WaitReady()
		c := startClient(t, p, meshd.Address("--grpc-addr"), proxyless)
		c.waitAnsweredBy(echoTarget, "a")

		const late = "xds:///late.default:7071"
		c.send(question{Target: late, Wait: true, Seconds: process.Patience.Seconds()})
		waitNames(meshd, resource.ListenerType, 2)
		write(t, dir, "b.yaml", slice("late", b))
		write(t, dir, "late.yaml", service("late", 7071))
		if got := c.receive(); got.Backend != "b" {
			t.Fatalf("the RPC that waited for its service got %+v, want an answer of b", got)
		}
		c.waitAnsweredBy(echoTarget, "a")

		remove(t, dir, "echo.yaml")
		c.poll("an error, as the service is gone", echoTarget, func(a answer) bool { return a.Error != "" })
		for range 8 {
			if got := c.try(late); got.Backend != "b" {
				t.Fatalf("the service that stayed: %+v, want an answer of b", got)
			}
		}

		write(t, dir, "echo.yaml", service("echo", 7070))
		if p.forgets {
			c = startClient(t, p, meshd.Address("--grpc-addr"), proxyless)
		}
		c.poll("an answer, as the service is back", echoTarget, func(a answer) bool { return a.Backend == "a" })
		wantNoRefusals(t, meshd)
	})
}

// A gRPC client that does not say that it is one is taken for an Envoy. It has no listener of the name that gRPC asks
// for, so the client waits, or gives up, and refuses nothing; meshd shows what it was taken for.
func TestWithoutGenerator(t *testing.T) {
	eachProgram(t, func(t *testing.T, p program) {
		a := startBackend(t, "a")
		dir := t.TempDir()
		write(t, dir, "echo.yaml", service("echo", 7070))
		write(t, dir, "a.yaml", slice("echo", a))
		meshd := process.Start(t, "--dir="+dir)
		meshd.WaitReady()
		c := startClient(t, p, meshd.Address("--grpc-addr"), "{}")
		c.send(question{Target: echoTarget, Wait: true, Seconds: 3})
		waitNames(meshd, resource.ListenerType, 1)
		open, err := connections(meshd)
		if err != nil {
			t.Fatal(err)
		}
		if open[0].Flavor != "envoy" {
			t.Errorf("shown as %+v, want flavor envoy", open)
		}
		if got := c.receive(); got.Error == "" {
			t.Errorf("an RPC without a listener: %+v, want an error", got)
		}
		wantNoRefusals(t, meshd)
	})
}
