package nametable_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/scenario"
	"github.com/meshd/meshd/internal/translate/nametable"
)

const objects = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {clusterIP: 10.1.0.1, clusterIPs: [10.1.0.1, "fd00::1"], ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: six, namespace: shop}
spec: {clusterIP: "fd00::2", clusterIPs: ["fd00::2"], ports: [{name: http, port: 80}]}
---
# A service of UDP alone has a name like any other.
apiVersion: v1
kind: Service
metadata: {name: dns, namespace: kube-system}
spec: {clusterIP: 10.1.0.53, clusterIPs: [10.1.0.53], ports: [{name: dns, port: 53, protocol: UDP}]}
---
apiVersion: v1
kind: Service
metadata: {name: outside, namespace: shop}
spec: {type: ExternalName, externalName: example.com, ports: [{port: 443}]}
---
apiVersion: v1
kind: Service
metadata: {name: db, namespace: shop}
spec: {clusterIP: None, ports: [{name: sql, port: 5432}, {name: admin, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: db-1, namespace: shop, labels: {kubernetes.io/service-name: db}}
endpoints:
- {addresses: [10.2.0.1], hostname: db-0}
- {addresses: [10.2.0.2], hostname: db-1, conditions: {ready: false, terminating: false}}
- {addresses: [10.2.0.3]}
ports: [{name: sql, port: 5432}, {name: admin, port: 80}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv6
metadata: {name: db-2, namespace: shop, labels: {kubernetes.io/service-name: db}}
endpoints: [{addresses: ["fd00::21"], hostname: db-0}]
ports: [{name: sql, port: 5432}]
---
# Its addresses are published though they are not ready: Kubernetes then says that they are.
apiVersion: v1
kind: Service
metadata: {name: early, namespace: shop}
spec: {clusterIP: None, publishNotReadyAddresses: true, ports: [{name: peer, port: 7000}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: early-1, namespace: shop, labels: {kubernetes.io/service-name: early}}
endpoints: [{addresses: [10.2.0.9], hostname: early-0, conditions: {ready: true, serving: false}}]
ports: [{name: peer, port: 7000}]
---
apiVersion: v1
kind: Service
metadata: {name: nobody, namespace: shop}
spec: {clusterIP: None, ports: [{name: peer, port: 7000}]}
---
# Without ports Kubernetes gives it no endpoints that have any.
apiVersion: v1
kind: Service
metadata: {name: portless, namespace: shop}
spec: {clusterIP: None}
---
# Behind this one is a pod of another network: its address leads nowhere from here.
apiVersion: v1
kind: Pod
metadata: {name: far-0, namespace: shop, labels: {topology.istio.io/network: other}}
spec: {}
status: {podIPs: [{ip: 10.9.0.1}]}
---
apiVersion: v1
kind: Service
metadata: {name: far, namespace: shop}
spec: {clusterIP: None, ports: [{name: peer, port: 7000}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: far-1, namespace: shop, labels: {kubernetes.io/service-name: far}}
endpoints: [{addresses: [10.9.0.1], hostname: far-0, targetRef: {kind: Pod, name: far-0, namespace: shop}}]
ports: [{name: peer, port: 7000}]
`

// proxy has the addresses, and metadata in pairs.
func proxy(t *testing.T, ips string, metadata ...string) *model.Proxy {
	t.Helper()
	first, _, _ := strings.Cut(ips, ",")
	m := map[string]any{"INSTANCE_IPS": ips}
	for i := 0; i < len(metadata); i += 2 {
		m[metadata[i]] = metadata[i+1]
	}
	p, err := model.NewProxy("sidecar~"+first+"~a.shop~shop.svc.cluster.local", m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// build makes the table of a proxy, serialised.
func build(t *testing.T, s *snapshot.Snapshot, p *model.Proxy) []byte {
	t.Helper()
	g := nametable.New(model.FlavorEnvoy)
	recipes := g.List(g.Class(s, p)).All(s)
	if len(recipes) != 1 || recipes[0].Name != nametable.Name {
		t.Fatalf("%d recipes, want the table: %v", len(recipes), recipes)
	}
	m, err := recipes[0].Build()
	if err != nil {
		t.Fatal(err)
	}
	if got := m.ProtoReflect().Descriptor().FullName(); "type.googleapis.com/"+string(got) != nametable.TypeURL {
		t.Errorf("the message is a %s", got)
	}
	out, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// read decodes a table from the wire alone: "name: ips registry shortname namespace". The numbers of the fields are those
// that agents know.
func read(t *testing.T, table []byte) []string {
	t.Helper()
	var out []string
	for _, entry := range fields(t, table)[1] {
		parts := fields(t, entry)
		info := fields(t, parts[2][0])
		text := func(n protowire.Number) string {
			var words []string
			for _, b := range info[n] {
				words = append(words, string(b))
			}
			return strings.Join(words, ",")
		}
		out = append(out, fmt.Sprintf("%s: %s %s %s %s", parts[1][0], text(1), text(2), text(3), text(4)))
	}
	return out
}

// fields splits a message of strings and messages.
func fields(t *testing.T, b []byte) map[protowire.Number][][]byte {
	t.Helper()
	out := map[protowire.Number][][]byte{}
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 || typ != protowire.BytesType {
			t.Fatalf("field %d of type %d", number, typ)
		}
		value, m := protowire.ConsumeBytes(b[n:])
		if m < 0 {
			t.Fatal(protowire.ParseError(m))
		}
		out[number] = append(out[number], value)
		b = b[n+m:]
	}
	return out
}

func TestTable(t *testing.T) {
	s := scenario.Parse(t, objects).Snapshot(t, nil)
	common := []string{
		"db-0.db.shop.svc.cluster.local: 10.2.0.1,fd00::21 Kubernetes db-0.db shop",
		"db.shop.svc.cluster.local: 10.2.0.1,10.2.0.3,fd00::21 Kubernetes db shop",
		"early-0.early.shop.svc.cluster.local: 10.2.0.9 Kubernetes early-0.early shop",
		"early.shop.svc.cluster.local: 10.2.0.9 Kubernetes early shop",
	}
	far := []string{
		"far-0.far.shop.svc.cluster.local: 10.9.0.1 Kubernetes far-0.far shop",
		"far.shop.svc.cluster.local: 10.9.0.1 Kubernetes far shop",
	}
	four := "dns.kube-system.svc.cluster.local: 10.1.0.53 Kubernetes dns kube-system"
	six := "six.shop.svc.cluster.local: fd00::2 Kubernetes six shop"
	web := func(ips string) string { return "web.shop.svc.cluster.local: " + ips + " Kubernetes web shop" }
	for _, c := range []struct {
		name  string
		proxy *model.Proxy
		want  []string
	}{
		{"IPv4", proxy(t, "10.2.0.7", "NETWORK", "here"), slices.Concat(common, []string{four, web("10.1.0.1")})},
		{"IPv6", proxy(t, "fd00::7", "NETWORK", "here"), slices.Concat(common, []string{six, web("fd00::1")})},
		{"both", proxy(t, "10.2.0.7,fd00::7", "NETWORK", "here"), slices.Concat(common, []string{four, six, web("10.1.0.1")})},
		{"the other network", proxy(t, "10.2.0.7", "NETWORK", "other"), slices.Concat(common, far, []string{four, web("10.1.0.1")})},
		{"a network that is not said", proxy(t, "10.2.0.7"), slices.Concat(common, far, []string{four, web("10.1.0.1")})},
		{"the same cluster", proxy(t, "10.2.0.7", "NETWORK", "here", "CLUSTER_ID", "Kubernetes"), slices.Concat(common, []string{four, web("10.1.0.1")})},
		{
			// Names of services lead to their own cluster, names of single workloads to wherever they are.
			"another cluster", proxy(t, "10.2.0.7", "NETWORK", "here", "CLUSTER_ID", "other"),
			[]string{common[0], common[2], four, web("10.1.0.1")},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, read(t, build(t, s, c.proxy))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Proxies that can use the same addresses share a class, and the table is named by what it is made of: it stays the same
// resource while nothing of that changes.
func TestClassAndKey(t *testing.T) {
	sc := scenario.Parse(t, objects)
	compiler := sc.Compiler(nil)
	compile := func(changes ...model.Change) *snapshot.Snapshot {
		set := map[model.Change]struct{}{}
		for _, c := range changes {
			set[c] = struct{}{}
		}
		s, err := compiler.Compile(context.Background(), sc.Synced, set)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := compile()
	g := nametable.New(model.FlavorEnvoy)
	a := g.Class(s, proxy(t, "10.2.0.7", "WORKLOAD_NAME", "a", "CLUSTER_ID", "c"))
	if a != g.Class(s, proxy(t, "10.2.0.8", "WORKLOAD_NAME", "b", "CLUSTER_ID", "c", "NODE_NAME", "n")) {
		t.Error("two proxies alike in all that is read differ in class")
	}
	for _, p := range []*model.Proxy{proxy(t, "fd00::7", "CLUSTER_ID", "c"), proxy(t, "10.2.0.7", "CLUSTER_ID", "d"), proxy(t, "10.2.0.7", "CLUSTER_ID", "c", "NETWORK", "n")} {
		if a == g.Class(s, p) {
			t.Errorf("%v %v is of the same class", p.IPs, p.Metadata)
		}
	}
	key := func(s *snapshot.Snapshot) any { return g.List(a).All(s)[0].Key }
	edit := func(name string, change func(*discoveryv1.EndpointSlice)) *snapshot.Snapshot {
		t.Helper()
		view, err := sc.Stores.Read(sc.Synced)
		if err != nil {
			t.Fatal(err)
		}
		n := model.NamespacedName{Namespace: "shop", Name: name}
		slice, ok := view.EndpointSlices.Get(n)
		if !ok {
			slice = &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
			slice.Namespace, slice.Name = n.Namespace, n.Name
		}
		slice = slice.DeepCopy()
		change(slice)
		sc.Stores.EndpointSlices.Put(slice)
		return compile(model.Change{Kind: model.KindEndpointSlice, NamespacedName: n, What: model.AspectEndpoints})
	}
	before := key(s)
	s = edit("web-1", func(e *discoveryv1.EndpointSlice) {
		e.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
		e.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"10.3.0.1"}}}
		port, name := int32(80), "http"
		e.Ports = []discoveryv1.EndpointPort{{Port: &port, Name: &name}}
	})
	if s.Endpoints("web.shop.svc.cluster.local", 80).All == nil {
		t.Fatal("there is no endpoint, so this shows nothing")
	}
	if key(s) != before {
		t.Error("an endpoint of a service with an address changes the table")
	}
	s = edit("db-1", func(e *discoveryv1.EndpointSlice) { e.Endpoints = e.Endpoints[:1] })
	if key(s) == before {
		t.Error("an endpoint of a headless service does not change the table")
	}
	if got := strings.Join(read(t, build(t, s, proxy(t, "10.2.0.7"))), "\n"); strings.Contains(got, "10.2.0.3") {
		t.Errorf("it still leads to the one that left:\n%s", got)
	}
}

func TestNamed(t *testing.T) {
	s := scenario.Parse(t, objects).Snapshot(t, nil)
	g := nametable.New(model.FlavorEnvoy)
	c := g.Class(s, proxy(t, "10.2.0.7"))
	if r, ok := g.Named(s, c, nametable.Name); !ok || r.Key != g.List(c).All(s)[0].Key {
		t.Error("the table by its name is another one")
	}
	if _, ok := g.Named(s, c, "web.shop.svc.cluster.local"); ok {
		t.Error("a name of the mesh is a resource")
	}
}

// An empty mesh has a table too, without entries: that is an answer.
func TestEmpty(t *testing.T) {
	s := scenario.Parse(t, "").Snapshot(t, nil)
	if got := build(t, s, proxy(t, "10.2.0.7")); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// Two tables of equal content are equal bytes, whatever the order in which they were made.
func TestStable(t *testing.T) {
	s := scenario.Parse(t, objects).Snapshot(t, nil)
	seen := map[string]bool{}
	for range 20 {
		seen[string(build(t, s, proxy(t, "10.2.0.7")))] = true
	}
	if len(seen) != 1 {
		t.Errorf("%d different tables", len(slices.Collect(maps.Keys(seen))))
	}
}

// A name that is not shown to a namespace is not in its table, and namespaces that see the same share theirs.
func TestHidden(t *testing.T) {
	const hidden = `
apiVersion: v1
kind: Service
metadata: {name: private, namespace: ops, annotations: {networking.istio.io/exportTo: "."}}
spec: {clusterIP: 10.1.0.99, clusterIPs: [10.1.0.99], ports: [{name: http, port: 80}]}
`
	s := scenario.Parse(t, objects+"---"+hidden).Snapshot(t, nil)
	in := func(namespace string) *model.Proxy {
		p, err := model.NewProxy("sidecar~10.2.0.7~a."+namespace+"~"+namespace+".svc.cluster.local", nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for namespace, want := range map[string]bool{"ops": true, "shop": false, "lab": false} {
		if got := strings.Contains(strings.Join(read(t, build(t, s, in(namespace))), "\n"), "private.ops"); got != want {
			t.Errorf("the table of %s has it: %v", namespace, got)
		}
	}
	g := nametable.New(model.FlavorEnvoy)
	if g.Class(s, in("shop")) != g.Class(s, in("lab")) {
		t.Error("two namespaces that see the same differ in class")
	}
}
