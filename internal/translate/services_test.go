package translate_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/scenario"
	"github.com/meshd/meshd/internal/translate/cluster"
	"github.com/meshd/meshd/internal/translate/endpoint"
	"github.com/meshd/meshd/internal/translate/listener"
	"github.com/meshd/meshd/internal/translate/route"
)

const edge = "router~10.30.9.1~edge-0.shop~shop.svc.cluster.local"

// TestHeadlessForGateways: whoever calls through a gateway dialled the gateway, so it needs the members of a headless
// service, which a sidecar does not ask for.
func TestHeadlessForGateways(t *testing.T) {
	const name = "outbound|90||a.shop.svc.cluster.local"
	s := scenario.Parse(t, serviceYAML("a", "None", "http", 90, 1)+sliceYAML("a", "http", 90, "10.2.0.1")+memberYAML("a", "10.2.0.1", "istio")).Snapshot(t, nil)
	for id, want := range map[string]string{cart0: "ORIGINAL_DST 0", edge: "EDS 1"} {
		p := proxy(t, id, nil)
		c := messages(t, s, cluster.New(), p)[name].(*clusterv3.Cluster)
		assignments := 0
		if m := messages(t, s, endpoint.New(model.FlavorEnvoy), p)[name]; m != nil {
			assignments = len(m.(*endpointv3.ClusterLoadAssignment).GetEndpoints())
		}
		if got := fmt.Sprint(c.GetType(), " ", assignments); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
		if sockets := len(c.GetTransportSocketMatches()) > 0; sockets != (id == edge) {
			t.Errorf("%s: TLS by endpoint: %t", id, sockets)
		}
		checkAll(t, id, s, p)
	}
}

// TestHeadlessMutualTLS: the client of a headless service does not know whom it dialled, so it speaks TLS only if there
// is somebody, and nobody who does not take it.
func TestHeadlessMutualTLS(t *testing.T) {
	const name = "outbound|90||a.shop.svc.cluster.local"
	service := serviceYAML("a", "None", "tcp", 90, 1)
	one, two := sliceYAML("a", "tcp", 90, "10.2.0.1"), strings.Replace(sliceYAML("a", "tcp", 90, "10.2.0.2"), "name: a-1", "name: a-2", 1)
	for _, test := range []struct {
		what, objects string
		want          bool
	}{
		{"nobody", "", false},
		{"one with a sidecar", one + memberYAML("a", "10.2.0.1", "istio"), true},
		{"one without", one + two + memberYAML("a", "10.2.0.1", "istio") + memberYAML("b", "10.2.0.2", "disabled"), false},
		{"one that nothing is known of", one + two + memberYAML("a", "10.2.0.1", "istio"), false},
	} {
		s := scenario.Parse(t, service+test.objects).Snapshot(t, nil)
		c := messages(t, s, cluster.New(), proxy(t, cart0, nil))[name].(*clusterv3.Cluster)
		if got := c.GetTransportSocket() != nil; got != test.want {
			t.Errorf("%s: TLS %t", test.what, got)
		}
	}
}

// memberYAML is a pod of the shop that is a member of a service.
func memberYAML(name, address, tlsMode string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: shop, labels: {security.istio.io/tlsMode: %s}}
status: {phase: Running, podIPs: [{ip: %s}]}
`, name, tlsMode, address) + newObject
}

// TestAge: services of one age compete by name, and a name goes before a longer one that begins with it.
func TestAge(t *testing.T) {
	s := scenario.Parse(t, serviceYAML("web-canary", "10.1.0.1", "tcp", 90, 1)+serviceYAML("web", "10.1.0.1", "tcp", 90, 1)).Snapshot(t, nil)
	m := messages(t, s, listener.New(), proxy(t, cart0, nil))["10.1.0.1_90"]
	if got := summary(t, "10.1.0.1_90", m); got != "10.1.0.1_90 outbound|90||web" {
		t.Error(got)
	}
}

// TestTwoFamilies: a proxy with addresses of both families takes what is sent to the first address of a service, or with
// dual stack to either.
func TestTwoFamilies(t *testing.T) {
	both := func(service string) string {
		return strings.ReplaceAll(service, "clusterIPs: [10.1.0.1]", `clusterIPs: [10.1.0.1, "fd00::9"]`)
	}
	sc := scenario.Parse(t, both(serviceYAML("db", "10.1.0.1", "tcp", 90, 1))+both(serviceYAML("web", "10.1.0.1", "http", 80, 1)))
	first := sc.Snapshot(t, nil)
	sc.Options.DualStack = true
	stacked := sc.Snapshot(t, nil)
	four := proxy(t, cart0, nil)
	two := proxy(t, cart0, nil)
	two.IPs = append(two.IPs, "fd00::2")
	six := proxy(t, "sidecar~fd00::2~cart-0.shop~shop.svc.cluster.local", nil)
	for _, test := range []struct {
		what    string
		s       *snapshot.Snapshot
		proxy   *model.Proxy
		want    []string
		domains []string
	}{
		{"IPv4", first, four, []string{"0.0.0.0_80", "10.1.0.1_90"}, []string{"10.1.0.1"}},
		{"both", first, two, []string{"0.0.0.0_80 and ::", "10.1.0.1_90"}, []string{"10.1.0.1"}},
		{"IPv6", first, six, []string{"::_80", "fd00::9_90"}, []string{"[fd00::9]"}},
		{"IPv4 of two", stacked, four, []string{"0.0.0.0_80", "10.1.0.1_90"}, []string{"10.1.0.1"}},
		{"both of two", stacked, two, []string{"0.0.0.0_80 and ::", "10.1.0.1_90 and fd00::9"}, []string{"10.1.0.1", "[fd00::9]"}},
		{"IPv6 of two", stacked, six, []string{"::_80", "fd00::9_90"}, []string{"[fd00::9]"}},
	} {
		s := test.s
		var got []string
		for name, m := range messages(t, s, listener.New(), test.proxy) {
			for _, extra := range m.(*listenerv3.Listener).GetAdditionalAddresses() {
				name += " and " + extra.GetAddress().GetSocketAddress().GetAddress()
			}
			if !strings.HasPrefix(name, "virtual") {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: listeners (-want +got):\n%s", test.what, diff)
		}
		hosts := messages(t, s, route.New(), test.proxy)["80"].(*routev3.RouteConfiguration).GetVirtualHosts()
		domains := hosts[0].GetDomains()
		if diff := cmp.Diff(test.domains, domains[len(domains)-len(test.domains):]); diff != "" || strings.Count(strings.Join(domains, " "), "[") > 1 {
			t.Errorf("%s: domains %v (-want +got):\n%s", test.what, domains, diff)
		}
		checkAll(t, test.what, s, test.proxy)
	}
}

// TestMembersOfHeadless: each member has a listener, also one that is not ready, because clients dial what they know.
func TestMembersOfHeadless(t *testing.T) {
	slice := strings.Replace(sliceYAML("a", "tcp", 90, "10.2.0.1"), "ready: true", "ready: false, terminating: false", 1)
	s := scenario.Parse(t, serviceYAML("a", "None", "tcp", 90, 1)+slice).Snapshot(t, nil)
	if messages(t, s, listener.New(), proxy(t, cart0, nil))["10.2.0.1_90"] == nil {
		t.Error("no listener for a member that is not ready")
	}
}

// TestStickySessions: endpoints that drain are sent, and the cluster keeps them for the sessions bound to them.
func TestStickySessions(t *testing.T) {
	const name = "outbound|90||a.shop.svc.cluster.local"
	service := strings.Replace(serviceYAML("a", "10.1.0.1", "http", 90, 1), "namespace: shop", "namespace: shop, labels: {istio.io/persistent-session: id}", 1)
	slice := strings.Replace(sliceYAML("a", "http", 90, "10.2.0.1"), "ready: true", "ready: false, serving: true, terminating: true", 1)
	for _, test := range []struct {
		service, want string
	}{
		{service, "[HEALTHY DRAINING UNKNOWN DEGRADED] DRAINING"},
		{serviceYAML("a", "10.1.0.1", "http", 90, 1), "[]"},
	} {
		s := scenario.Parse(t, test.service+slice).Snapshot(t, nil)
		p := proxy(t, cart0, nil)
		got := fmt.Sprint(messages(t, s, cluster.New(), p)[name].(*clusterv3.Cluster).GetCommonLbConfig().GetOverrideHostStatus().GetStatuses())
		for _, place := range messages(t, s, endpoint.New(model.FlavorEnvoy), p)[name].(*endpointv3.ClusterLoadAssignment).GetEndpoints() {
			for _, e := range place.GetLbEndpoints() {
				got += " " + e.GetHealthStatus().String()
			}
		}
		if got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

// TestAliases: requests for an ExternalName service that leads to one of the mesh go to that one.
func TestAliases(t *testing.T) {
	alias := "apiVersion: v1\nkind: Service\nmetadata: {name: shop-front, namespace: old}\n" +
		"spec: {type: ExternalName, externalName: web.shop.svc.cluster.local, ports: [{name: http, port: 80}]}\n" + newObject
	s := scenario.Parse(t, serviceYAML("web", "10.1.0.1", "http", 80, 1)+alias).Snapshot(t, nil)
	p := proxy(t, cart0, nil)
	hosts := messages(t, s, route.New(), p)["80"].(*routev3.RouteConfiguration).GetVirtualHosts()
	want := []string{
		"web.shop.svc.cluster.local", "web.shop.svc.cluster.local.", "web", "web.shop.svc", "web.shop",
		"shop-front.old.svc.cluster.local", "shop-front.old.svc.cluster.local.", "shop-front.old", "shop-front.old.svc",
		"10.1.0.1",
	}
	if diff := cmp.Diff(want, hosts[0].GetDomains()); diff != "" || len(hosts) != 2 {
		t.Errorf("%d virtual hosts, domains (-want +got):\n%s", len(hosts), diff)
	}
	checkAll(t, "cart", s, p)
}
