package e2e

import (
	"context"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/testkit/process"
	"github.com/meshd/meshd/internal/testkit/scenario"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	// They bring the types of all extensions, so that the resources can be shown.
	_ "github.com/meshd/meshd/internal/translate/cluster"
	_ "github.com/meshd/meshd/internal/translate/listener"
	_ "github.com/meshd/meshd/internal/translate/route"
	"github.com/meshd/meshd/internal/xds/resource"
)

var types = map[string]string{
	"clusters": resource.ClusterType, "endpoints": resource.EndpointType,
	"listeners": resource.ListenerType, "routes": resource.RouteType,
}

// The real process, given the scenario's folder, sends each of its proxies exactly what is expected, in both protocols:
// the same resources by name, and none of them different. A delta client that comes back gets none of them again.
func TestScenarioOverTheWire(t *testing.T) {
	dir := scenario.Shared(t, "s01-bookinfo")
	meshd := process.Start(t, "--dir="+dir)
	meshd.WaitReady()
	for _, client := range scenario.Load(t, dir).Clients {
		t.Run(client.Name, func(t *testing.T) {
			inSotW := receiveScenario(t, meshd, client, xdsclient.Options{})
			inDelta := receiveScenario(t, meshd, client, xdsclient.Options{Delta: true})
			for kind, typeURL := range types {
				expected := scenario.WithoutAPIServer(client.Expected[kind])
				sotw, delta := shown(t, inSotW.Resources[typeURL]), shown(t, inDelta.Resources[typeURL])
				for _, d := range scenario.Diff(expected, sotw) {
					t.Errorf("%s: %s", kind, d)
				}
				for _, d := range scenario.Diff(sotw, delta) {
					t.Errorf("%s in delta, compared with the state of the world: %s", kind, d)
				}
			}
			again := receiveScenario(t, meshd, client, xdsclient.Options{Delta: true, Have: inDelta.Versions})
			for _, r := range again.Deltas {
				if len(r.GetResources()) > 0 || len(r.GetRemovedResources()) > 0 || r.GetSystemVersionInfo() == "" {
					t.Errorf("a client that has everything is sent %d resources of %s and told to remove %q",
						len(r.GetResources()), r.GetTypeUrl(), r.GetRemovedResources())
				}
			}
		})
	}
}

// receiveScenario gives what a client of a scenario has when each type was answered.
func receiveScenario(t *testing.T, meshd *process.Meshd, client scenario.Client, opts xdsclient.Options) xdsclient.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	opts.NodeID, opts.Metadata = client.Proxy.ID, client.Proxy.Metadata.Raw
	c, err := xdsclient.Connect(ctx, meshd.Address("--grpc-addr"), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for kind, typeURL := range types {
		var names []string
		if kind == "endpoints" || kind == "routes" {
			names = slices.Sorted(maps.Keys(scenario.WithoutAPIServer(client.Expected[kind])))
		}
		if err := c.Subscribe(typeURL, names...); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Wait(ctx, kind, func(s xdsclient.State) bool { return len(s.Of(typeURL)) > 0 }); err != nil {
			t.Fatal(err)
		}
	}
	return c.State()
}

// shown gives resources in the form in which scenarios have them.
func shown(t *testing.T, resources map[string]proto.Message) map[string]any {
	t.Helper()
	out := map[string]any{}
	for name, message := range resources {
		var err error
		if out[name], err = scenario.JSON(message); err != nil {
			t.Fatal(err)
		}
	}
	return out
}
