package translate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/google/go-cmp/cmp"
)

// front0 is a sidecar of the shop that most services do not lead to.
const front0 = "sidecar~10.30.0.1~front-0.shop~shop.svc.cluster.local"

const webCluster = "outbound|80||web.shop.svc.cluster.local"

// podYAML is a running pod, or one in another phase. Without address it has none.
func podYAML(name, app, address, phase string) string {
	status := "status: {phase: " + phase + "}\n"
	if address != "" {
		status = fmt.Sprintf("status: {phase: %s, podIP: %s, podIPs: [{ip: %[2]s}]}\n", phase, address)
	}
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: shop, labels: {app: %s, service.istio.io/workload-name: %s}}\n", name, app, name) + status + newObject
}

// endpointsYAML is a slice of the service "web" on port 80, of addresses or of pods as "pod@address", each with "!" in
// front if it is not ready.
func endpointsYAML(name, service string, members ...string) string {
	out := fmt.Sprintf("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\naddressType: IPv4\n"+
		"metadata: {name: %s, namespace: shop, labels: {kubernetes.io/service-name: %s}}\n"+
		"ports: [{name: http, port: 80, protocol: TCP}]\nendpoints:\n", name, service)
	for _, m := range members {
		m, notReady := strings.CutPrefix(m, "!")
		pod, address, found := strings.Cut(m, "@")
		if !found {
			pod, address = "", m
		}
		if out += fmt.Sprintf("- {addresses: [%s], conditions: {ready: %t, terminating: false}", address, !notReady); pod != "" {
			out += ", targetRef: {kind: Pod, name: " + pod + ", namespace: shop}"
		}
		out += "}\n"
	}
	if len(members) == 0 {
		out = strings.TrimSuffix(out, "\n") + " []\n"
	}
	return out + newObject
}

// An address that moves from one slice to another is there exactly once, at every step and whatever their order: one
// that leaves does not take it along.
func TestCaseD1(t *testing.T) {
	both, first, second := endpointsYAML("s1", "web", "10.0.0.1", "10.0.0.2"), endpointsYAML("s1", "web", "10.0.0.1"), endpointsYAML("s2", "web", "10.0.0.2")
	tests := map[string][]struct {
		apply, remove string
		want          []string
	}{
		"add, then delete": {
			{both, "", []string{"10.0.0.1:80", "10.0.0.2:80"}},
			{second, "", []string{"10.0.0.1:80", "10.0.0.2:80"}},
			{"", "EndpointSlice shop/s1", []string{"10.0.0.2:80"}},
		},
		"delete, then add": {
			{both, "", []string{"10.0.0.1:80", "10.0.0.2:80"}},
			{"", "EndpointSlice shop/s1", []string{}},
			{second, "", []string{"10.0.0.2:80"}},
		},
		"add, then shrink": {
			{both, "", []string{"10.0.0.1:80", "10.0.0.2:80"}},
			{second, "", []string{"10.0.0.1:80", "10.0.0.2:80"}},
			{first, "", []string{"10.0.0.1:80", "10.0.0.2:80"}},
			{"", "EndpointSlice shop/s2", []string{"10.0.0.1:80"}},
		},
		"one of them is behind": {
			{both, "", []string{"10.0.0.1:80", "10.0.0.2:80"}},
			// Whatever order the slices are read in, an address counts as good if one of them says so.
			{endpointsYAML("s2", "web", "!10.0.0.2", "!10.0.0.1"), "", []string{"10.0.0.1:80", "10.0.0.2:80"}},
			{"", "EndpointSlice shop/s1", []string{"10.0.0.1:80 UNHEALTHY", "10.0.0.2:80 UNHEALTHY"}},
			{endpointsYAML("s0", "web", "10.0.0.2"), "", []string{"10.0.0.1:80 UNHEALTHY", "10.0.0.2:80"}},
		},
		"all at once": {{both + second, "", []string{"10.0.0.1:80", "10.0.0.2:80"}}},
		"to another service": {
			{both + serviceYAML("other", "10.1.0.2", "http", 80, 1), "", []string{"10.0.0.1:80", "10.0.0.2:80"}},
			{endpointsYAML("s1", "other", "10.0.0.1", "10.0.0.2"), "", []string{}},
			{second, "", []string{"10.0.0.2:80"}},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, proxy(t, front0, nil))
			w.apply(serviceYAML("web", "10.1.0.1", "http", 80, 1))
			for i, step := range steps {
				if step.apply != "" {
					w.apply(step.apply)
				} else {
					w.remove(step.remove)
				}
				got := w.endpoints(webCluster)
				for j := range got {
					got[j] = strings.Replace(got[j], " ;;;;Kubernetes", "", 1)
				}
				if diff := cmp.Diff(step.want, got); diff != "" {
					t.Errorf("step %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// A pod that was evicted loses its address, which another pod gets while the object is still there: it is no endpoint
// any more, what is found by the address is the new pod, and the end of the old object takes nothing with it. This covers
// pods behind slices with and without a reference to them, and what a workload accepts. External entries that select
// pods are not read yet; they will ask the same indexes.
func TestCaseD5(t *testing.T) {
	w := newWorld(t, proxy(t, "sidecar~10.0.0.9~p2.shop~shop.svc.cluster.local", nil), proxy(t, front0, nil))
	old, other := "outbound|80||old.shop.svc.cluster.local", "outbound|80||other.shop.svc.cluster.local"
	bare := "outbound|80||bare.shop.svc.cluster.local"
	expect := func(what string, want map[string][]string) {
		t.Helper()
		for cluster, list := range want {
			if diff := cmp.Diff(list, w.endpoints(cluster)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", what, cluster, diff)
			}
		}
	}
	w.apply(
		serviceYAML("old", "10.1.0.1", "http", 80, 1), endpointsYAML("old-1", "old", "p1@10.0.0.9"), podYAML("p1", "old", "10.0.0.9", "Running"),
		serviceYAML("other", "10.1.0.2", "http", 80, 1),
		// Nothing in this slice says whose the address is: that is found by the address alone.
		serviceYAML("bare", "10.1.0.3", "http", 80, 1), endpointsYAML("bare-1", "bare", "10.0.0.9"),
	)
	expect("at first", map[string][]string{old: {"10.0.0.9:80 p1"}, bare: {"10.0.0.9:80 p1"}})

	w.apply(podYAML("p1", "old", "", "Failed"))
	expect("evicted", map[string][]string{old: {}, bare: {"10.0.0.9:80"}})

	w.apply(podYAML("p2", "other", "10.0.0.9", "Running"), endpointsYAML("other-1", "other", "p2@10.0.0.9"))
	expect("the address is given to another", map[string][]string{old: {}, other: {"10.0.0.9:80 p2"}, bare: {"10.0.0.9:80 p2"}})
	// The proxy is known by its pod's name, and by its address where the pod calls itself something else.
	if got := w.names("clusters"); !slices.Contains(got, "inbound|80||") {
		t.Errorf("what leads to the new pod is not accepted by it: %q", got)
	}

	w.remove("Pod shop/p1")
	expect("the old object goes", map[string][]string{old: {}, other: {"10.0.0.9:80 p2"}, bare: {"10.0.0.9:80 p2"}})
	if got := w.names("clusters"); !slices.Contains(got, "inbound|80||") {
		t.Errorf("the end of the old pod took from the new one: %q", got)
	}
}

// Two workloads may have one address, as pods in the network of their node do: each counts, changes and goes for itself.
// The world's own comparison with a process that begins anew is the rule for a random walk over such pods, slices and
// services. It covers pods and endpoints by address; workload entries, and external entries that select them, are not
// read yet and will be kinds of what this index holds already: names by address, many to one.
func TestCaseD6(t *testing.T) {
	const node = "198.51.100.7"
	w := newWorld(t, proxy(t, "sidecar~198.51.100.7~agent.shop~shop.svc.cluster.local", nil), proxy(t, front0, nil))
	one, two := "outbound|80||one.shop.svc.cluster.local", "outbound|80||two.shop.svc.cluster.local"
	bare := "outbound|80||bare.shop.svc.cluster.local"
	w.apply(
		serviceYAML("one", "10.1.0.1", "http", 80, 1), endpointsYAML("one-1", "one", "p1@"+node), podYAML("p1", "one", node, "Running"),
		serviceYAML("two", "10.1.0.2", "http", 80, 1), endpointsYAML("two-1", "two", "p2@"+node), podYAML("p2", "two", node, "Running"),
		serviceYAML("bare", "10.1.0.3", "http", 80, 1), endpointsYAML("bare-1", "bare", node),
	)
	expect := func(what string, want map[string][]string) {
		t.Helper()
		for cluster, list := range want {
			if diff := cmp.Diff(list, w.endpoints(cluster)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", what, cluster, diff)
			}
		}
	}
	expect("both", map[string][]string{one: {node + ":80 p1"}, two: {node + ":80 p2"}, bare: {node + ":80 p1"}})
	w.remove("Pod shop/p1")
	expect("without the first", map[string][]string{one: {}, two: {node + ":80 p2"}, bare: {node + ":80 p2"}})
	w.apply(podYAML("p1", "one", node, "Running"))
	expect("it is back", map[string][]string{one: {node + ":80 p1"}, two: {node + ":80 p2"}, bare: {node + ":80 p1"}})
	w.apply(podYAML("p1", "one", "198.51.100.8", "Running"))
	expect("it has moved away", map[string][]string{two: {node + ":80 p2"}, bare: {node + ":80 p2"}})
	w.remove("Pod shop/p2")
	expect("without both", map[string][]string{two: {}, bare: {node + ":80"}})

	r := rand.New(rand.NewPCG(6, 6))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	for range 40 {
		pod, app, service := pick("p1", "p2", "p3"), pick("one", "two"), pick("one", "two", "bare")
		switch address := pick(node, node, "198.51.100.8"); r.IntN(5) {
		case 0:
			w.remove("Pod shop/" + pod)
		case 1, 2:
			w.apply(podYAML(pod, app, address, pick("Running", "Running", "Running", "Failed")))
		case 3:
			w.apply(endpointsYAML(service+"-1", service, pick("", pod+"@")+address))
		case 4:
			w.remove("EndpointSlice shop/" + service + "-1")
		}
		if t.Failed() {
			return
		}
	}
}

// externalYAML is a service that stands for another name.
func externalYAML(name, target string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: shop}\n"+
		"spec: {type: ExternalName, externalName: %s, ports: [{name: http, port: 80}]}\n", name, target) + newObject
}

// hosts are the services of the routes of port 80 that a name leads to.
func (w *world) hosts(domain string) []string {
	w.t.Helper()
	var out []string
	m, _ := w.resource("routes", "80").(*routev3.RouteConfiguration)
	for _, h := range m.GetVirtualHosts() {
		if slices.ContainsFunc(h.GetDomains(), func(d string) bool { return strings.EqualFold(d, domain) }) {
			out = append(out, strings.TrimSuffix(h.GetName(), ".shop.svc.cluster.local:80"))
		}
	}
	return out
}

// A name that stands for another is followed when it is edited, to the outside and to services of the mesh, and when what
// it leads to comes, changes or goes. Scopes of egress are not read yet.
func TestCaseD10(t *testing.T) {
	w := newWorld(t, proxy(t, cart0, nil), proxy(t, front0, nil))
	expect := func(what string, want ...string) {
		t.Helper()
		for _, domain := range []string{"pay", "pay.shop", "pay.shop.svc.cluster.local"} {
			if got := w.hosts(domain); !slices.Equal(got, want) {
				t.Errorf("%s: requests for %s go to %q, want %q", what, domain, got, want)
			}
		}
	}
	w.apply(serviceYAML("web", "10.1.0.1", "http", 80, 1), serviceYAML("new", "10.1.0.2", "http", 80, 1), externalYAML("pay", "a.example.com"))
	expect("an outside name")
	w.apply(externalYAML("pay", "b.example.com"))
	expect("another outside name")
	w.apply(externalYAML("pay", "web.shop.svc.cluster.local"))
	expect("a service", "web")
	w.apply(externalYAML("pay", "new.shop.svc.cluster.local"))
	expect("another service", "new")
	w.apply(externalYAML("pay", "via.shop.svc.cluster.local"))
	expect("a name that leads nowhere")
	w.apply(externalYAML("via", "web.shop.svc.cluster.local"))
	expect("through another such name", "web")
	w.apply(externalYAML("via", "new.shop.svc.cluster.local"))
	expect("which is edited itself", "new")
	w.apply(externalYAML("via", "pay.shop.svc.cluster.local"))
	expect("and leads in a circle")
	w.apply(externalYAML("via", "late.shop.svc.cluster.local"))
	expect("to a service that is not there yet")
	w.apply(serviceYAML("late", "10.1.0.4", "http", 80, 1))
	expect("that has come", "late")
	w.apply(serviceYAML("pay", "10.1.0.5", "http", 80, 1))
	expect("the name is a service itself now", "pay")
	w.apply(externalYAML("pay", "late.shop.svc.cluster.local"))
	expect("and is none again", "late")
	w.remove("Service shop/late")
	expect("what it led to is gone")
	w.apply(externalYAML("pay", "web.shop.svc.cluster.local"))
	expect("it leads on", "web")
	w.remove("Service shop/pay")
	expect("it is gone itself")
}
