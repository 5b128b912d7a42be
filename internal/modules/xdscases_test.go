package modules

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

const caseObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/zone: z1}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: cart, namespace: shop}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec: {clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10], selector: {app: cart}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata: {name: cart-1, namespace: shop, labels: {app: cart}}
spec: {nodeName: n1, serviceAccountName: cart}
status: {podIPs: [{ip: 10.244.0.1}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: cart-1, namespace: shop, labels: {kubernetes.io/service-name: cart}}
endpoints:
- {addresses: [10.244.0.1], targetRef: {kind: Pod, name: cart-1, namespace: shop}}
- {addresses: [10.244.0.2]}
ports: [{name: http, port: 8080}]
---
# Scaled to zero.
apiVersion: v1
kind: Service
metadata: {name: idle, namespace: shop}
spec: {clusterIP: 10.96.0.11, clusterIPs: [10.96.0.11], selector: {app: idle}, ports: [{name: http, port: 80}]}
`

const (
	cartCluster = "outbound|80||cart.shop.svc.cluster.local"
	idleCluster = "outbound|80||idle.shop.svc.cluster.local"
)

// inBoth runs a test of the real application with clients of either protocol.
func inBoth(t *testing.T, test func(t *testing.T, opts xdsclient.Options)) {
	for name, delta := range map[string]bool{"sotw": false, "delta": true} {
		t.Run(name, func(t *testing.T) {
			opts := sidecar
			opts.Delta = delta
			test(t, opts)
		})
	}
}

// startCase runs the application over the objects, and gives the stores that its source fills, for changes as an API
// server would report them, one by one.
func startCase(t *testing.T, change func(*Options)) (*app, *config.Stores, config.View) {
	t.Helper()
	o := runOptions(t)
	o.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(o.Dir, "objects.yaml"), []byte(caseObjects), 0o644); err != nil {
		t.Fatal(err)
	}
	o.DebounceAfter, o.DebounceMax = 20*time.Millisecond, 10*time.Second
	if change != nil {
		change(&o)
	}
	var stores *config.Stores
	kept := func(sink config.Sink) *config.Stores {
		stores = newStores(sink)
		return stores
	}
	a := start(t, o, replace(All(o), newStores, kept), lifecycle.Options{})
	t.Cleanup(func() { a.stop(t) })
	view, err := stores.Read(stores.MarkSynced())
	if err != nil {
		t.Fatal(err)
	}
	return a, stores, view
}

// caseClient is a client that has everything, and has acknowledged it.
type caseClient struct {
	*xdsclient.Client
	t   *testing.T
	ctx context.Context
}

func (a *app) caseClient(t *testing.T, opts xdsclient.Options, endpoints ...string) *caseClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	c, err := xdsclient.Connect(ctx, a.address(t, "--grpc-addr"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	out := &caseClient{c, t, ctx}
	for _, typeURL := range []string{resource.ClusterType, resource.EndpointType, resource.ListenerType, resource.RouteType} {
		var names []string
		switch typeURL {
		case resource.EndpointType:
			names = endpoints
		case resource.RouteType:
			names = []string{"80"}
		}
		if err := c.Subscribe(typeURL, names...); err != nil {
			t.Fatal(err)
		}
		out.wait(typeURL, func(s xdsclient.State) bool { return len(s.Of(typeURL)) > 0 })
	}
	return out
}

func (c *caseClient) wait(what string, condition func(xdsclient.State) bool) xdsclient.State {
	c.t.Helper()
	s, err := c.Wait(c.ctx, what, condition)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// counts are the responses of each type so far.
func counts(s xdsclient.State) map[string]int {
	out := map[string]int{}
	for _, r := range s.Responses {
		out[resource.TypeOf(r.GetTypeUrl()).Short]++
	}
	return out
}

// addresses lists who is behind a cluster, as the client knows it; false if it does not.
func addresses(s xdsclient.State, cluster string) ([]string, bool) {
	assignment, ok := s.Resources[resource.EndpointType][cluster].(*endpointv3.ClusterLoadAssignment)
	out := []string{}
	for _, place := range assignment.GetEndpoints() {
		for _, e := range place.GetLbEndpoints() {
			out = append(out, e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress())
		}
	}
	slices.Sort(out)
	return out, ok
}

var cartName = model.NamespacedName{Namespace: "shop", Name: "cart"}

func get[T metav1.Object](t *testing.T, from config.Reader[T], name model.NamespacedName) T {
	t.Helper()
	obj, ok := from.Get(name)
	if !ok {
		t.Fatalf("no %T %s", obj, name)
	}
	return obj
}

// bookkeeping rewrites what others keep on an object, as they do all the time.
func bookkeeping[T metav1.Object](round int, obj T) T {
	obj.SetAnnotations(map[string]string{"autoscaling.example.com/at": fmt.Sprint(round)})
	obj.SetResourceVersion(fmt.Sprint(1000 + round))
	obj.SetGeneration(int64(round))
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "tool", Time: &metav1.Time{Time: time.Unix(int64(round), 0)}}})
	return obj
}

// What is rewritten on objects all the time and read by nobody leads to no push; what is read does (case B21). Which
// fields are read is held by the tests of package config, field by field.
func TestCaseB21(t *testing.T) { inBoth(t, testCaseB21) }

func testCaseB21(t *testing.T, opts xdsclient.Options) {
	a, stores, view := startCase(t, nil)
	c := a.caseClient(t, opts, cartCluster)
	before := counts(c.State())
	for i := range 50 {
		service := bookkeeping(i, get(t, view.Services, cartName).DeepCopy())
		service.Status.Conditions = []metav1.Condition{{Type: "Seen", Message: fmt.Sprint(i)}}
		stores.Services.Put(service)
		pod := bookkeeping(i, get(t, view.Pods, model.NamespacedName{Namespace: "shop", Name: "cart-1"}).DeepCopy())
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, LastProbeTime: metav1.Unix(int64(i), 0)}}
		stores.Pods.Put(pod)
		stores.EndpointSlices.Put(bookkeeping(i, get(t, view.EndpointSlices, model.NamespacedName{Namespace: "shop", Name: "cart-1"}).DeepCopy()))
		node := bookkeeping(i, get(t, view.Nodes, model.NamespacedName{Name: "n1"}).DeepCopy())
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, LastHeartbeatTime: metav1.Unix(int64(i), 0)}}
		stores.Nodes.Put(node)
		stores.Namespaces.Put(bookkeeping(i, get(t, view.Namespaces, model.NamespacedName{Name: "shop"}).DeepCopy()))
		stores.ServiceAccounts.Put(bookkeeping(i, get(t, view.ServiceAccounts, cartName).DeepCopy()))
		time.Sleep(time.Millisecond) // or a batch would hide them from each other
	}
	// A change that is pushed, and only to endpoints, shows that all of the above has been compiled.
	slice := get(t, view.EndpointSlices, model.NamespacedName{Namespace: "shop", Name: "cart-1"}).DeepCopy()
	slice.Endpoints = slice.Endpoints[:1]
	stores.EndpointSlices.Put(slice)
	c.wait("one endpoint", func(s xdsclient.State) bool { got, _ := addresses(s, cartCluster); return len(got) == 1 })
	service := get(t, view.Services, cartName).DeepCopy()
	service.Spec.Ports[0].Name = "tcp"
	stores.Services.Put(service)
	after := counts(c.wait("a service that speaks TCP", func(s xdsclient.State) bool {
		return s.Resources[resource.ListenerType]["10.96.0.10_80"] != nil
	}))
	if after["eds"]-before["eds"] > 2 || after["lds"]-before["lds"] != 1 || after["cds"]-before["cds"] != 1 {
		t.Errorf("responses before %v, after %v: want those of two changes", before, after)
	}
}

// Configuration that keeps changing does not hold up an endpoint that goes, and goes out itself at the longest wait
// (case B23). The times are a test of package debounce.
func TestCaseB23(t *testing.T) { inBoth(t, testCaseB23) }

func testCaseB23(t *testing.T, opts xdsclient.Options) {
	a, stores, view := startCase(t, func(o *Options) {
		o.DebounceAfter, o.DebounceMax = 2*time.Second, 3*time.Second
	})
	c := a.caseClient(t, opts, cartCluster)
	before := counts(c.State())
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			service := get(t, view.Services, cartName).DeepCopy()
			service.Spec.Ports[0].TargetPort.IntVal = int32(9000 + i)
			service.Spec.Ports[0].AppProtocol = &[]string{"tcp", "mongo"}[i%2]
			stores.Services.Put(service)
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	slice := get(t, view.EndpointSlices, model.NamespacedName{Namespace: "shop", Name: "cart-1"}).DeepCopy()
	slice.Endpoints = slice.Endpoints[:1]
	stores.EndpointSlices.Put(slice)
	s := c.wait("the endpoint is gone", func(s xdsclient.State) bool { got, _ := addresses(s, cartCluster); return len(got) == 1 })
	if now := counts(s); now["lds"] != before["lds"] {
		t.Errorf("the endpoint went with the configuration: responses before %v, now %v", before, now)
	}
	// The changes go on, and never leave the quiet time that they are waited for.
	c.wait("the configuration at the longest wait", func(s xdsclient.State) bool {
		return s.Resources[resource.ListenerType]["10.96.0.10_80"] != nil
	})
}

// A cluster without endpoints has an answer, which is that it has none (case B27).
func TestCaseB27(t *testing.T) { inBoth(t, testCaseB27) }

func testCaseB27(t *testing.T, opts xdsclient.Options) {
	a, stores, _ := startCase(t, nil)
	c := a.caseClient(t, opts, idleCluster, cartCluster)
	s := c.wait("endpoints", func(s xdsclient.State) bool { return len(s.Of(resource.EndpointType)) > 0 })
	for cluster, want := range map[string]int{idleCluster: 0, cartCluster: 2} {
		if got, ok := addresses(s, cluster); !ok || len(got) != want {
			t.Errorf("%s: %v (%v), want an assignment with %d endpoints", cluster, got, ok, want)
		}
	}
	if n := len(s.Of(resource.EndpointType)[0].GetResources()); n != 2 {
		t.Errorf("%d assignments in the first answer, want both", n)
	}
	// It is scaled up, and down again: the last to go leaves an empty assignment, not the one with it.
	name, port := "http", int32(80)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: "idle-1", Labels: map[string]string{discoveryv1.LabelServiceName: "idle"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}
	for _, want := range [][]string{{"10.244.0.9"}, {}} {
		slice = slice.DeepCopy()
		slice.Endpoints = nil
		for _, ip := range want {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{ip}})
		}
		stores.EndpointSlices.Put(slice)
		c.wait(fmt.Sprintf("%v behind idle", want), func(s xdsclient.State) bool {
			got, ok := addresses(s, idleCluster)
			return ok && slices.Equal(got, want)
		})
	}
}
