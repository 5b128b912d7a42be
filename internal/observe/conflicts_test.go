package observe

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/testkit/scenario"
)

func claim(name, port string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec: corev1.ServiceSpec{ClusterIP: "10.1.0.1", Selector: map[string]string{"app": "cart"}, Ports: []corev1.ServicePort{
			{Name: port, Port: 80, TargetPort: intstr.FromInt32(9000)},
		}},
	}
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "cart"}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// counted reads the metric; false if it is absent.
func counted(t *testing.T, registry *prometheus.Registry) (float64, bool) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "pilot_conflict_inbound_listener" {
			return f.GetMetric()[0].GetGauge().GetValue(), true
		}
	}
	return 0, false
}

// TestConflicts: a conflict is counted while some pod has it, and logged when it begins, however many pods have it and
// however many snapshots there are.
func TestConflicts(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	registry := prometheus.NewRegistry()
	c, err := NewConflicts(zap.New(core), registry)
	if err != nil {
		t.Fatal(err)
	}
	if _, there := counted(t, registry); there {
		t.Error("something is counted before there is a snapshot")
	}
	sc := scenario.Parse(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
	compiler := sc.Compiler(nil)
	follow := func(what string, conflicts, lines int, changes ...model.Change) {
		t.Helper()
		set := map[model.Change]struct{}{}
		for _, change := range changes {
			set[change] = struct{}{}
		}
		s, err := compiler.Compile(context.Background(), sc.Synced, set)
		if err != nil {
			t.Fatal(err)
		}
		c.Follow(s)
		if n, _ := counted(t, registry); n != float64(conflicts) {
			t.Errorf("%s: %v conflicts, want %d", what, n, conflicts)
		}
		if n := logs.Len(); n != lines {
			t.Errorf("%s: %d lines in the log, want %d", what, n, lines)
		}
	}
	service := func(name string) model.Change {
		return model.Change{Kind: model.KindService, NamespacedName: model.NamespacedName{Namespace: "shop", Name: name}}
	}
	ofPod := func(name string) model.Change {
		return model.Change{Kind: model.KindPod, NamespacedName: model.NamespacedName{Namespace: "shop", Name: name}}
	}
	follow("nothing", 0, 0)
	sc.Stores.Services.Put(claim("a", "http"))
	sc.Stores.Pods.Put(pod("cart-0"))
	sc.Stores.Pods.Put(pod("cart-1"))
	follow("one service", 0, 0, service("a"), ofPod("cart-0"), ofPod("cart-1"))
	sc.Stores.Services.Put(claim("b", "tcp"))
	follow("two pods that two services disagree on", 1, 1, service("b"))
	line := logs.All()[0].ContextMap()
	if line["port"] != uint32(9000) || line["counts"] != "a.shop.svc.cluster.local:80" || line["not"] != "b.shop.svc.cluster.local:80" || line["pods"] != int64(2) {
		t.Errorf("logged %v", line)
	}
	sc.Stores.Pods.Put(pod("cart-2"))
	follow("a third pod", 1, 1, ofPod("cart-2"))
	sc.Stores.Pods.Delete(ofPod("cart-0").NamespacedName)
	follow("one pod goes", 1, 1, ofPod("cart-0"))
	sc.Stores.Services.Put(claim("c", "grpc"))
	follow("a third protocol", 2, 2, service("c"))
	sc.Stores.Services.Put(claim("b", "http"))
	follow("one is mended", 1, 2, service("b"))
	sc.Stores.Services.Delete(service("c").NamespacedName)
	follow("the other goes", 0, 2, service("c"))
	sc.Stores.Services.Put(claim("b", "tcp"))
	follow("the first is back", 1, 3, service("b"))
	sc.Stores.Pods.Delete(ofPod("cart-1").NamespacedName)
	sc.Stores.Pods.Delete(ofPod("cart-2").NamespacedName)
	follow("no pod is left", 0, 3, ofPod("cart-1"), ofPod("cart-2"))
}

// TestManyConflicts: a mesh that is full of them does not fill the log.
func TestManyConflicts(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	registry := prometheus.NewRegistry()
	c, err := NewConflicts(zap.New(core), registry)
	if err != nil {
		t.Fatal(err)
	}
	const losers = 50
	sc := scenario.Parse(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
	sc.Stores.Services.Put(claim("a", "http"))
	for i := range losers {
		sc.Stores.Services.Put(claim("b"+string(rune('a'+i/26))+string(rune('a'+i%26)), "tcp"))
	}
	sc.Stores.Pods.Put(pod("cart-0"))
	c.Follow(sc.Snapshot(t, nil))
	if n, _ := counted(t, registry); n != losers {
		t.Errorf("%v conflicts, want %d", n, losers)
	}
	if n := logs.Len(); n != maxSaid+1 || logs.All()[maxSaid].ContextMap()["conflicts"] != int64(losers-maxSaid) {
		t.Errorf("%d lines, the last of which is %v", n, logs.All()[n-1].ContextMap())
	}
}
