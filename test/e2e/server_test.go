package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/xds"

	"github.com/meshd/meshd/internal/testkit/process"
)

// member is a workload whose gRPC server takes its listener from the mesh. PORT is where it listens.
const member = `
apiVersion: v1
kind: Pod
metadata: {name: member-0, namespace: default, labels: {app: member}}
status: {phase: Running, podIP: 127.0.0.1, podIPs: [{ip: 127.0.0.1}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: member-1, namespace: default, labels: {kubernetes.io/service-name: member}}
endpoints: [{addresses: [127.0.0.1], conditions: {ready: true}, targetRef: {kind: Pod, name: member-0, namespace: default}}]
ports: [{name: grpc, port: %[1]d, protocol: TCP}]
`

const memberService = `
apiVersion: v1
kind: Service
metadata: {name: member, namespace: default}
spec:
  clusterIP: 10.96.0.77
  clusterIPs: [10.96.0.77]
  selector: {app: member}
  ports: [{name: grpc, port: 7070, targetPort: %d}]
`

// A gRPC server that is a member of the mesh serves as long as the mesh says that something leads to its port, and
// clients of all implementations reach it by its service. Before that, and when the service is gone, it serves nobody,
// not even who knows its address.
func TestServer(t *testing.T) {
	eachProgram(t, func(t *testing.T, p program) {
		dir := t.TempDir()
		socket, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := socket.Addr().(*net.TCPAddr).Port
		write(t, dir, "pod.yaml", fmt.Sprintf(member, port))
		write(t, dir, "echo.yaml", service("echo", 7070))
		meshd := process.Start(t, "--dir="+dir)
		meshd.WaitReady()
		bootstrap := serverBootstrap(t, meshd.Address("--grpc-addr"))
		modes := make(chan connectivity.ServingMode, 16)
		server, err := xds.NewGRPCServer(grpc.Creds(insecure.NewCredentials()), xds.BootstrapContentsForTesting(bootstrap),
			xds.ServingModeCallback(func(_ net.Addr, args xds.ServingModeChangeArgs) { modes <- args.Mode }))
		if err != nil {
			t.Fatal(err)
		}
		grpc_health_v1.RegisterHealthServer(server, &backend{name: "member"})
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(socket) // ends with Stop
		}()
		t.Cleanup(func() { server.Stop(); <-served })
		c := startClient(t, p, meshd.Address("--grpc-addr"), proxyless)
		target, direct := "xds:///member:7070", socket.Addr().String()

		waitFor(t, modes, connectivity.ServingModeNotServing)
		if got := c.ask(question{Target: direct, Seconds: 2}); got.Error == "" {
			t.Errorf("without a service that leads to it, it answers: %+v", got)
		}
		write(t, dir, "member.yaml", fmt.Sprintf(memberService, port))
		waitFor(t, modes, connectivity.ServingModeServing)
		c.waitAnsweredBy(target, "member")
		c.poll("an answer, as the server is there now", direct, func(a answer) bool { return a.Backend == "member" })
		remove(t, dir, "member.yaml")
		waitFor(t, modes, connectivity.ServingModeNotServing)
		c.poll("an error, as the service is gone", direct, func(a answer) bool { return a.Error != "" })
		wantNoRefusals(t, meshd)
	})
}

// serverBootstrap is that of the server, for the xDS server at the address.
func serverBootstrap(t *testing.T, xdsAddress string) []byte {
	t.Helper()
	bootstrap, err := json.Marshal(map[string]any{
		"xds_servers": []any{map[string]any{
			"server_uri": xdsAddress, "channel_creds": []any{map[string]any{"type": "insecure"}},
			"server_features": []any{"xds_v3"},
		}},
		"node": map[string]any{
			"id": "sidecar~127.0.0.1~member-0.default~default.svc.cluster.local", "locality": map[string]any{},
			"metadata": map[string]any{"GENERATOR": "grpc", "NAMESPACE": "default", "LABELS": map[string]any{"app": "member"}},
		},
		"server_listener_resource_name_template": "xds.istio.io/grpc/lds/inbound/%s",
	})
	if err != nil {
		t.Fatal(err)
	}
	return bootstrap
}

// ask sends one RPC.
func (c *client) ask(q question) answer {
	c.t.Helper()
	c.send(q)
	return c.receive()
}

func waitFor(t *testing.T, modes <-chan connectivity.ServingMode, want connectivity.ServingMode) {
	t.Helper()
	late := time.After(process.Patience)
	for {
		select {
		case got := <-modes:
			if got == want {
				return
			}
		case <-late:
			t.Fatalf("the server is not %v", want)
		}
	}
}
