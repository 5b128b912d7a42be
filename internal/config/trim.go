package config

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The trim functions are the one list of what meshd reads of each kind. What they leave out is neither stored nor
// compared: reading a new field begins here. They build a new object and never write to the one they are given.
// Empty maps and slices become nil, so that equal meaning is equal content.

// istioDomain is the domain of the labels and annotations that are meant for the mesh.
const istioDomain = "istio.io"

// TrimService keeps what meshd reads of a Service. Sessions by client address are not among it: Istio has sticky
// sessions of its own. Nor are addresses outside of the cluster, or the ports of nodes.
func TrimService(s *corev1.Service) *corev1.Service {
	out := &corev1.Service{ObjectMeta: identity(s.Namespace, s.Name)}
	out.Labels = keep(s.Labels, istio)
	out.Annotations = keep(s.Annotations, istio)
	if !s.CreationTimestamp.IsZero() {
		// Seconds are what the API server keeps; a time zone would make equal instants differ.
		out.CreationTimestamp = metav1.Unix(s.CreationTimestamp.Unix(), 0)
	}
	out.Spec = corev1.ServiceSpec{
		Type:                     s.Spec.Type,
		Selector:                 keep(s.Spec.Selector, all),
		ClusterIP:                s.Spec.ClusterIP,
		ClusterIPs:               list(s.Spec.ClusterIPs, same),
		ExternalName:             s.Spec.ExternalName,
		PublishNotReadyAddresses: s.Spec.PublishNotReadyAddresses,
		InternalTrafficPolicy:    s.Spec.InternalTrafficPolicy,
		TrafficDistribution:      s.Spec.TrafficDistribution,
		Ports: list(s.Spec.Ports, func(p corev1.ServicePort) corev1.ServicePort {
			return corev1.ServicePort{Name: p.Name, Protocol: p.Protocol, AppProtocol: p.AppProtocol, Port: p.Port, TargetPort: p.TargetPort}
		}),
	}
	return out
}

// LabelImport marks a slice that was brought from another cluster for a service that is imported. It is not one of the
// cluster's own service, though it may carry its name (https://github.com/kubernetes-sigs/mcs-api).
const LabelImport = "multicluster.kubernetes.io/service-name"

// TrimEndpointSlice keeps what meshd reads of an EndpointSlice. Which node and zone an endpoint is in, its pod says.
func TrimEndpointSlice(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	out := &discoveryv1.EndpointSlice{ObjectMeta: identity(s.Namespace, s.Name), AddressType: s.AddressType}
	out.Labels = keep(s.Labels, func(key string) bool { return key == discoveryv1.LabelServiceName || key == LabelImport })
	out.Ports = list(s.Ports, func(p discoveryv1.EndpointPort) discoveryv1.EndpointPort {
		return discoveryv1.EndpointPort{Name: p.Name, Port: p.Port}
	})
	out.Endpoints = list(s.Endpoints, func(e discoveryv1.Endpoint) discoveryv1.Endpoint {
		trimmed := discoveryv1.Endpoint{
			Addresses:  list(e.Addresses, same),
			Conditions: e.Conditions,
			Hostname:   e.Hostname,
		}
		if r := e.TargetRef; r != nil {
			trimmed.TargetRef = &corev1.ObjectReference{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}
		}
		return trimmed
	})
	return out
}

// TrimPod keeps what meshd reads of a Pod: who it is, what made it, where it runs, whether it has ended, and the names
// of its ports. Whether it is ready is not read here: the EndpointSlices say so.
func TrimPod(p *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: identity(p.Namespace, p.Name)}
	out.GenerateName = p.GenerateName
	out.Labels = keep(p.Labels, all)
	out.Annotations = keep(p.Annotations, istio)
	out.OwnerReferences = list(p.OwnerReferences, func(o metav1.OwnerReference) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: o.APIVersion, Kind: o.Kind, Name: o.Name, Controller: o.Controller}
	})
	out.Spec.ServiceAccountName = p.Spec.ServiceAccountName
	out.Spec.NodeName = p.Spec.NodeName
	for i := range p.Spec.Containers {
		if ports := namedPorts(&p.Spec.Containers[i]); ports != nil {
			out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Ports: ports})
		}
	}
	for i := range p.Spec.InitContainers {
		// Init containers that keep running are Kubernetes' sidecars, and may serve.
		c := &p.Spec.InitContainers[i]
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		if ports := namedPorts(c); ports != nil {
			out.Spec.InitContainers = append(out.Spec.InitContainers, corev1.Container{Ports: ports, RestartPolicy: c.RestartPolicy})
		}
	}
	out.Status.Phase = p.Status.Phase
	out.Status.PodIP = p.Status.PodIP
	out.Status.PodIPs = list(p.Status.PodIPs, same)
	return out
}

// namedPorts lists the ports that a service can refer to by name.
func namedPorts(c *corev1.Container) []corev1.ContainerPort {
	var out []corev1.ContainerPort
	for _, p := range c.Ports {
		if p.Name != "" {
			out = append(out, corev1.ContainerPort{Name: p.Name, ContainerPort: p.ContainerPort, Protocol: p.Protocol})
		}
	}
	return out
}

// TrimNode keeps what meshd reads of a Node: where it stands.
func TrimNode(n *corev1.Node) *corev1.Node {
	out := &corev1.Node{ObjectMeta: identity("", n.Name)}
	out.Labels = keep(n.Labels, topology)
	return out
}

// TrimNamespace keeps what meshd reads of a Namespace. Discovery selectors may look at any label.
func TrimNamespace(n *corev1.Namespace) *corev1.Namespace {
	out := &corev1.Namespace{ObjectMeta: identity("", n.Name)}
	out.Labels = keep(n.Labels, all)
	out.Annotations = keep(n.Annotations, istio)
	return out
}

// TrimServiceAccount keeps what meshd reads of a ServiceAccount: that it exists.
func TrimServiceAccount(s *corev1.ServiceAccount) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: identity(s.Namespace, s.Name)}
}

func identity(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func all(string) bool { return true }

func istio(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == istioDomain || strings.HasSuffix(domain, "."+istioDomain)
}

// topology says which labels of a node make its locality
// (https://istio.io/latest/docs/tasks/traffic-management/locality-load-balancing/). The failure-domain labels are
// what Kubernetes called them before 1.17.
func topology(key string) bool {
	switch key {
	case corev1.LabelTopologyRegion, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaRegion, corev1.LabelFailureDomainBetaZone,
		"topology." + istioDomain + "/subzone":
		return true
	}
	return false
}

func keep(in map[string]string, read func(key string) bool) map[string]string {
	var out map[string]string
	for k, v := range in {
		if !read(k) {
			continue
		}
		if out == nil {
			out = make(map[string]string, len(in))
		}
		out[k] = v
	}
	return out
}

func same[T any](v T) T { return v }

func list[T any](in []T, trim func(T) T) []T {
	if len(in) == 0 {
		return nil
	}
	out := make([]T, len(in))
	for i, v := range in {
		out[i] = trim(v)
	}
	return out
}
