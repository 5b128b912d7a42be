package registry_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/registry"
)

func TestPod(t *testing.T) {
	got := registry.Pod(parse[corev1.Pod](t, `
metadata:
  name: web-5c9-abcde
  namespace: shop
  generateName: web-5c9-
  labels: {app: web, pod-template-hash: 5c9, security.istio.io/tlsMode: istio, topology.istio.io/network: n1, istio-locality: r.z.s}
  ownerReferences: [{kind: ReplicaSet, name: web-5c9, controller: true, apiVersion: apps/v1, uid: u}]
spec:
  serviceAccountName: web
  nodeName: node-1
  initContainers:
  - {name: setup, ports: [{name: once, containerPort: 1}]}
  - {name: mesh, restartPolicy: Always, ports: [{name: side, containerPort: 2}]}
  containers:
  - {name: app, ports: [{name: http, containerPort: 8080}, {containerPort: 9}, {name: dns, containerPort: 53, protocol: UDP}]}
status: {phase: Running, podIP: 10.1.0.1, podIPs: [{ip: 10.1.0.1}, {ip: "fd00::1"}]}`))
	want := &registry.Workload{
		NamespacedName: model.NamespacedName{Namespace: "shop", Name: "web-5c9-abcde"},
		Addresses:      []string{"10.1.0.1", "fd00::1"},
		Node:           "node-1",
		Labels: map[string]string{"app": "web", "pod-template-hash": "5c9", "security.istio.io/tlsMode": "istio",
			"topology.istio.io/network": "n1", "istio-locality": "r.z.s"},
		ServiceAccount: "web",
		Owner:          "web",
		Locality:       model.Locality{Region: "r", Zone: "z", SubZone: "s"},
		Network:        "n1",
		MutualTLS:      true,
		Ports:          []registry.ContainerPort{{Name: "http", Number: 8080}, {Name: "dns", Number: 53, UDP: true}, {Name: "side", Number: 2}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	for port, want := range map[model.Port]uint32{
		{Number: 80}:                                                 80,
		{Number: 80, TargetPort: "8080"}:                             8080,
		{Number: 80, TargetPort: "http"}:                             8080,
		{Number: 80, TargetPort: "side"}:                             2,
		{Number: 80, TargetPort: "once"}:                             0,
		{Number: 80, TargetPort: "dns"}:                              0,
		{Number: 53, TargetPort: "dns", Protocol: model.ProtocolUDP}: 53,
	} {
		number, ok := got.TargetPort(port)
		if number != want || ok != (want != 0) {
			t.Errorf("target of %+v: got %d %v, want %d", port, number, ok, want)
		}
	}
	if number, ok := (*registry.Workload)(nil).TargetPort(model.Port{Number: 80, TargetPort: "8080"}); number != 8080 || !ok {
		t.Errorf("a number needs no workload: got %d %v", number, ok)
	}
	if _, ok := (*registry.Workload)(nil).TargetPort(model.Port{Number: 80, TargetPort: "http"}); ok {
		t.Errorf("a name was resolved without a workload")
	}
}

func TestPodStates(t *testing.T) {
	for yaml, want := range map[string]*registry.Workload{
		`{metadata: {name: a}, status: {phase: Succeeded, podIP: 10.1.0.1}}`: nil,
		`{metadata: {name: a}, status: {phase: Failed, podIP: 10.1.0.1}}`:    nil,
		`{metadata: {name: a}, status: {phase: Pending}}`:                    {NamespacedName: model.NamespacedName{Name: "a"}, Owner: "a", ServiceAccount: "default"},
		`{metadata: {name: a}, status: {phase: Running, podIP: 10.1.0.1}}`:   {NamespacedName: model.NamespacedName{Name: "a"}, Owner: "a", ServiceAccount: "default", Addresses: []string{"10.1.0.1"}},
	} {
		if diff := cmp.Diff(want, registry.Pod(parse[corev1.Pod](t, yaml))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", yaml, diff)
		}
	}
}

func TestOwner(t *testing.T) {
	for _, c := range []struct{ why, meta, want string }{
		{"a name that was not generated", `{name: web-7-p0, labels: {pod-template-hash: "7"}, ownerReferences: [{kind: ReplicaSet, name: web-7, controller: true, apiVersion: v1, uid: u}]}`, "web-7-p0"},
		{"deployment", `{name: web-7-p0, generateName: web-7-, labels: {pod-template-hash: "7"}, ownerReferences: [{kind: ReplicaSet, name: web-7, controller: true, apiVersion: v1, uid: u}]}`, "web"},
		{"rollout", `{name: web-7-p0, generateName: web-7-, labels: {rollouts-pod-template-hash: "7"}, ownerReferences: [{kind: ReplicaSet, name: web-7, controller: true, apiVersion: v1, uid: u}]}`, "web"},
		{"replica set of its own", `{name: web-7-p0, generateName: web-7-, ownerReferences: [{kind: ReplicaSet, name: web-7, controller: true, apiVersion: v1, uid: u}]}`, "web-7"},
		{"stateful set", `{name: db-0, generateName: db-, ownerReferences: [{kind: StatefulSet, name: db, controller: true, apiVersion: v1, uid: u}]}`, "db"},
		{"deployment config", `{name: web-1-p0, generateName: web-1-, labels: {deploymentconfig: web}, ownerReferences: [{kind: ReplicationController, name: web-1, controller: true, apiVersion: v1, uid: u}]}`, "web"},
		{"cron job", `{name: tidy-28000000-p0, generateName: tidy-28000000-, ownerReferences: [{kind: Job, name: tidy-28000000, controller: true, apiVersion: v1, uid: u}]}`, "tidy"},
		{"job", `{name: tidy-p0, generateName: tidy-, ownerReferences: [{kind: Job, name: tidy-7, controller: true, apiVersion: v1, uid: u}]}`, "tidy-7"},
		{"an owner that is no controller", `{name: web-p0, generateName: web-, ownerReferences: [{kind: ReplicaSet, name: web-7, apiVersion: v1, uid: u}]}`, "web-p0"},
		{"label", `{name: web-p0, labels: {service.istio.io/workload-name: shop}}`, "shop"},
	} {
		if got := registry.Pod(parse[corev1.Pod](t, `{metadata: `+c.meta+`}`)).Owner; got != c.want {
			t.Errorf("%s: got %q, want %q", c.why, got, c.want)
		}
	}
}

func TestLocality(t *testing.T) {
	for _, c := range []struct {
		node string
		want model.Locality
	}{
		{`{}`, model.Locality{}},
		{`{metadata: {labels: {topology.kubernetes.io/region: r, topology.kubernetes.io/zone: z, topology.istio.io/subzone: s}}}`, model.Locality{Region: "r", Zone: "z", SubZone: "s"}},
		{`{metadata: {labels: {failure-domain.beta.kubernetes.io/region: r, failure-domain.beta.kubernetes.io/zone: z}}}`, model.Locality{Region: "r", Zone: "z"}},
	} {
		if got := registry.Locality(parse[corev1.Node](t, c.node)); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.node, got, c.want)
		}
	}
	for labels, want := range map[string]model.Locality{
		`{topology.istio.io/locality: r.z, istio-locality: x}`: {Region: "r", Zone: "z"},
		`{istio-locality: r.z.s}`:                              {Region: "r", Zone: "z", SubZone: "s"},
		`{istio-locality: r.1/z/s}`:                            {Region: "r.1", Zone: "z", SubZone: "s"},
		`{app: web}`:                                           {},
	} {
		if got := registry.Pod(parse[corev1.Pod](t, `{metadata: {labels: `+labels+`}}`)).Locality; got != want {
			t.Errorf("%s: got %+v, want %+v", labels, got, want)
		}
	}
}
