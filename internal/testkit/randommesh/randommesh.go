// Package randommesh makes random edits of a mesh, few of whose names and values there are, so that they meet often.
// Tests play them one by one, several at once, and from scratch, and compare.
package randommesh

import (
	"fmt"
	"math/rand/v2"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
)

// The names and values that random objects are made of.
var (
	namespaces = []string{"ns-a", "ns-a", "ns-a", "ns-b"}
	names      = []string{"a", "b", "c"}
	apps       = []string{"x", "y"}
	nodeNames  = []string{"n1", "n2"}
	addresses  = []string{"10.1.0.1", "10.1.0.2", "10.1.0.3", "fd00::1"}
	portNames  = []string{"", "http", "http"}
	numbers    = []int32{53, 80, 81}

	exports       = []string{"*", "*", ".", "~", "ns-a", "ns-b"}
	distributions = []string{"", "PreferClose", "PreferSameNode"}

	externalNames = []string{"x.example.com", "a.ns-a.svc.cluster.local", "b.ns-a.svc.cluster.local", "c.ns-b.svc.cluster.local"}

	kindsOfAddress = []discoveryv1.AddressType{"IPv4", "IPv4", "IPv4", "IPv4", "IPv6", "IPv6", "IPv6", "FQDN"}
)

// Source is a set of stores with the changes that are not compiled yet, and a mesh config.
type Source struct {
	Stores  *config.Stores
	Changes *config.Changes
	Mesh    *meshv1alpha1.MeshConfig
}

// New makes an empty source.
func New(mesh *meshv1alpha1.MeshConfig) *Source {
	s := &Source{Changes: config.NewChanges(), Mesh: mesh}
	s.Stores = config.NewStores(s.Changes.Add)
	return s
}

// Compiler makes a compiler of the source.
func (s *Source) Compiler() *snapshot.Compiler {
	return snapshot.NewCompiler(s.Stores, func() *meshv1alpha1.MeshConfig { return s.Mesh }, snapshot.Options{})
}

// Edit is one change of the world, which can be made in several sources.
type Edit func(*Source)

// Random is where random edits come from.
type Random struct{ *rand.Rand }

func pick[T any](r Random, of []T) T { return of[r.IntN(len(of))] }

// One is true once in that many times.
func (r Random) One(in int) bool { return r.IntN(in) == 0 }

func (r Random) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: pick(r, namespaces), Name: pick(r, names)}
}

// Edit makes one edit, of which about a quarter take something away or change the mesh config.
func (r Random) Edit() Edit {
	meta := r.meta()
	n := model.NamespacedName{Namespace: meta.Namespace, Name: meta.Name}
	switch remove := r.One(7); r.IntN(14) {
	case 0, 1, 2:
		if remove {
			return func(s *Source) { s.Stores.Services.Delete(n) }
		}
		o := r.service(meta)
		return func(s *Source) { s.Stores.Services.Put(o) }
	case 3, 4, 5, 6:
		if remove {
			return func(s *Source) { s.Stores.EndpointSlices.Delete(n) }
		}
		o := r.slice(meta)
		return func(s *Source) { s.Stores.EndpointSlices.Put(o) }
	case 7, 8, 9, 10:
		if remove {
			return func(s *Source) { s.Stores.Pods.Delete(n) }
		}
		o := r.pod(meta)
		return func(s *Source) { s.Stores.Pods.Put(o) }
	case 11:
		node := pick(r, nodeNames)
		if remove {
			return func(s *Source) { s.Stores.Nodes.Delete(model.NamespacedName{Name: node}) }
		}
		o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{corev1.LabelTopologyRegion: pick(r, apps)}}}
		return func(s *Source) { s.Stores.Nodes.Put(o) }
	case 12:
		namespace := pick(r, namespaces)
		if remove {
			return func(s *Source) { s.Stores.Namespaces.Delete(model.NamespacedName{Name: namespace}) }
		}
		o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace,
			Annotations: map[string]string{"networking.istio.io/traffic-distribution": pick(r, distributions)}}}
		return func(s *Source) { s.Stores.Namespaces.Put(o) }
	default:
		m := &meshv1alpha1.MeshConfig{TrustDomain: pick(r, []string{"one", "two"}), IngressClass: pick(r, apps)}
		if r.One(2) {
			m.DefaultServiceExportTo = []string{pick(r, exports)}
		}
		return func(s *Source) {
			s.Mesh = m
			s.Changes.Add(model.Change{Kind: model.KindMeshConfig})
		}
	}
}

func (r Random) service(meta metav1.ObjectMeta) *corev1.Service {
	meta.CreationTimestamp = metav1.Unix(int64(r.IntN(3)), 0)
	if r.One(4) {
		meta.Labels = map[string]string{"istio.io/persistent-session": "id"}
	}
	svc := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{PublishNotReadyAddresses: r.One(4)}}
	if r.One(3) {
		svc.Annotations = map[string]string{"networking.istio.io/exportTo": pick(r, exports), "networking.istio.io/traffic-distribution": pick(r, distributions)}
	}
	switch r.IntN(5) {
	case 0:
		svc.Spec.ClusterIP = corev1.ClusterIPNone
	case 1:
		svc.Spec.ClusterIPs = []string{"10.0.0.1", "fd00::a"}
	case 2:
		svc.Spec.Type, svc.Spec.ExternalName = corev1.ServiceTypeExternalName, pick(r, externalNames)
	default:
		svc.Spec.ClusterIP = "10.0.0.1"
	}
	if !r.One(4) {
		svc.Spec.Selector = map[string]string{"app": pick(r, apps)}
		if r.One(3) {
			svc.Spec.Selector["version"] = pick(r, apps)
		}
	}
	used := map[string]bool{}
	for range 1 + r.IntN(3) {
		p := corev1.ServicePort{Name: pick(r, portNames), Port: pick(r, numbers)}
		if used[p.Name] {
			continue
		}
		used[p.Name] = true
		switch r.IntN(3) {
		case 0:
			p.TargetPort = intstr.FromInt32(8080)
		case 1:
			p.TargetPort = intstr.FromString("rpc")
		}
		if r.One(4) {
			p.Protocol = corev1.ProtocolUDP
		}
		svc.Spec.Ports = append(svc.Spec.Ports, p)
	}
	return svc
}

func (r Random) slice(meta metav1.ObjectMeta) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  meta,
		AddressType: pick(r, kindsOfAddress),
	}
	if !r.One(8) {
		slice.Labels = map[string]string{discoveryv1.LabelServiceName: pick(r, names)}
	}
	for range 1 + r.IntN(2) {
		p := discoveryv1.EndpointPort{}
		if name := pick(r, portNames); name != "" || r.One(2) {
			p.Name = &name
		}
		if number := pick(r, numbers); !r.One(10) {
			p.Port = &number
		}
		slice.Ports = append(slice.Ports, p)
	}
	for range 1 + r.IntN(4) {
		e := discoveryv1.Endpoint{Addresses: []string{pick(r, addresses)}}
		if !r.One(3) {
			e.TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: pick(r, names), Namespace: meta.Namespace}
		}
		for _, condition := range []**bool{&e.Conditions.Ready, &e.Conditions.Serving, &e.Conditions.Terminating} {
			if r.One(2) {
				value := !r.One(3)
				*condition = &value
			}
		}
		slice.Endpoints = append(slice.Endpoints, e)
	}
	return slice
}

func (r Random) pod(meta metav1.ObjectMeta) *corev1.Pod {
	meta.Labels = map[string]string{"app": pick(r, apps), "version": pick(r, apps)}
	if r.One(4) {
		meta.Labels = nil
	}
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{
		NodeName:           pick(r, nodeNames),
		ServiceAccountName: pick(r, []string{"sa1", "sa2"}),
		Containers:         []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "rpc", ContainerPort: pick(r, numbers)}}}},
	}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	if r.One(6) {
		pod.Status.Phase = corev1.PodFailed
	}
	for range r.IntN(3) {
		pod.Status.PodIPs = append(pod.Status.PodIPs, corev1.PodIP{IP: pick(r, addresses)})
	}
	return pod
}

// Proxies are all that can be told apart by the names above, and some with labels only.
func Proxies() []*model.Proxy {
	var out []*model.Proxy
	for _, ns := range []string{"ns-a", "ns-b"} {
		for _, n := range append([]string{"unknown"}, names...) {
			for _, ip := range addresses {
				for _, app := range append([]string{""}, apps...) {
					p := &model.Proxy{ID: fmt.Sprint(ns, n, ip, app), Pod: n, Namespace: ns, IPs: []string{ip}}
					if app != "" {
						p.Metadata.Labels = map[string]string{"app": app, "version": "x"}
					}
					out = append(out, p)
				}
			}
		}
	}
	return out
}
