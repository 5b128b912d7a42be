package snapshot

import (
	"context"
	"fmt"
	"maps"
	"testing"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
)

// An endpoint that is told of before its pod is there as soon as the pod is, with all that the pod says. Who waits for a
// pod is known as long as a slice names the pod and no longer: pods that fail, and such that never come, leave nothing.
func TestCaseD3(t *testing.T) {
	changes := config.NewChanges()
	stores := config.NewStores(changes.Add)
	c := NewCompiler(stores, func() *meshv1alpha1.MeshConfig { return &meshv1alpha1.MeshConfig{TrustDomain: "td"} }, Options{})
	endpoints := func() []*model.Endpoint {
		t.Helper()
		all, _ := changes.Take()
		s, err := c.Compile(context.Background(), stores.MarkSynced(), all)
		if err != nil {
			t.Fatal(err)
		}
		return s.Endpoints("web.shop.svc.cluster.local", 80).All
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "shop", Name: name} }
	pod := func(name, address string, phase corev1.PodPhase) {
		m := meta(name)
		m.Labels = map[string]string{"app": "web", "version": "v7"}
		stores.Pods.Put(&corev1.Pod{ObjectMeta: m, Spec: corev1.PodSpec{ServiceAccountName: "web"},
			Status: corev1.PodStatus{Phase: phase, PodIPs: []corev1.PodIP{{IP: address}}}})
	}
	slice := func(name, pod, address string) {
		m, port := meta(name), int32(80)
		m.Labels = map[string]string{discoveryv1.LabelServiceName: "web"}
		stores.EndpointSlices.Put(&discoveryv1.EndpointSlice{
			ObjectMeta: m, AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: pod}}},
		})
	}
	stores.Services.Put(&corev1.Service{ObjectMeta: meta("web"), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	slice("web-1", "web-0", "10.0.0.1")
	if got := endpoints(); len(got) != 0 {
		t.Fatalf("%d endpoints without a pod", len(got))
	}
	pod("web-0", "10.0.0.1", corev1.PodRunning)
	got := endpoints()
	if len(got) != 1 || !maps.Equal(got[0].Labels, map[string]string{"app": "web", "version": "v7"}) || got[0].ServiceAccount != "web" {
		t.Fatalf("the pod has come, and the endpoints are %+v", got)
	}

	before := c.known.waiting()
	const many = 1000
	for i := range many {
		slice(fmt.Sprint("web-late-", i), fmt.Sprint("late-", i), fmt.Sprintf("10.1.%d.%d", i/250, i%250+1))
		if i%100 == 0 {
			endpoints()
		}
	}
	if got := endpoints(); len(got) != 1 {
		t.Fatalf("%d endpoints, of whom one has a pod", len(got))
	}
	if n := c.known.waiting() - before; n != many {
		t.Errorf("%d are waited for, want %d: the test does not see what it is about", n, many)
	}
	for i := range many / 2 { // the others never come
		pod(fmt.Sprint("late-", i), fmt.Sprintf("10.1.%d.%d", i/250, i%250+1), corev1.PodFailed)
		if i%100 == 0 {
			endpoints()
		}
	}
	if got := endpoints(); len(got) != 1 {
		t.Errorf("%d endpoints: pods that failed are among them", len(got))
	}
	for i := range many {
		stores.EndpointSlices.Delete(model.NamespacedName{Namespace: "shop", Name: fmt.Sprint("web-late-", i)})
	}
	if got := endpoints(); len(got) != 1 {
		t.Errorf("%d endpoints are left, want the one with a pod", len(got))
	}
	if n := c.known.waiting() - before; n != 0 {
		t.Errorf("%d pods are still waited for", n)
	}
}

// waiting counts what services depend on, from whichever side there is more of it.
func (k *known) waiting() int {
	reads, readers := 0, 0
	for _, what := range k.reads {
		reads += len(what)
	}
	for _, who := range k.readers {
		readers += len(who)
	}
	return max(reads, readers)
}
