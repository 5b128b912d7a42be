package translate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/translate"
)

// portsYAML is a service of the pods of "cart" with ports written as "name:port:target".
func portsYAML(name string, day int, ports ...string) string {
	out := fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: shop, creationTimestamp: \"2026-01-%02dT00:00:00Z\"}\n"+
		"spec:\n  selector: {app: cart}\n  clusterIP: 10.1.0.%d\n  ports:\n", name, day, day)
	for _, p := range ports {
		f := strings.Split(p, ":")
		out += fmt.Sprintf("  - {name: %s, port: %s, targetPort: %s, protocol: TCP}\n", f[0], f[1], f[2])
	}
	return out + newObject
}

// accepted are the ports that the first proxy of the world takes connections for, with whether requests are what it
// expects there: "9000 HTTP", and "9000 HTTP, TCP" should both kinds of listeners be there.
func (w *world) accepted() []string {
	w.t.Helper()
	kinds := map[uint32][]string{}
	l, ok := w.resource("listeners", "virtualInbound").(*listenerv3.Listener)
	if !ok {
		w.t.Fatal("no virtualInbound")
	}
	for _, chain := range l.GetFilterChains() {
		port := chain.GetFilterChainMatch().GetDestinationPort().GetValue()
		kind := "TCP"
		if name := chain.GetFilters()[len(chain.GetFilters())-1].GetName(); strings.Contains(name, "http") {
			kind = "HTTP"
		}
		if port != 0 && port != 15006 && !slices.Contains(kinds[port], kind) {
			kinds[port] = append(kinds[port], kind)
		}
	}
	out := []string{}
	for port, kind := range kinds {
		out = append(out, fmt.Sprint(port, " ", strings.Join(kind, ", ")))
	}
	slices.Sort(out)
	return out
}

// Two service ports that lead to one port of a workload in different protocols: the older service is right, of services
// of one age the first by name, of the ports of one service the first that it lists; whatever order they come in. The
// other is reported.
func TestCaseD14(t *testing.T) {
	tests := []struct {
		name    string
		objects []string
		want    string
		// conflict is what is reported.
		conflict string
	}{
		{"the older", []string{portsYAML("x", 2, "http-a:80:9000"), portsYAML("z", 1, "tcp-b:81:9000")}, "9000 TCP",
			"port 9000: z.shop.svc.cluster.local:81 says TCP, x.shop.svc.cluster.local:80 says HTTP"},
		{"the older, the other way round", []string{portsYAML("x", 1, "http-a:80:9000"), portsYAML("z", 2, "tcp-b:81:9000")}, "9000 HTTP",
			"port 9000: x.shop.svc.cluster.local:80 says HTTP, z.shop.svc.cluster.local:81 says TCP"},
		{"of one age: the first by name", []string{portsYAML("z", 1, "http-a:80:9000"), portsYAML("x", 1, "tcp-b:81:9000")}, "9000 TCP",
			"port 9000: x.shop.svc.cluster.local:81 says TCP, z.shop.svc.cluster.local:80 says HTTP"},
		{"the same number", []string{portsYAML("z", 1, "tcp-b:80:9000"), portsYAML("x", 1, "grpc-b:80:9000")}, "9000 HTTP",
			"port 9000: x.shop.svc.cluster.local:80 says GRPC, z.shop.svc.cluster.local:80 says TCP"},
		{"one service", []string{portsYAML("x", 1, "http-a:80:9000", "tcp-b:81:9000")}, "9000 HTTP",
			"port 9000: x.shop.svc.cluster.local:80 says HTTP, x.shop.svc.cluster.local:81 says TCP"},
		{"no conflict", []string{portsYAML("x", 1, "http-a:80:9000"), portsYAML("z", 2, "http-b:81:9000")}, "9000 HTTP", ""},
	}
	cart := podYAML("cart-0", "cart", "10.30.0.2", "Running")
	r := rand.New(rand.NewPCG(14, 14))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for range 50 {
				p := proxy(t, cart0, nil)
				w := newWorld(t, p)
				// One after another in any order: what is there first must not win for that.
				objects := append(slices.Clone(test.objects), cart)
				r.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
				if r.IntN(2) == 0 {
					for _, o := range objects {
						w.put(o)
					}
				} else {
					w.put(strings.Join(objects, newObject))
				}
				if diff := cmp.Diff([]string{test.want}, w.accepted()); diff != "" {
					t.Fatalf("listeners (-want +got):\n%s", diff)
				}
				var conflicts []string
				for _, c := range translate.Conflicts(w.now.Inbound(p)) {
					conflicts = append(conflicts, c.String())
				}
				if got := strings.Join(conflicts, "; "); got != test.conflict {
					t.Fatalf("reported %q, want %q", got, test.conflict)
				}
			}
		})
	}
}

// A workload's ports are told apart by their own numbers, not by those of services; and a workload that no service
// selects accepts nothing for any, whatever services there are in its namespace. Neither is a conflict.
func TestCaseD15(t *testing.T) {
	none := "sidecar~10.30.0.9~alone.shop~shop.svc.cluster.local"
	alone := func(m map[string]any) { m["LABELS"] = map[string]any{"app": "alone"} }
	half := "sidecar~10.30.0.8~half.shop~shop.svc.cluster.local"
	for _, id := range []string{cart0, none, half} {
		p := proxy(t, id, map[string]func(map[string]any){none: alone, half: alone}[id])
		w := newWorld(t, p)
		w.apply(
			portsYAML("x", 1, "http:80:8080"), portsYAML("z", 2, "http:80:8081"),
			podYAML("cart-0", "cart", "10.30.0.2", "Running"), podYAML("alone", "alone", "10.30.0.9", "Running"), podYAML("half", "alone", "10.30.0.8", "Running"),
			// Services that select nothing, or more than the pods have.
			strings.Replace(portsYAML("s", 3, "http:80:8082"), "  selector: {app: cart}\n", "", 1),
			strings.Replace(portsYAML("v", 4, "http:80:8083"), "{app: cart}", "{app: alone, version: v1}", 1),
			strings.Replace(portsYAML("u", 5, "http:80:8084"), "{app: cart}", "{app: alone, tier: back}", 1),
		)
		want := []string{}
		if id == cart0 {
			want = []string{"8080 HTTP", "8081 HTTP"}
		}
		if diff := cmp.Diff(want, w.accepted()); diff != "" {
			t.Errorf("%s: listeners (-want +got):\n%s", id, diff)
		}
		if c := translate.Conflicts(w.now.Inbound(p)); len(c) > 0 {
			t.Errorf("%s: reported %v", id, c)
		}
	}
}
