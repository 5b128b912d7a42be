package proxyless_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/xds"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/scenario"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/proxyless"
)

// ads hands out what the generators make, by name, as soon as it is asked. It is as much of the protocol as clients
// that accept everything need.
type ads struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	snapshot   *snapshot.Snapshot
	generators map[string]translate.Generator

	mu      sync.Mutex
	refused []string
}

func (a *ads) StreamAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	var proxy *model.Proxy
	sent := map[string][]string{}
	for {
		request, err := stream.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) || stream.Context().Err() != nil {
				return nil
			}
			return err
		}
		if refusal := request.GetErrorDetail(); refusal != nil {
			// A client that is being closed refuses what it has no use for any more.
			if refusal.GetMessage() != "xdsChannel is closed" {
				a.mu.Lock()
				a.refused = append(a.refused, request.GetTypeUrl()+": "+refusal.GetMessage())
				a.mu.Unlock()
			}
			continue
		}
		if proxy == nil {
			if proxy, err = model.NewProxy(request.GetNode().GetId(), request.GetNode().GetMetadata().AsMap()); err != nil {
				return err
			}
		}
		names := slices.Sorted(slices.Values(request.GetResourceNames()))
		if slices.Equal(names, sent[request.GetTypeUrl()]) {
			continue // an acknowledgement
		}
		sent[request.GetTypeUrl()] = names
		response, err := a.answer(proxy, request.GetTypeUrl(), names)
		if err != nil {
			return err
		}
		if err := stream.Send(response); err != nil {
			return err
		}
	}
}

func (a *ads) answer(proxy *model.Proxy, typeURL string, names []string) (*discoveryv3.DiscoveryResponse, error) {
	g, ok := a.generators[typeURL]
	if !ok {
		return nil, fmt.Errorf("no generator of %s", typeURL)
	}
	response := &discoveryv3.DiscoveryResponse{TypeUrl: typeURL, VersionInfo: "1", Nonce: fmt.Sprint(names)}
	for _, name := range names {
		recipe, ok := g.Named(a.snapshot, g.Class(a.snapshot, proxy), name)
		if !ok {
			continue
		}
		m, err := recipe.Build()
		if err != nil {
			return nil, err
		}
		packed, err := anypb.New(m)
		if err != nil {
			return nil, err
		}
		response.Resources = append(response.Resources, packed)
	}
	return response, nil
}

// TestStockClient: gRPC's own client finds a service, under each of its names, and gRPC's own server serves it.
func TestStockClient(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	socket := listen(t)
	port := socket.Addr().(*net.TCPAddr).Port
	control := &ads{snapshot: scenario.Parse(t, objects(port)).Snapshot(t, nil), generators: map[string]translate.Generator{}}
	for _, g := range proxyless.Generators() {
		control.generators[g.TypeURL()] = g
	}
	t.Cleanup(func() {
		control.mu.Lock()
		defer control.mu.Unlock()
		if len(control.refused) > 0 {
			t.Errorf("refused: %q", control.refused)
		}
	})
	adsSocket := listen(t)
	adsServer := grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(adsServer, control)
	serve(t, adsServer, adsSocket)
	bootstrap := bootstrap(t, adsSocket.Addr().String())

	serving := make(chan error, 16)
	server, err := xds.NewGRPCServer(grpc.Creds(insecure.NewCredentials()), xds.BootstrapContentsForTesting(bootstrap),
		xds.ServingModeCallback(func(_ net.Addr, args xds.ServingModeChangeArgs) {
			if args.Mode == connectivity.ServingModeServing {
				serving <- nil
			} else if args.Err != nil {
				serving <- args.Err
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	healthv1.RegisterHealthServer(server, health.NewServer())
	serve(t, server, socket)
	select {
	case err := <-serving:
		if err != nil {
			t.Fatalf("the server got a listener that it cannot serve: %v", err)
		}
	case <-ctx.Done():
		t.Fatal("the server got no listener")
	}

	resolver, err := xds.NewXDSResolverWithConfigForTesting(bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"echo.shop.svc.cluster.local", "echo.shop", "echo"} {
		t.Run(host, func(t *testing.T) {
			conn, err := grpc.NewClient("xds:///"+net.JoinHostPort(host, "7070"),
				grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(resolver))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			var server peer.Peer
			if _, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{}, grpc.Peer(&server), grpc.WaitForReady(true)); err != nil {
				t.Fatal(err)
			}
			if got, want := server.Addr.String(), socket.Addr().String(); got != want {
				t.Errorf("the call went to %s, want %s", got, want)
			}
		})
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serve runs a server until the test ends.
func serve(t *testing.T, s interface {
	Serve(net.Listener) error
	Stop()
}, l net.Listener) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-done; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("serve: %v", err)
		}
	})
}

func bootstrap(t *testing.T, address string) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"xds_servers": []any{map[string]any{
			"server_uri":      address,
			"channel_creds":   []any{map[string]any{"type": "insecure"}},
			"server_features": []any{"xds_v3"},
		}},
		"node": map[string]any{
			"id":       "sidecar~127.0.0.1~echo-0.shop~shop.svc.cluster.local",
			"locality": map[string]any{},
			"metadata": map[string]any{
				"GENERATOR": "grpc", "NAMESPACE": "shop", "CLUSTER_ID": "Kubernetes",
				"LABELS": map[string]any{"app": "echo"},
			},
		},
		"server_listener_resource_name_template": "xds.istio.io/grpc/lds/inbound/%s",
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// objects are a service whose one pod is this process.
func objects(port int) string {
	return `apiVersion: v1
kind: Service
metadata: {name: echo, namespace: shop}
spec:
  selector: {app: echo}
  clusterIP: 10.1.0.1
  clusterIPs: [10.1.0.1]
  ports:
  - {name: grpc, port: 7070, targetPort: ` + strconv.Itoa(port) + `, protocol: TCP}
---
apiVersion: v1
kind: Pod
metadata: {name: echo-0, namespace: shop, labels: {app: echo}}
status: {phase: Running, podIP: 127.0.0.1, podIPs: [{ip: 127.0.0.1}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: echo-1, namespace: shop, labels: {kubernetes.io/service-name: echo}}
endpoints:
- {addresses: [127.0.0.1], conditions: {ready: true}, targetRef: {kind: Pod, name: echo-0, namespace: shop}}
ports:
- {name: grpc, port: ` + strconv.Itoa(port) + `, protocol: TCP}
`
}
