package translate_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/testkit/scenario"
	"github.com/meshd/meshd/internal/translate/listener"
)

const newObject = "\n---\n"

// serviceYAML is a service; day is the day of its creation.
func serviceYAML(name, address, port string, number, day int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Service
metadata: {name: %s, namespace: shop, creationTimestamp: "2026-01-%02dT00:00:00Z"}
spec:
  selector: {app: %s}
  clusterIP: %s
  clusterIPs: [%s]
  ports:
  - {name: %s, port: %d, protocol: TCP}
`, name, day, name, address, address, port, number) + newObject
}

// sliceYAML is one endpoint of a service.
func sliceYAML(service, port string, number int, address string) string {
	return fmt.Sprintf(`apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: %s-1, namespace: shop, labels: {kubernetes.io/service-name: %s}}
endpoints:
- {addresses: [%s], conditions: {ready: true}}
ports:
- {name: %s, port: %d, protocol: TCP}
`, service, service, address, port, number) + newObject
}

// TestListenerConflicts: who gets an address and port that two services claim, and what for. Shown are the listener,
// where connections go, and the route configuration of requests.
func TestListenerConflicts(t *testing.T) {
	tests := []struct {
		name    string
		objects string
		want    []string
	}{
		{
			"HTTP beside TCP on one port number",
			serviceYAML("web", "10.1.0.1", "http", 90, 1) + serviceYAML("db", "10.1.0.2", "tcp", 90, 2),
			[]string{"0.0.0.0_90 PassthroughCluster 90", "10.1.0.2_90 outbound|90||db"},
		},
		{
			// The address is a domain of one virtual host only: Envoy refuses a table with a domain that occurs twice.
			"two HTTP services with one address",
			serviceYAML("a", "10.1.0.1", "http", 90, 1) + serviceYAML("b", "10.1.0.1", "http", 90, 2),
			[]string{"0.0.0.0_90 PassthroughCluster 90"},
		},
		{
			"two TCP services with one address: the older",
			serviceYAML("young", "10.1.0.1", "tcp", 90, 2) + serviceYAML("zold", "10.1.0.1", "tcp", 90, 1),
			[]string{"10.1.0.1_90 outbound|90||zold"},
		},
		{
			"of one age: the first by name",
			serviceYAML("b", "10.1.0.1", "tcp", 90, 1) + serviceYAML("a", "10.1.0.1", "tcp", 90, 1),
			[]string{"10.1.0.1_90 outbound|90||a"},
		},
		{
			"undeclared after TCP adds detection",
			serviceYAML("db", "10.1.0.1", "tcp", 90, 1) + serviceYAML("any", "10.1.0.1", "any", 90, 2),
			[]string{"10.1.0.1_90 outbound|90||db any.shop.svc.cluster.local:90"},
		},
		{
			"TCP after undeclared changes nothing",
			serviceYAML("db", "10.1.0.1", "tcp", 90, 2) + serviceYAML("any", "10.1.0.1", "any", 90, 1),
			[]string{"10.1.0.1_90 outbound|90||any any.shop.svc.cluster.local:90"},
		},
		{
			"no detection where the server speaks first",
			serviceYAML("db", "10.1.0.1", "mongo", 90, 1) + serviceYAML("any", "10.1.0.1", "any", 90, 2),
			[]string{"10.1.0.1_90 outbound|90||db"},
		},
		{
			"two headless services with one member",
			serviceYAML("a", "None", "tcp", 90, 1) + sliceYAML("a", "tcp", 90, "10.2.0.1") +
				serviceYAML("b", "None", "any", 90, 2) + sliceYAML("b", "any", 90, "10.2.0.1"),
			[]string{"10.2.0.1_90 outbound|90||a b.shop.svc.cluster.local:90"},
		},
		{
			"a headless service without members",
			serviceYAML("a", "None", "tcp", 90, 1),
			nil,
		},
		{
			"ports of the proxy are not for HTTP services",
			serviceYAML("a", "10.1.0.1", "http", 15001, 1) + serviceYAML("b", "10.1.0.2", "http", 15090, 1) +
				serviceYAML("c", "10.1.0.3", "tcp", 15006, 1),
			[]string{"10.1.0.3_15006 outbound|15006||c"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := scenario.Parse(t, test.objects).Snapshot(t, nil)
			p := proxy(t, cart0, nil)
			g := listener.New()
			var got []string
			for _, r := range g.List(g.Class(s, p)).All(s) {
				if r.Name == "virtualInbound" || r.Name == "virtualOutbound" {
					continue
				}
				m, err := r.Build()
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, summary(t, r.Name, m))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("listeners (-want +got):\n%s", diff)
			}
			checkAll(t, "cart", s, p)
		})
	}
}
