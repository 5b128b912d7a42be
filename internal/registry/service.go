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

// The annotations by which a service says whom it is shown to, with commas between namespaces, and a service or its
// namespace which endpoints are preferred, where the service's field trafficDistribution does not.
const (
	exportAnnotation       = "networking.istio.io/exportTo"
	distributionAnnotation = "networking.istio.io/traffic-distribution"
)

// Names for namespaces in lists of those that something is shown to.
const (
	// Everybody is every namespace.
	Everybody = "*"
	ownOnly   = "."
	nobody    = "~"
)

// ExportTo reads a list of namespaces that an object of the given namespace is shown to: sorted, without duplicates,
// its own by name. Everybody stands alone, and who is nobody too is shown to nobody: the result is empty.
func ExportTo(names []string, namespace string) []string {
	var out []string
	hidden := false
	for _, name := range names {
		switch name = strings.TrimSpace(name); name {
		case Everybody:
			return []string{Everybody}
		case nobody:
			hidden = true
		case ownOnly:
			out = append(out, namespace)
		default:
			out = append(out, name)
		}
	}
	if hidden {
		return nil
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// distribution reads which endpoints a service's clients prefer: by its field, else its annotation, else its
// namespace's. A word that is not known counts for nothing in the field, and for any endpoint in an annotation.
func distribution(svc *corev1.Service, namespace *corev1.Namespace) model.Distribution {
	if p := svc.Spec.TrafficDistribution; p != nil {
		switch *p {
		case corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone:
			return model.DistributeZone
		case corev1.ServiceTrafficDistributionPreferSameNode:
			return model.DistributeNode
		}
	}
	word := svc.Annotations[distributionAnnotation]
	if word == "" && namespace != nil {
		word = namespace.Annotations[distributionAnnotation]
	}
	switch {
	case strings.EqualFold(word, corev1.ServiceTrafficDistributionPreferClose), strings.EqualFold(word, corev1.ServiceTrafficDistributionPreferSameZone):
		return model.DistributeZone
	case strings.EqualFold(word, corev1.ServiceTrafficDistributionPreferSameNode):
		return model.DistributeNode
	}
	return model.DistributeAny
}

// Hostname of a Kubernetes service in a cluster's DNS domain, for example "reviews.default.svc.cluster.local".
func Hostname(name model.NamespacedName, domain string) string {
	return name.Name + "." + name.Namespace + ".svc." + domain
}

// Service reads a Kubernetes service. Its namespace may be nil if it is not known. The result shares maps and slices
// with the object, which must not change any more.
func Service(svc *corev1.Service, namespace *corev1.Namespace, domain string) *model.Service {
	name := model.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}
	out := &model.Service{
		NamespacedName: name,
		Hostname:       Hostname(name, domain),
		Selector:       svc.Spec.Selector,
		KeepDraining:   svc.Labels[sessionLabel] != "",
		Sticky:         svc.Labels[sessionLabel] != "" || svc.Labels[sessionHeaderLabel] != "",
		Distribution:   distribution(svc, namespace),

		PublishNotReady: svc.Spec.PublishNotReadyAddresses,
	}
	if p := svc.Spec.InternalTrafficPolicy; p != nil {
		out.NodeLocal = *p == corev1.ServiceInternalTrafficPolicyLocal
	}
	if names := svc.Annotations[exportAnnotation]; names != "" {
		out.Exported, out.ExportTo = true, ExportTo(strings.Split(names, ","), svc.Namespace)
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
		// Case does not matter in names, nor the dot that ends an absolute one.
		out.Resolution = model.ResolutionDNS
		out.ExternalName = strings.ToLower(strings.TrimSuffix(svc.Spec.ExternalName, "."))
	case slices.Contains(addresses, corev1.ClusterIPNone):
		out.Resolution = model.ResolutionPassthrough
	default:
		for _, a := range addresses {
			// A manifest may say anything. Envoy refuses a listener whose address is not one, and routes of one domain twice.
			if _, err := netip.ParseAddr(a); err != nil {
				continue
			}
			if address := model.CanonicalAddress(a); !slices.Contains(out.Addresses, address) {
				out.Addresses = append(out.Addresses, address)
			}
		}
	}
	for _, p := range svc.Spec.Ports {
		port := model.Port{
			Name:       p.Name,
			Number:     uint32(p.Port),
			Protocol:   Protocol(p.Port, p.Name, p.Protocol, p.AppProtocol),
			TargetPort: targetPort(p.TargetPort),
		}
		// An API server refuses a number that is there twice. It would be one cluster with two meanings: the first counts.
		if !slices.ContainsFunc(out.Ports, func(o model.Port) bool {
			return o.Number == port.Number && (o.Protocol == model.ProtocolUDP) == (port.Protocol == model.ProtocolUDP)
		}) {
			out.Ports = append(out.Ports, port)
		}
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
