package registry_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/registry"
)

// world is a Lookup of fixed things.
type world struct {
	pods  map[string]*registry.Workload
	nodes map[string]model.Locality
	asked map[string]bool
}

func (w world) Pod(n model.NamespacedName) *registry.Workload {
	w.asked["pod "+n.String()] = true
	return w.pods[n.String()]
}

func (w world) PodAt(namespace, address string) *registry.Workload {
	w.asked["address "+namespace+"/"+address] = true
	for _, p := range w.pods {
		if p.Namespace == namespace && len(p.Addresses) > 0 && p.Addresses[0] == address {
			return p
		}
	}
	return nil
}

func (w world) Locality(node string) model.Locality {
	w.asked["node "+node] = true
	return w.nodes[node]
}

func newWorld(t *testing.T, pods ...string) world {
	w := world{map[string]*registry.Workload{}, map[string]model.Locality{"n1": {Region: "r1", Zone: "z1"}}, map[string]bool{}}
	for _, text := range pods {
		p := registry.Pod(parse[corev1.Pod](t, text))
		w.pods[p.String()] = p
	}
	return w
}

// brief shows the endpoints of all ports in one line each.
func brief(lists [][]*model.Endpoint) []string {
	var out []string
	for i, list := range lists {
		var parts []string
		for _, ep := range list {
			parts = append(parts, fmt.Sprintf("%s:%d %s %s", strings.Join(ep.Addresses, ","), ep.Port, []string{"ok", "bad", "draining"}[ep.Health], ep.Pod))
		}
		out = append(out, fmt.Sprintf("%d: %s", i, strings.Join(parts, "; ")))
	}
	return out
}

const podA = `{metadata: {name: a, namespace: shop, labels: {app: web, security.istio.io/tlsMode: istio}}, spec: {nodeName: n1, serviceAccountName: web}, status: {podIPs: [{ip: 10.1.0.1}, {ip: "fd00::1"}]}}`
const podB = `{metadata: {name: b, namespace: shop, labels: {istio-locality: r2.z2}}, spec: {nodeName: n1}, status: {podIPs: [{ip: 10.1.0.2}]}}`

func TestEndpoints(t *testing.T) {
	const web = `{metadata: {name: web, namespace: shop}, spec: {clusterIP: 10.0.0.1, ports: [{name: http, port: 80}, {name: admin, port: 81}]}}`
	for _, c := range []struct {
		name, service string
		slices        []string
		pods          []string
		want          []string
	}{
		{
			name: "ports match by name", service: web, pods: []string{podA},
			slices: []string{`{metadata: {name: s, namespace: shop}, addressType: IPv4, ports: [{name: admin, port: 9}, {name: http, port: 8080}, {name: other, port: 1}],
				endpoints: [{addresses: [10.1.0.1], targetRef: {kind: Pod, name: a, namespace: shop}}]}`},
			want: []string{"0: 10.1.0.1:8080 ok a", "1: 10.1.0.1:9 ok a"},
		},
		{
			name: "the unnamed port, by an empty name and by none", service: `{metadata: {name: web, namespace: shop}, spec: {ports: [{port: 80}]}}`,
			slices: []string{
				`{metadata: {name: s, namespace: shop}, addressType: IPv4, ports: [{name: "", port: 8080}], endpoints: [{addresses: [10.1.0.1]}]}`,
				`{metadata: {name: t, namespace: shop}, addressType: IPv4, ports: [{port: 8080}], endpoints: [{addresses: [10.1.0.2]}]}`},
			want: []string{"0: 10.1.0.1:8080 ok ; 10.1.0.2:8080 ok "},
		},
		{
			name: "no ports at all", service: `{metadata: {name: web, namespace: shop}}`,
			slices: []string{`{metadata: {name: s, namespace: shop}, addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}]}`},
			want:   nil,
		},
		{
			name: "a slice port without a number", service: web,
			slices: []string{`{metadata: {name: s, namespace: shop}, addressType: IPv4, ports: [{name: http}], endpoints: [{addresses: [10.1.0.1]}]}`},
			want:   []string{"0: ", "1: "},
		},
		{
			name: "names are not addresses", service: web,
			slices: []string{`{metadata: {name: s, namespace: shop}, addressType: FQDN, ports: [{name: http, port: 80}], endpoints: [{addresses: [web.example.com]}]}`},
			want:   []string{"0: ", "1: "},
		},
		{
			name: "slices merge, and an address in two of them counts once, at its best", service: web, pods: []string{podA, podB},
			slices: []string{
				`{metadata: {name: s, namespace: shop}, addressType: IPv4, ports: [{name: http, port: 80}], endpoints: [
					{addresses: [10.1.0.2], hostname: web-1, targetRef: {kind: Pod, name: b, namespace: shop}},
					{addresses: [10.1.0.1], conditions: {ready: false}, targetRef: {kind: Pod, name: a, namespace: shop}}]}`,
				`{metadata: {name: t, namespace: shop}, addressType: IPv4, ports: [{name: http, port: 80}], endpoints: [
					{addresses: [10.1.0.1], targetRef: {kind: Pod, name: a, namespace: shop}}]}`},
			want: []string{"0: 10.1.0.1:80 ok a; 10.1.0.2:80 ok b", "1: "},
		},
		{
			name: "a pod that is not known yet", service: web, pods: []string{podB},
			slices: []string{`{metadata: {name: s, namespace: shop}, addressType: IPv4, ports: [{name: http, port: 80}], endpoints: [
				{addresses: [10.1.0.2], targetRef: {kind: Pod, name: b}}, {addresses: [10.1.0.1], targetRef: {kind: Pod, name: a, namespace: shop}}]}`},
			want: []string{"0: 10.1.0.2:80 ok b", "1: "},
		},
		{
			name: "an address without reference is looked up", service: web, pods: []string{podA},
			slices: []string{`{metadata: {name: s, namespace: shop}, addressType: IPv4, ports: [{name: http, port: 80}], endpoints: [{addresses: [10.1.0.1]}, {addresses: [192.0.2.1]}]}`},
			want:   []string{"0: 10.1.0.1:80 ok a; 192.0.2.1:80 ok ", "1: "},
		},
		{
			name: "one family of a service takes the slice's address", service: web, pods: []string{podA},
			slices: []string{`{metadata: {name: s, namespace: shop}, addressType: IPv6, ports: [{name: http, port: 80}], endpoints: [{addresses: ["fd00::1"], targetRef: {kind: Pod, name: a, namespace: shop}}]}`},
			want:   []string{"0: fd00::1:80 ok a", "1: "},
		},
		{
			name: "each family of a pod is an endpoint, in the order of numbers", pods: []string{podA, podB},
			service: `{metadata: {name: web, namespace: shop}, spec: {clusterIPs: [10.0.0.1, "fd00::a"], ports: [{name: http, port: 80}]}}`,
			slices: []string{
				`{metadata: {name: s, namespace: shop}, addressType: IPv6, ports: [{name: http, port: 80}], endpoints: [{addresses: ["fd00::1"], targetRef: {kind: Pod, name: a, namespace: shop}}]}`,
				`{metadata: {name: t, namespace: shop}, addressType: IPv4, ports: [{name: http, port: 80}], endpoints: [
					{addresses: [10.1.0.10]}, {addresses: [10.1.0.1], targetRef: {kind: Pod, name: a, namespace: shop}}, {addresses: [10.1.0.2], targetRef: {kind: Pod, name: b, namespace: shop}}]}`},
			want: []string{"0: 10.1.0.1:80 ok a; 10.1.0.2:80 ok b; 10.1.0.10:80 ok ; fd00::1:80 ok a"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			svc := registry.Service(parse[corev1.Service](t, c.service), nil, "cluster.local")
			var list []*discoveryv1.EndpointSlice
			for _, text := range c.slices {
				list = append(list, parse[discoveryv1.EndpointSlice](t, text))
			}
			for range 10 { // in any order
				rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
				got := brief(registry.Endpoints(svc, list, registry.Origin{Cluster: "c1"}, newWorld(t, c.pods...)))
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Fatalf("-want +got:\n%s", diff)
				}
			}
		})
	}
}

func TestEndpointRecord(t *testing.T) {
	svc := registry.Service(parse[corev1.Service](t, `{metadata: {name: web, namespace: shop}, spec: {clusterIP: 10.0.0.1, ports: [{name: http, port: 80}]}}`), nil, "cluster.local")
	slice := parse[discoveryv1.EndpointSlice](t, `{metadata: {name: s, namespace: shop}, addressType: IPv4, ports: [{name: http, port: 80}], endpoints: [
		{addresses: [10.1.0.1], zone: elsewhere, nodeName: n9, targetRef: {kind: Pod, name: a, namespace: shop}},
		{addresses: [10.1.0.2], hostname: web-1, targetRef: {kind: Pod, name: b, namespace: shop}},
		{addresses: [192.0.2.1], zone: elsewhere, nodeName: n1}]}`)
	find := newWorld(t, podA, podB)
	got := registry.Endpoints(svc, []*discoveryv1.EndpointSlice{slice}, registry.Origin{Cluster: "c1"}, find)
	want := [][]*model.Endpoint{{
		{Addresses: []string{"10.1.0.1"}, Port: 80, Weight: 1, Locality: model.Locality{Region: "r1", Zone: "z1"}, Pod: "a", Namespace: "shop", Workload: "a",
			ServiceAccount: "web", Labels: map[string]string{"app": "web", "security.istio.io/tlsMode": "istio"}, Node: "n1", ClusterID: "c1", MutualTLS: true},
		{Addresses: []string{"10.1.0.2"}, Port: 80, Weight: 1, Hostname: "web-1", Locality: model.Locality{Region: "r2", Zone: "z2"}, Pod: "b", Namespace: "shop", Workload: "b",
			ServiceAccount: "default", Labels: map[string]string{"istio-locality": "r2.z2"}, Node: "n1", ClusterID: "c1"},
		{Addresses: []string{"192.0.2.1"}, Port: 80, Weight: 1, ClusterID: "c1"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	asked := map[string]bool{"pod shop/a": true, "pod shop/b": true, "address shop/192.0.2.1": true, "node n1": true}
	if diff := cmp.Diff(asked, find.asked); diff != "" {
		t.Errorf("what it depends on (-want +got):\n%s", diff)
	}
}

func TestHealth(t *testing.T) {
	const plain, sticky, always = `{}`, `{labels: {istio.io/persistent-session: id}}`, `{publish}`
	for _, c := range []struct {
		service, conditions string
		want                model.Health
	}{
		{plain, `{}`, model.Healthy},
		{plain, `{ready: true}`, model.Healthy},
		{plain, `{ready: false, terminating: false}`, model.Unhealthy},
		{plain, `{ready: false}`, model.Terminating},
		{plain, `{ready: false, serving: true, terminating: true}`, model.Terminating},
		{sticky, `{ready: false, serving: true, terminating: true}`, model.Draining},
		{sticky, `{ready: false, serving: false, terminating: true}`, model.Terminating},
		{sticky, `{ready: false, serving: true, terminating: false}`, model.Unhealthy},
		{sticky, `{ready: false, serving: true}`, model.Draining},
		{sticky, `{ready: false, terminating: true}`, model.Draining},
		{sticky, `{ready: true, serving: true, terminating: true}`, model.Healthy},
		{always, `{ready: true, serving: false, terminating: true}`, model.Healthy},
		{always, `{ready: false, serving: false, terminating: false}`, model.Unhealthy},
	} {
		meta, spec := c.service, `{ports: [{port: 80}]}`
		if c.service == always {
			meta, spec = `{}`, `{ports: [{port: 80}], publishNotReadyAddresses: true}`
		}
		svc := registry.Service(parse[corev1.Service](t, `{metadata: `+meta+`, spec: `+spec+`}`), nil, "d")
		slice := parse[discoveryv1.EndpointSlice](t, `{addressType: IPv4, ports: [{port: 80}], endpoints: [{addresses: [10.1.0.1], conditions: `+c.conditions+`}]}`)
		got := registry.Endpoints(svc, []*discoveryv1.EndpointSlice{slice}, registry.Origin{Cluster: "c"}, newWorld(t))
		if got[0][0].Health != c.want {
			t.Errorf("service %s, conditions %s: got %d, want %d", c.service, c.conditions, got[0][0].Health, c.want)
		}
	}
}
