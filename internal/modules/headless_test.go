package modules

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// headless is a service without address. Its ports are "name:number".
func headless(name string, ports ...string) string {
	out := fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: shop}\nspec:\n  clusterIP: None\n  ports:\n", name)
	for _, p := range ports {
		port, number, _ := strings.Cut(p, ":")
		out += fmt.Sprintf("  - {name: %s, port: %s}\n", port, number)
	}
	return out
}

// members are the endpoints of a service.
func members(name string, ports []string, addresses ...string) string {
	out := fmt.Sprintf("---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\n"+
		"metadata: {name: %s-1, namespace: shop, labels: {kubernetes.io/service-name: %[1]s}}\nports:\n", name)
	for _, p := range ports {
		port, number, _ := strings.Cut(p, ":")
		out += fmt.Sprintf("- {name: %s, port: %s}\n", port, number)
	}
	out += "endpoints:\n"
	for _, a := range addresses {
		out += fmt.Sprintf("- {addresses: [%s], conditions: {ready: true}}\n", a)
	}
	if len(addresses) == 0 {
		out = strings.TrimSuffix(out, "\n") + " []\n"
	}
	return out
}

// What becomes of a headless service that is scaled: the listeners of sidecars follow its TCP ports, and for HTTP ports no
// listener, cluster or route is sent again; endpoints go to those who ask for them, and only to them.
func TestCaseD8(t *testing.T) {
	for _, delta := range []bool{false, true} {
		t.Run(fmt.Sprint("delta ", delta), func(t *testing.T) { testCaseD8(t, delta) })
	}
}

func testCaseD8(t *testing.T, delta bool) {
	o := runOptions(t)
	o.Dir = t.TempDir()
	o.DebounceAfter = 20 * time.Millisecond
	write := func(name, text string) {
		t.Helper()
		// In one piece: a file that is being written to would be read later.
		if err := os.WriteFile(filepath.Join(o.Dir, "."+name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(o.Dir, "."+name), filepath.Join(o.Dir, name+".yaml")); err != nil {
			t.Fatal(err)
		}
	}
	services := map[string][]string{"tcp": {"tcp:9000"}, "http": {"http:8000"}, "both": {"tcp:9001", "http:8001"}, "barrier": {"http:7000"}}
	clusters := []string{"outbound|7000||barrier.shop.svc.cluster.local"}
	for name, ports := range services {
		write(name, headless(name, ports...)+members(name, ports))
		for _, p := range ports {
			_, number, _ := strings.Cut(p, ":")
			clusters = append(clusters, "outbound|"+number+"||"+name+".shop.svc.cluster.local")
		}
	}
	a := start(t, o, All(o), lifecycle.Options{})
	defer a.stop(t)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	connect := func(node string) *xdsclient.Client {
		t.Helper()
		c, err := xdsclient.Connect(ctx, a.address(t, "--grpc-addr"), xdsclient.Options{
			NodeID: node + "~10.244.9.9~x-1.shop~shop.svc.cluster.local", Metadata: map[string]any{"NAMESPACE": "shop"}, Delta: delta,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		for _, wanted := range [][]string{{resource.ClusterType}, {resource.ListenerType}, append([]string{resource.EndpointType}, clusters...), {resource.RouteType, "8000", "8001"}} {
			if err := c.Subscribe(wanted[0], wanted[1:]...); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Wait(ctx, "the first answer", func(s xdsclient.State) bool { return len(s.Of(wanted[0])) > 0 }); err != nil {
				t.Fatal(err)
			}
		}
		return c
	}
	sidecar, gateway := connect("sidecar"), connect("router")

	// reached waits until the gateway has a number of endpoints behind a cluster.
	reached := func(cluster string, n int) {
		t.Helper()
		if _, err := gateway.Wait(ctx, fmt.Sprint(n, " behind ", cluster), func(s xdsclient.State) bool {
			e, ok := s.Resources[resource.EndpointType][cluster].(*endpointv3.ClusterLoadAssignment)
			got := 0
			for _, place := range e.GetEndpoints() {
				got += len(place.GetLbEndpoints())
			}
			return ok && got == n
		}); err != nil {
			t.Fatal(err)
		}
	}
	turn := 0
	// settled waits until what went before a change of something else has gone out.
	settled := func() {
		t.Helper()
		for range 2 {
			turn = 1 - turn
			list := []string{"10.8.0.1"}[:turn]
			write("barrier", headless("barrier", services["barrier"]...)+members("barrier", services["barrier"], list...))
			reached(clusters[0], turn)
		}
	}
	counts := func(c *xdsclient.Client) map[string]int {
		out := map[string]int{}
		for _, typeURL := range []string{resource.ClusterType, resource.ListenerType, resource.RouteType} {
			out[resource.TypeOf(typeURL).Short] = len(c.State().Of(typeURL))
		}
		return out
	}
	listeners := func() []string {
		var out []string
		for name := range sidecar.State().Resources[resource.ListenerType] {
			if strings.HasPrefix(name, "10.9.") {
				out = append(out, name)
			}
		}
		slices.Sort(out)
		return out
	}
	for name, want := range map[string]struct{ cluster, port string }{
		"tcp": {"outbound|9000||tcp.shop.svc.cluster.local", "_9000"}, "http": {"outbound|8000||http.shop.svc.cluster.local", ""},
		"both": {"outbound|8001||both.shop.svc.cluster.local", "_9001"},
	} {
		for _, addresses := range [][]string{{"10.9.0.1", "10.9.0.2"}, {"10.9.0.2"}, {}} {
			settled()
			before, others := counts(sidecar), counts(gateway)
			write(name, headless(name, services[name]...)+members(name, services[name], addresses...))
			reached(want.cluster, len(addresses))
			settled()
			if want.port != "" {
				before["lds"]++
			}
			if after := counts(sidecar); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("%s scaled to %v: responses to a sidecar so far: %v, want %v", name, addresses, after, before)
			}
			if after := counts(gateway); fmt.Sprint(after) != fmt.Sprint(others) {
				t.Errorf("%s scaled to %v: responses to a gateway so far: %v, want %v", name, addresses, after, others)
			}
			var expected []string
			for _, address := range addresses {
				if want.port != "" {
					expected = append(expected, address+want.port)
				}
			}
			if got := listeners(); !slices.Equal(got, expected) {
				t.Errorf("%s scaled to %v: listeners %v, want %v", name, addresses, got, expected)
			}
		}
	}
}
