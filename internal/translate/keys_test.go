package translate_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/scenario"
)

// edit changes the objects of the shop or its mesh config, and says what it changed.
type edit struct {
	name string
	do   func(t *testing.T, e *editor) model.Change
}

type editor struct {
	sc   *scenario.Scenario
	mesh *meshv1alpha1.MeshConfig
}

func (e *editor) service(t *testing.T, name string, change func(*corev1.Service)) model.Change {
	t.Helper()
	view, err := e.sc.Stores.Read(e.sc.Synced)
	if err != nil {
		t.Fatal(err)
	}
	n := model.NamespacedName{Namespace: "shop", Name: name}
	s, ok := view.Services.Get(n)
	if !ok {
		t.Fatalf("no service %s", n)
	}
	s = s.DeepCopy()
	change(s)
	e.sc.Stores.Services.Put(s)
	return model.Change{Kind: model.KindService, NamespacedName: n}
}

func (e *editor) slice(t *testing.T, name string, change func(*discoveryv1.EndpointSlice)) model.Change {
	t.Helper()
	view, err := e.sc.Stores.Read(e.sc.Synced)
	if err != nil {
		t.Fatal(err)
	}
	n := model.NamespacedName{Namespace: "shop", Name: name}
	s, ok := view.EndpointSlices.Get(n)
	if !ok {
		t.Fatalf("no endpoint slice %s", n)
	}
	s = s.DeepCopy()
	change(s)
	e.sc.Stores.EndpointSlices.Put(s)
	return model.Change{Kind: model.KindEndpointSlice, NamespacedName: n, What: model.AspectEndpoints}
}

func (e *editor) pod(t *testing.T, name string, change func(*corev1.Pod)) model.Change {
	t.Helper()
	view, err := e.sc.Stores.Read(e.sc.Synced)
	if err != nil {
		t.Fatal(err)
	}
	n := model.NamespacedName{Namespace: "shop", Name: name}
	p, ok := view.Pods.Get(n)
	if !ok {
		t.Fatalf("no pod %s", n)
	}
	p = p.DeepCopy()
	change(p)
	e.sc.Stores.Pods.Put(p)
	return model.Change{Kind: model.KindPod, NamespacedName: n}
}

// TestKeysHoldEverythingThatIsRead: whatever changes, recipes with one name and key build one resource; so a cache by
// key gives what a generator without a cache would. Each edit changes one input.
func TestKeysHoldEverythingThatIsRead(t *testing.T) {
	edits := []edit{
		{"nothing yet", func(*testing.T, *editor) model.Change { return model.Change{} }},
		{"protocol of a port, TCP both", func(t *testing.T, e *editor) model.Change {
			return e.service(t, "ledger", func(s *corev1.Service) { s.Spec.Ports[0].Name = "mongo-sql" })
		}},
		{"protocol of a port", func(t *testing.T, e *editor) model.Change {
			return e.service(t, "ledger", func(s *corev1.Service) { s.Spec.Ports[0].Name = "http-sql" })
		}},
		{"target port", func(t *testing.T, e *editor) model.Change {
			return e.service(t, "front", func(s *corev1.Service) { s.Spec.Ports[0].TargetPort.StrVal = "other" })
		}},
		{"a port of the workload that another workload has too", func(t *testing.T, e *editor) model.Change {
			return e.service(t, "cart", func(s *corev1.Service) { s.Spec.Ports[1].TargetPort.IntVal = 8080 })
		}},
		{"address of a service", func(t *testing.T, e *editor) model.Change {
			return e.service(t, "cart", func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "10.20.7.7", []string{"10.20.7.7"} })
		}},
		{"another port", func(t *testing.T, e *editor) model.Change {
			return e.service(t, "cart", func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "tcp-more", Port: 7002, Protocol: corev1.ProtocolTCP})
			})
		}},
		{"headless turns to one with an address", func(t *testing.T, e *editor) model.Change {
			return e.service(t, "queue", func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "10.20.8.8", []string{"10.20.8.8"} })
		}},
		{"and back", func(t *testing.T, e *editor) model.Change {
			return e.service(t, "queue", func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "None", []string{"None"} })
		}},
		{"sticky sessions", func(t *testing.T, e *editor) model.Change {
			return e.service(t, "cart", func(s *corev1.Service) { s.Labels = map[string]string{"istio.io/persistent-session": "id"} })
		}},
		{"a member of the headless service leaves", func(t *testing.T, e *editor) model.Change {
			return e.slice(t, "queue-1", func(s *discoveryv1.EndpointSlice) { s.Endpoints = s.Endpoints[:1] })
		}},
		{"an endpoint is not ready", func(t *testing.T, e *editor) model.Change {
			return e.slice(t, "front-1", func(s *discoveryv1.EndpointSlice) {
				no := false
				s.Endpoints[0].Conditions.Ready = &no
			})
		}},
		{"another identity", func(t *testing.T, e *editor) model.Change {
			return e.pod(t, "cart-0", func(p *corev1.Pod) { p.Spec.ServiceAccountName = "other" })
		}},
		{"no proxy any more", func(t *testing.T, e *editor) model.Change {
			return e.pod(t, "cart-1", func(p *corev1.Pod) { delete(p.Labels, "security.istio.io/tlsMode") })
		}},
		{"another revision", func(t *testing.T, e *editor) model.Change {
			return e.pod(t, "front-0", func(p *corev1.Pod) { p.Labels["service.istio.io/canonical-revision"] = "v8" })
		}},
		{"mesh config", func(_ *testing.T, e *editor) model.Change {
			e.mesh = mesh.Default()
			e.mesh.ConnectTimeout = durationpb.New(time.Second)
			e.mesh.EnableTracing = false
			return model.Change{Kind: model.KindMeshConfig}
		}},
	}
	proxies := []*model.Proxy{
		proxy(t, cart0, nil),
		proxy(t, cart0, func(m map[string]any) { delete(m, "ISTIO_VERSION") }),
		proxy(t, cart0, func(m map[string]any) { m["INTERCEPTION_MODE"] = "TPROXY" }),
		proxy(t, cart0, func(m map[string]any) { m["INTERCEPTION_MODE"] = "NONE" }),
		proxy(t, cart0, func(m map[string]any) { m["ENVOY_STATUS_PORT"] = 7000.0 }),
		proxy(t, cart0, func(m map[string]any) { m["CLUSTER_ID"] = "other" }),
		proxy(t, cart0, func(m map[string]any) { m["GENERATOR"] = "grpc" }),
		proxy(t, "sidecar~10.30.0.1~front-0.shop~shop.svc.cluster.local", nil),
		proxy(t, "sidecar~10.30.0.5~queue-0.shop~shop.svc.cluster.local", nil),
		proxy(t, "sidecar~fd00::9~charts-0.ops~ops.svc.cluster.local", func(m map[string]any) { m["NAMESPACE"] = "ops" }),
		proxy(t, "router~10.30.9.1~edge-0.ops~ops.svc.cluster.local", func(m map[string]any) { m["NAMESPACE"] = "ops" }),
	}
	e := &editor{sc: shop(t), mesh: mesh.Default()}
	compiler := snapshot.NewCompiler(e.sc.Stores, func() *meshv1alpha1.MeshConfig { return e.mesh }, snapshot.Options{})

	type id struct {
		flavor model.Flavor
		url    string
		name   string
		key    any
	}
	built := map[id][]byte{}
	for _, edit := range edits {
		s, err := compiler.Compile(context.Background(), e.sc.Synced, map[model.Change]struct{}{edit.do(t, e): {}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range proxies {
			for _, g := range generators(p) {
				for _, r := range g.List(g.Class(s, p)).All(s) {
					// Two at once: a build must not write to what it reads.
					var both [2][]byte
					var wait sync.WaitGroup
					for i := range both {
						wait.Go(func() {
							m, err := r.Build()
							if err == nil {
								both[i], err = proto.MarshalOptions{Deterministic: true}.Marshal(m)
							}
							if err != nil {
								t.Errorf("%s: %s: %v", edit.name, r.Name, err)
							}
						})
					}
					wait.Wait()
					if !bytes.Equal(both[0], both[1]) {
						t.Errorf("%s: %s: two builds of one recipe differ", edit.name, r.Name)
					}
					at := id{g.Flavor(), g.TypeURL(), r.Name, r.Key}
					if before, ok := built[at]; ok && !bytes.Equal(before, both[0]) {
						t.Errorf("after %q: %s %s (%s) is another resource under the key it had before", edit.name, g.TypeURL(), r.Name, p.ID)
					}
					built[at] = both[0]
				}
			}
		}
	}
}
