package e2e

import (
	"context"
	"maps"
	"slices"
	"testing"

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

// The real process, given the scenario's folder, sends each of its proxies exactly what is expected: the same
// resources by name, and none of them different.
func TestScenarioOverTheWire(t *testing.T) {
	dir := scenario.Shared(t, "s01-bookinfo")
	meshd := process.Start(t, "--dir="+dir)
	meshd.WaitReady()
	for _, client := range scenario.Load(t, dir).Clients {
		t.Run(client.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
			defer cancel()
			c, err := xdsclient.Connect(ctx, meshd.Address("--grpc-addr"), xdsclient.Options{
				NodeID: client.Proxy.ID, Metadata: client.Proxy.Metadata.Raw,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for kind, typeURL := range types {
				expected := scenario.WithoutAPIServer(client.Expected[kind])
				var names []string
				if kind == "endpoints" || kind == "routes" {
					names = slices.Sorted(maps.Keys(expected))
				}
				if err := c.Subscribe(typeURL, names...); err != nil {
					t.Fatal(err)
				}
				state, err := c.Wait(ctx, kind, func(s xdsclient.State) bool { return len(s.Of(typeURL)) > 0 })
				if err != nil {
					t.Fatal(err)
				}
				got := map[string]any{}
				for name, message := range state.Resources[typeURL] {
					if got[name], err = scenario.JSON(message); err != nil {
						t.Fatal(err)
					}
				}
				for _, d := range scenario.Diff(expected, got) {
					t.Errorf("%s: %s", kind, d)
				}
			}
		})
	}
}
