// Package registry reads services, workloads and endpoints out of Kubernetes objects.
//
// It is pure: objects in, plain data out. It keeps nothing, so it can lose nothing; what depends on what is known to
// whoever asks it (see Lookup).
package registry

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/meshd/meshd/internal/model"
)

// DefaultCluster is the id of the cluster that meshd runs in, as Istio calls it (istiod's CLUSTER_ID).
const DefaultCluster = "Kubernetes"

// The labels that ask for sticky sessions (istiod's PILOT_PERSISTENT_SESSION_LABEL and _HEADER_LABEL).
const (
	sessionLabel       = "istio.io/persistent-session"
	sessionHeaderLabel = "istio.io/persistent-session-header"
)

// The annotations by which a service names who may answer for it, with commas between names
// (https://istio.io/latest/docs/reference/config/annotations/).
const (
	accountsAnnotation   = "alpha.istio.io/kubernetes-serviceaccounts"
	identitiesAnnotation = "alpha.istio.io/canonical-serviceaccounts"
)

// Hostname of a Kubernetes service in a cluster's DNS domain, for example "reviews.default.svc.cluster.local".
func Hostname(name model.NamespacedName, domain string) string {
	return name.Name + "." + name.Namespace + ".svc." + domain
}

// Service reads a Kubernetes service. It shares maps and slices with the object, which must not change any more.
func Service(svc *corev1.Service, domain string) *model.Service {
	name := model.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	out := &model.Service{
		NamespacedName: name,
		Hostname:       Hostname(name, domain),
		Selector:       svc.Spec.Selector,
		KeepDraining:   svc.Labels[sessionLabel] != "" || svc.Labels[sessionHeaderLabel] != "",
	}
	if names := svc.Annotations[accountsAnnotation]; names != "" {
		out.Accounts = strings.Split(names, ",")
	}
	if names := svc.Annotations[identitiesAnnotation]; names != "" {
		out.Identities = strings.Split(names, ",")
	}
	if !svc.CreationTimestamp.IsZero() {
		out.Created = svc.CreationTimestamp.Unix()
	}
	switch addresses := clusterIPs(svc); {
	case svc.Spec.Type == corev1.ServiceTypeExternalName && svc.Spec.ExternalName != "":
		out.Resolution, out.ExternalName = model.ResolutionDNS, svc.Spec.ExternalName
	case slices.Contains(addresses, corev1.ClusterIPNone):
		out.Resolution = model.ResolutionPassthrough
	default:
		for _, a := range addresses {
			// A manifest may say anything. Envoy refuses a listener whose address is not one.
			if _, err := netip.ParseAddr(a); err == nil {
				out.Addresses = append(out.Addresses, a)
			}
		}
	}
	for _, p := range svc.Spec.Ports {
		out.Ports = append(out.Ports, model.Port{
			Name:       p.Name,
			Number:     uint32(p.Port),
			Protocol:   Protocol(p.Port, p.Name, p.Protocol, p.AppProtocol),
			TargetPort: targetPort(p.TargetPort),
		})
	}
	return out
}

// clusterIPs lists the virtual addresses, the primary one first. An API server keeps clusterIP and clusterIPs[0]
// equal; a manifest may have only one of them.
func clusterIPs(svc *corev1.Service) []string {
	if len(svc.Spec.ClusterIPs) > 0 {
		return svc.Spec.ClusterIPs
	}
	if svc.Spec.ClusterIP != "" {
		return []string{svc.Spec.ClusterIP}
	}
	return nil
}

// targetPort is empty for what an API server would have filled in with the port itself.
func targetPort(p intstr.IntOrString) string {
	if p.Type == intstr.Int && p.IntVal == 0 {
		return ""
	}
	return p.String()
}
