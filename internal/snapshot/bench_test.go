package snapshot_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
)

// benchPods is how many pods a service of the benchmarks has.
const benchPods = 5

func benchService(i int, port int32) *corev1.Service {
	name := fmt.Sprintf("svc-%d", i)
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name},
		Spec: corev1.ServiceSpec{
			ClusterIP: "10.0.0.1", Selector: map[string]string{"app": name},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "tcp-x", Port: port}},
		},
	}
}

func benchPod(i, j int, account string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: fmt.Sprintf("pod-%d-%d", i, j), Labels: map[string]string{
			"app": fmt.Sprintf("svc-%d", i), "version": "v1", "pod-template-hash": "7d4f8c9b6", "security.istio.io/tlsMode": "istio"}},
		Spec:   corev1.PodSpec{ServiceAccountName: account, NodeName: fmt.Sprintf("node-%d", j)},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: fmt.Sprintf("10.%d.%d.%d", i/256, i%256, j)}}},
	}
}

func benchSlice(i int, ready bool) *discoveryv1.EndpointSlice {
	name := fmt.Sprintf("svc-%d", i)
	http, tcp, port := "http", "tcp-x", int32(8080)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "bench", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &http, Port: &port}, {Name: &tcp, Port: &port}},
	}
	for j := range benchPods {
		is := ready || j > 0
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{fmt.Sprintf("10.%d.%d.%d", i/256, i%256, j)},
			Conditions: discoveryv1.EndpointConditions{Ready: &is},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: "bench", Name: fmt.Sprintf("pod-%d-%d", i, j)},
		})
	}
	return slice
}

func benchRig(b testing.TB, services int) *rig {
	r := newRig(b)
	for j := range benchPods {
		r.stores.Nodes.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", j)}})
	}
	for i := range services {
		r.stores.Services.Put(benchService(i, 90))
		r.stores.EndpointSlices.Put(benchSlice(i, true))
		for j := range benchPods {
			r.stores.Pods.Put(benchPod(i, j, "sa"))
		}
	}
	return r
}

// BenchmarkCompile measures one small change in meshes of growing size, all in one namespace, and the first compilation.
func BenchmarkCompile(b *testing.B) {
	for _, services := range []int{250, 1000, 4000} {
		changes := map[string]func(r *rig, n int){
			"endpoint": func(r *rig, n int) { r.stores.EndpointSlices.Put(benchSlice(7, n%2 == 0)) },
			"port":     func(r *rig, n int) { r.stores.Services.Put(benchService(7, 90+int32(n%2))) },
			"account":  func(r *rig, n int) { r.stores.Pods.Put(benchPod(7, 0, fmt.Sprint("sa", n%2))) },
			"service": func(r *rig, n int) {
				if n%2 == 0 {
					r.stores.Services.Put(benchService(services, 90))
				} else {
					r.stores.Services.Delete(model.NamespacedName{Namespace: "bench", Name: fmt.Sprintf("svc-%d", services)})
				}
			},
		}
		for _, what := range []string{"endpoint", "port", "account", "service"} {
			b.Run(fmt.Sprintf("%s/services=%d", what, services), func(b *testing.B) {
				r := benchRig(b, services)
				last := r.compile()
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					changes[what](r, n+1)
					s := r.compile()
					if n > 0 && s == last {
						b.Fatal("the change changes nothing")
					}
					last = s
				}
			})
		}
		b.Run(fmt.Sprintf("first/services=%d", services), func(b *testing.B) {
			r := benchRig(b, services)
			b.ReportAllocs()
			for b.Loop() {
				c := snapshot.NewCompiler(r.stores, mesh, snapshot.Options{})
				if _, err := c.Compile(context.Background(), r.stores.MarkSynced(), nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkInbound measures the question that every stream asks of every snapshot.
func BenchmarkInbound(b *testing.B) {
	r := benchRig(b, 1000)
	s := r.compile()
	for name, p := range map[string]*model.Proxy{
		"pod":    {Namespace: "bench", Pod: "pod-7-0", IPs: []string{"10.0.7.0"}},
		"labels": {Namespace: "bench", Pod: "soon", IPs: []string{"10.9.9.9"}, Metadata: model.Metadata{Labels: map[string]string{"app": "svc-7", "version": "v1"}}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(s.Inbound(p).Targets) == 0 {
					b.Fatal("nothing leads to the workload")
				}
			}
		})
	}
}
