package snapshot_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
)

// rig compiles a source step by step.
type rig struct {
	*source
	t        testing.TB
	compiler *snapshot.Compiler
}

func newRig(t testing.TB) *rig {
	s := newSource()
	return &rig{s, t, snapshot.NewCompiler(s.stores, func() *meshv1alpha1.MeshConfig { return s.mesh }, snapshot.Options{})}
}

// put adds objects, each a line of YAML.
func (r *rig) put(objects ...string) {
	r.t.Helper()
	for _, text := range objects {
		kind, body, _ := strings.Cut(text, " ")
		switch kind {
		case "Service":
			r.stores.Services.Put(parse[corev1.Service](r.t, body))
		case "Slice":
			r.stores.EndpointSlices.Put(parse[discoveryv1.EndpointSlice](r.t, body))
		case "Pod":
			r.stores.Pods.Put(parse[corev1.Pod](r.t, body))
		case "Node":
			r.stores.Nodes.Put(parse[corev1.Node](r.t, body))
		default:
			r.t.Fatalf("kind %q", kind)
		}
	}
}

func (r *rig) compile() *snapshot.Snapshot {
	r.t.Helper()
	changes, _ := r.changes.Take()
	s, err := r.compiler.Compile(context.Background(), r.stores.MarkSynced(), changes)
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

func (r *rig) setMesh(m *meshv1alpha1.MeshConfig) {
	r.mesh = m
	r.changes.Add(model.Change{Kind: model.KindMeshConfig})
}

const (
	svcA   = `Service {metadata: {name: a, namespace: shop}, spec: {clusterIP: 10.0.0.1, selector: {app: a}, ports: [{name: http, port: 80, targetPort: 8080}]}}`
	svcB   = `Service {metadata: {name: b, namespace: shop}, spec: {clusterIP: 10.0.0.2, selector: {app: b}, ports: [{name: http, port: 80, targetPort: 8080}, {name: tcp, port: 90, targetPort: 9090}]}}`
	podA1  = `Pod {metadata: {name: a1, namespace: shop, labels: {app: a}}, spec: {serviceAccountName: sa, nodeName: n1}, status: {phase: Running, podIPs: [{ip: 10.1.0.1}]}}`
	podA2  = `Pod {metadata: {name: a2, namespace: shop, labels: {app: a}}, spec: {serviceAccountName: sa, nodeName: n2}, status: {phase: Running, podIPs: [{ip: 10.1.0.2}]}}`
	podB1  = `Pod {metadata: {name: b1, namespace: shop, labels: {app: b}}, spec: {serviceAccountName: sb, nodeName: n1}, status: {phase: Running, podIPs: [{ip: 10.1.0.3}]}}`
	sliceA = `Slice {metadata: {name: a-1, namespace: shop, labels: {kubernetes.io/service-name: a}}, addressType: IPv4, ports: [{name: http, port: 8080}], endpoints: [{addresses: [10.1.0.1], targetRef: {kind: Pod, name: a1}}]}`
	both   = `Slice {metadata: {name: a-1, namespace: shop, labels: {kubernetes.io/service-name: a}}, addressType: IPv4, ports: [{name: http, port: 8080}], endpoints: [{addresses: [10.1.0.1], targetRef: {kind: Pod, name: a1}}, {addresses: [10.1.0.2], targetRef: {kind: Pod, name: a2}}]}`
	sliceB = `Slice {metadata: {name: b-1, namespace: shop, labels: {kubernetes.io/service-name: b}}, addressType: IPv4, ports: [{name: http, port: 8080}, {name: tcp, port: 9090}], endpoints: [{addresses: [10.1.0.3], targetRef: {kind: Pod, name: b1}}]}`
	node1  = `Node {metadata: {name: n1, labels: {topology.kubernetes.io/region: r1}}}`
	hostA  = "a.shop.svc.cluster.local"
	hostB  = "b.shop.svc.cluster.local"
)

// TestSharing makes one change after another, and says of each which records it is allowed to replace.
func TestSharing(t *testing.T) {
	r := newRig(t)
	r.put(svcA, svcB, podA1, podA2, podB1, sliceA, sliceB, node1)
	before := r.compile()
	inbound := func(s *snapshot.Snapshot, pod string) *snapshot.Inbound {
		return s.Inbound(&model.Proxy{Namespace: "shop", Pod: pod})
	}
	watched := func(s *snapshot.Snapshot) map[string]any {
		return map[string]any{
			"snapshot": s, "mesh": s.Mesh(),
			"service a": s.Service(hostA), "service b": s.Service(hostB),
			"endpoints a": s.Endpoints(hostA, 80), "endpoints b 80": s.Endpoints(hostB, 80), "endpoints b 90": s.Endpoints(hostB, 90),
			"port 80": s.Port(80), "port 90": s.Port(90),
			"inbound a1": inbound(s, "a1"), "inbound b1": inbound(s, "b1"),
		}
	}
	for _, step := range []struct {
		what string
		do   func()
		new  string
	}{
		{"nothing", func() {}, ""},
		{"a pod's status, of which nothing is read", func() {
			r.put(strings.Replace(podA1, "phase: Running", "phase: Pending", 1))
		}, ""},
		{"an endpoint with a known identity", func() { r.put(both) }, "snapshot, endpoints a"},
		{"a node moves", func() { r.put(strings.Replace(node1, "r1", "r2", 1)) }, "snapshot, endpoints a, endpoints b 80, endpoints b 90"},
		{"a pod gets another identity", func() { r.put(strings.Replace(podA2, "sa,", "other,", 1)) }, "snapshot, service a, endpoints a, port 80"},
		{"a pod is not ready any more", func() {
			r.put(strings.Replace(both, "[10.1.0.2],", "[10.1.0.2], conditions: {ready: false},", 1))
		}, "snapshot, endpoints a"},
		{"a port of another service", func() {
			r.put(strings.Replace(svcB, "port: 90", "port: 91", 1))
		}, "snapshot, service b, endpoints b 80, endpoints b 90, port 80, port 90, inbound b1"},
		{"an option of the mesh", func() {
			r.setMesh(&meshv1alpha1.MeshConfig{TrustDomain: "cluster.local", ConnectTimeout: nil, IngressClass: "x"})
		}, "snapshot, mesh"},
		{"an equal mesh config", func() { r.setMesh(&meshv1alpha1.MeshConfig{TrustDomain: "cluster.local", IngressClass: "x"}) }, ""},
		{"the trust domain", func() { r.setMesh(&meshv1alpha1.MeshConfig{TrustDomain: "td"}) }, "snapshot, mesh, service a, service b, port 80"},
		{"labels move a pod to another service", func() { r.put(strings.Replace(podA1, "app: a", "app: b", 1)) }, "snapshot, endpoints a, inbound a1"},
		{"a service goes", func() {
			r.stores.Services.Delete(model.NamespacedName{Namespace: "shop", Name: "a"})
		}, "snapshot, service a, endpoints a, port 80"},
	} {
		step.do()
		after := r.compile()
		was, is := watched(before), watched(after)
		want := map[string]bool{}
		if step.new != "" {
			for _, name := range strings.Split(step.new, ", ") {
				want[name] = true
			}
		}
		for name := range was {
			if got := was[name] != is[name]; got != want[name] {
				t.Errorf("%s: %s: replaced is %v, want %v", step.what, name, got, want[name])
			}
		}
		before = after
	}
}

// TestArrivalOrder puts objects in every order, compiled one by one and at once: what came early waits for the rest.
func TestArrivalOrder(t *testing.T) {
	objects := []string{svcA, podA1, podA2, both, node1}
	r := newRig(t)
	r.put(objects...)
	want := contents(recordsOf(r.compile()))
	if len(r.compile().Endpoints(hostA, 80).All) != 2 {
		t.Fatal("the objects do not make the mesh that this test is about")
	}
	permute(objects, func(order []string) {
		each, once := newRig(t), newRig(t)
		each.compile()
		once.compile()
		for _, o := range order {
			each.put(o)
			each.compile()
			once.put(o)
		}
		for how, r := range map[string]*rig{"one by one": each, "at once": once} {
			if diff := cmp.Diff(want, contents(recordsOf(r.compile()))); diff != "" {
				t.Fatalf("%s, %q (-want +got):\n%s", how, order, diff)
			}
		}
	})
}

func permute(of []string, visit func([]string)) {
	var rec func(int)
	rec = func(i int) {
		if i == len(of) {
			visit(of)
			return
		}
		for j := i; j < len(of); j++ {
			of[i], of[j] = of[j], of[i]
			rec(i + 1)
			of[i], of[j] = of[j], of[i]
		}
	}
	rec(0)
}

func TestCompileErrors(t *testing.T) {
	r := newRig(t)
	r.put(svcA)
	if _, err := r.compiler.Compile(context.Background(), config.Synced{}, nil); !errors.Is(err, config.ErrNotSynced) {
		t.Errorf("no token: %v", err)
	}
	if _, err := r.compiler.Compile(context.Background(), newSource().stores.MarkSynced(), nil); !errors.Is(err, config.ErrNotSynced) {
		t.Errorf("a token of other stores: %v", err)
	}
	for _, m := range []*meshv1alpha1.MeshConfig{nil, {}} {
		r.mesh = m
		if _, err := r.compiler.Compile(context.Background(), r.stores.MarkSynced(), nil); !errors.Is(err, snapshot.ErrNoMesh) {
			t.Errorf("mesh config %v: %v", m, err)
		}
	}
	r.mesh = mesh()
	if s := r.compile(); s.Service(hostA) == nil || s.Version() != 1 {
		t.Errorf("after errors: version %d, service %v", s.Version(), s.Service(hostA))
	}
	// Changes that a failed call was given are not lost.
	r.put(svcB)
	changes, _ := r.changes.Take()
	if _, err := r.compiler.Compile(context.Background(), config.Synced{}, changes); err == nil {
		t.Error("compiled without a token")
	}
	if r.compile().Service(hostB) == nil {
		t.Error("the changes of a failed compilation are lost")
	}
}

// TestLookups asks for what is there and what is not.
func TestLookups(t *testing.T) {
	r := newRig(t)
	r.put(svcA, svcB,
		`Service {metadata: {name: dns, namespace: shop}, spec: {clusterIP: 10.0.0.3, ports: [{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53}]}}`,
		`Service {metadata: {name: portless, namespace: shop}, spec: {clusterIP: 10.0.0.4}}`,
		sliceB)
	s := r.compile()
	var hosts, ports []string
	for _, svc := range s.Services() {
		hosts = append(hosts, svc.Hostname)
		if s.Service(svc.Hostname) != svc {
			t.Errorf("%s is not found by its name", svc.Hostname)
		}
	}
	for _, p := range s.Ports() {
		var names []string
		for _, svc := range p.Services {
			names = append(names, svc.Name)
		}
		ports = append(ports, fmt.Sprint(p.Number, names))
		if s.Port(p.Number) != p {
			t.Errorf("port %d is not found by its number", p.Number)
		}
	}
	if diff := cmp.Diff([]string{hostA, hostB, "dns.shop.svc.cluster.local", "portless.shop.svc.cluster.local"}, hosts); diff != "" {
		t.Errorf("services:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"53 [dns]", "80 [a b]", "90 [b]"}, ports); diff != "" {
		t.Errorf("ports:\n%s", diff)
	}
	if s.Service("nobody") != nil || s.Port(1) != nil || s.Endpoints("nobody", 80) != nil || s.Endpoints(hostA, 1) != nil {
		t.Error("something is found that is not there")
	}
	if eps := s.Endpoints(hostA, 80); eps == nil || eps.All == nil || len(eps.All) != 0 {
		t.Errorf("a port without endpoints: %+v", eps)
	}
	if eps := s.Endpoints(hostB, 80); len(eps.All) != 0 {
		t.Errorf("an endpoint without its pod: %+v", eps.All)
	}
	if eps := s.Endpoints("dns.shop.svc.cluster.local", 53); eps == nil || eps.Port.Name != "dns-tcp" {
		t.Errorf("a number for TCP and UDP: %+v", eps)
	}
}

func TestIdentities(t *testing.T) {
	r := newRig(t)
	r.setMesh(&meshv1alpha1.MeshConfig{TrustDomain: "a@b", TrustDomainAliases: []string{"old"}})
	// One pod is not ready: it answers for the service as soon as it is.
	r.put(svcA, podA1, strings.Replace(podA2, "sa,", "other,", 1), strings.Replace(both, "[10.1.0.2],", "[10.1.0.2], conditions: {ready: false},", 1))
	want := []string{"spiffe://a.b/ns/shop/sa/other", "spiffe://a.b/ns/shop/sa/sa", "spiffe://old/ns/shop/sa/other", "spiffe://old/ns/shop/sa/sa"}
	if diff := cmp.Diff(want, r.compile().Service(hostA).Identities); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestIdentitiesOfAnnotations: a service names others who may answer for it.
func TestIdentitiesOfAnnotations(t *testing.T) {
	r := newRig(t)
	r.setMesh(&meshv1alpha1.MeshConfig{TrustDomain: "td", TrustDomainAliases: []string{"old"}})
	r.put(strings.Replace(svcA, "name: a,", `name: a, annotations: {alpha.istio.io/kubernetes-serviceaccounts: "one,two", `+
		`alpha.istio.io/canonical-serviceaccounts: "a.example.com,spiffe://other/ns/n/sa/s"},`, 1))
	want := []string{
		"a.example.com", "spiffe://old/ns/n/sa/s", "spiffe://old/ns/shop/sa/one", "spiffe://old/ns/shop/sa/two",
		"spiffe://other/ns/n/sa/s", "spiffe://td/ns/shop/sa/one", "spiffe://td/ns/shop/sa/two",
	}
	if diff := cmp.Diff(want, r.compile().Service(hostA).Identities); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestHealth: who is not healthy is there, and is known not to be.
func TestHealth(t *testing.T) {
	const gone = "[10.1.0.2], conditions: {ready: false, serving: true, terminating: true},"
	for want, service := range map[string]string{
		fmt.Sprintf("10.1.0.1 %d 10.1.0.2 %d", model.Healthy, model.Terminating): svcA,
		fmt.Sprintf("10.1.0.1 %d 10.1.0.2 %d", model.Healthy, model.Draining):    strings.Replace(svcA, "name: a,", "name: a, labels: {istio.io/persistent-session: id},", 1),
	} {
		r := newRig(t)
		r.put(service, podA1, podA2, strings.Replace(both, "[10.1.0.2],", gone, 1))
		var got []string
		for _, ep := range r.compile().Endpoints(hostA, 80).All {
			got = append(got, ep.Addresses[0], fmt.Sprint(ep.Health))
		}
		if have := strings.Join(got, " "); have != want {
			t.Errorf("got %s, want %s", have, want)
		}
	}
}

// Compiling ends with its context, and what it left half done is made up for by the next call.
func TestCompileEndsWithItsContext(t *testing.T) {
	r := newRig(t)
	r.put(svcA)
	ctx, cancel := context.WithCancelCause(context.Background())
	told := errors.New("told to stop")
	cancel(told)
	if _, err := r.compiler.Compile(ctx, r.stores.MarkSynced(), nil); !errors.Is(err, told) {
		t.Fatalf("error %v, want the cause", err)
	}
	if n := len(r.compile().Services()); n != 1 {
		t.Fatalf("%d services, want 1", n)
	}
}
