package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/meshd/meshd/internal/testkit/process"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// connection is what these tests read of /debug/connections.
type connection struct {
	Flavor string
	Types  []struct {
		Type                    string
		Names                   int
		Unacknowledged, Pending bool
		Refused                 string
	}
}

func connections(meshd *process.Meshd) ([]connection, error) {
	status, body := meshd.Get("/debug/connections")
	if status != http.StatusOK {
		return nil, fmt.Errorf("/debug/connections: %d %s", status, body)
	}
	var out struct{ Clients []connection }
	return out.Clients, json.Unmarshal([]byte(body), &out)
}

// waitNames waits until clients have subscribed so many names of a type in all, and have acknowledged what there is of
// them. An implementation may have one stream for all its targets, or one for each.
func waitNames(meshd *process.Meshd, typeURL string, want int) {
	meshd.Eventually(fmt.Sprintf("%d names of %s", want, typeURL), func() error {
		open, err := connections(meshd)
		if err != nil {
			return err
		}
		names := 0
		for _, c := range open {
			for _, s := range c.Types {
				if s.Type == typeURL && !s.Unacknowledged && !s.Pending {
					names += s.Names
				}
			}
		}
		if names != want {
			return fmt.Errorf("%+v", open)
		}
		return nil
	})
}

// refusals are the lines of the metrics that count responses that clients refused.
func refusals(t *testing.T, meshd *process.Meshd) []string {
	t.Helper()
	status, body := meshd.Get("/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics: %d %s", status, body)
	}
	return slices.DeleteFunc(strings.Split(body, "\n"), func(line string) bool {
		return !strings.HasPrefix(line, "pilot_total_xds_rejects{")
	})
}

// wantNoRefusals fails if any client has refused anything. The log of meshd, which is then shown, has the reason.
func wantNoRefusals(t *testing.T, meshd *process.Meshd) {
	t.Helper()
	if r := refusals(t, meshd); len(r) > 0 {
		t.Errorf("a client refused what it was sent: %q", r)
	}
}

// connect opens a stream as a gRPC library would, for what those that exist do not do when a test wants it.
func connect(t *testing.T, meshd *process.Meshd, judge func(*discoveryv3.DiscoveryResponse) error) (context.Context, *xdsclient.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	t.Cleanup(cancel)
	var metadata map[string]any
	if err := json.Unmarshal([]byte(proxyless), &metadata); err != nil {
		t.Fatal(err)
	}
	c, err := xdsclient.Connect(ctx, meshd.Address("--grpc-addr"), xdsclient.Options{
		NodeID: "sidecar~127.0.0.1~client.default~default.svc.cluster.local", Metadata: metadata, Judge: judge,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return ctx, c
}

const (
	echoListener = "echo.default.svc.cluster.local:7070"
	echoCluster  = "outbound|7070||echo.default.svc.cluster.local"
)

// A response that a gRPC client refuses is counted and shown with the client's reason, and does not come again: not at
// once, and not when something else changes.
func TestRefusedByGRPC(t *testing.T) {
	t.Parallel()
	a, b := startBackend(t, "a"), startBackend(t, "b")
	dir := t.TempDir()
	write(t, dir, "echo.yaml", service("echo", 7070))
	write(t, dir, "a.yaml", slice("echo", a))
	meshd := process.Start(t, "--dir="+dir)
	meshd.WaitReady()
	ctx, c := connect(t, meshd, func(r *discoveryv3.DiscoveryResponse) error {
		if r.GetTypeUrl() == resource.ListenerType {
			return errors.New("not to my taste")
		}
		return nil
	})
	subscribe(t, c, resource.ListenerType, echoListener)
	waitNames(meshd, resource.ListenerType, 1)
	subscribe(t, c, resource.EndpointType, echoCluster)
	waitResponses(ctx, t, c, resource.EndpointType, 1)
	write(t, dir, "b.yaml", slice("echo", b))
	state := waitResponses(ctx, t, c, resource.EndpointType, 2)
	if n := len(state.Of(resource.ListenerType)); n != 1 {
		t.Errorf("the refused response came %d times: %s", n, state)
	}
	if got, want := refusals(t, meshd), `pilot_total_xds_rejects{type="lds"} 1`; !slices.Equal(got, []string{want}) {
		t.Errorf("counted %q, want %q", got, want)
	}
	meshd.WaitLog("refused", "lds", "not to my taste")
	open, err := connections(meshd)
	if err != nil {
		t.Fatal(err)
	}
	if len(open) != 1 || len(open[0].Types) != 2 || !strings.Contains(fmt.Sprint(open), "not to my taste") {
		t.Errorf("shown as %+v, want the reason", open)
	}
}

// A request without names after one that had some ends the subscription: gRPC libraries send it when their last
// channel to a name is closed. It does not ask for everything.
func TestLastNameDropped(t *testing.T) {
	t.Parallel()
	a := startBackend(t, "a")
	dir := t.TempDir()
	write(t, dir, "echo.yaml", service("echo", 7070))
	meshd := process.Start(t, "--dir="+dir)
	meshd.WaitReady()
	ctx, c := connect(t, meshd, nil)
	subscribe(t, c, resource.ListenerType, echoListener)
	waitResponses(ctx, t, c, resource.ListenerType, 1)
	waitNames(meshd, resource.ListenerType, 1)
	subscribe(t, c, resource.ListenerType)
	waitNames(meshd, resource.ListenerType, 0)

	// A listener comes, which a subscription to everything would get before the endpoints that are waited for.
	subscribe(t, c, resource.EndpointType, echoCluster)
	waitResponses(ctx, t, c, resource.EndpointType, 1)
	write(t, dir, "late.yaml", service("late", 7071))
	write(t, dir, "a.yaml", slice("echo", a))
	state := waitResponses(ctx, t, c, resource.EndpointType, 2)
	if n := len(state.Of(resource.ListenerType)); n != 1 {
		t.Errorf("%d responses with listeners, of which none is wanted: %s", n, state)
	}

	subscribe(t, c, resource.ListenerType, echoListener)
	waitResponses(ctx, t, c, resource.ListenerType, 2)
	wantNoRefusals(t, meshd)
}

func subscribe(t *testing.T, c *xdsclient.Client, typeURL string, names ...string) {
	t.Helper()
	if err := c.Subscribe(typeURL, names...); err != nil {
		t.Fatal(err)
	}
}

// waitResponses waits for the response of that number, and gives what the client has then.
func waitResponses(ctx context.Context, t *testing.T, c *xdsclient.Client, typeURL string, want int) xdsclient.State {
	t.Helper()
	state, err := c.Wait(ctx, fmt.Sprintf("response %d of %s", want, typeURL), func(s xdsclient.State) bool {
		return len(s.Of(typeURL)) >= want
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}
