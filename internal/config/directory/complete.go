package directory

import (
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The complete functions stand in for the API server: they refuse what it would refuse, as far as meshd reads it, and
// fill in what it would fill in (https://kubernetes.io/docs/reference/kubernetes-api/).

func completeService(s *corev1.Service) error {
	if err := names(s); err != nil {
		return err
	}
	if problems := validation.IsDNS1123Label(s.Name); problems != nil {
		// A dot would make one host name of two pairs of name and namespace.
		return &fieldError{[]any{"metadata", "name"}, fmt.Sprintf("is %q: %s", s.Name, strings.Join(problems, "; "))}
	}
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		if problem := validation.IsValidPortNum(int(p.Port)); problem != nil {
			return &fieldError{[]any{"spec", "ports", i, "port"}, fmt.Sprintf("is %d: %s", p.Port, problem[0])}
		}
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		for _, before := range s.Spec.Ports[:i] {
			if before.Port == p.Port && before.Protocol == p.Protocol {
				return &fieldError{[]any{"spec", "ports", i, "port"}, fmt.Sprintf("is %d, as of another port of protocol %s", p.Port, p.Protocol)}
			}
		}
		if p.TargetPort == (intstr.IntOrString{}) {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	if s.Spec.Type == "" {
		s.Spec.Type = corev1.ServiceTypeClusterIP
	}
	if ip := s.Spec.ClusterIP; ip != "" {
		if err := clusterIP(ip, "spec", "clusterIP"); err != nil {
			return err
		}
		if len(s.Spec.ClusterIPs) == 0 {
			s.Spec.ClusterIPs = []string{ip}
		}
	}
	for i, ip := range s.Spec.ClusterIPs {
		if err := clusterIP(ip, "spec", "clusterIPs", i); err != nil {
			return err
		}
	}
	if s.Spec.ClusterIP == "" && len(s.Spec.ClusterIPs) > 0 {
		s.Spec.ClusterIP = s.Spec.ClusterIPs[0]
	}
	if s.Spec.SessionAffinity == "" {
		s.Spec.SessionAffinity = corev1.ServiceAffinityNone
	}
	return nil
}

func clusterIP(ip string, path ...any) error {
	if _, err := netip.ParseAddr(ip); err != nil && ip != corev1.ClusterIPNone {
		return &fieldError{path, fmt.Sprintf("is %q: want an IP address, or None", ip)}
	}
	return nil
}

func completeSlice(s *discoveryv1.EndpointSlice) error {
	if err := names(s); err != nil {
		return err
	}
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.Port != nil {
			if problem := validation.IsValidPortNum(int(*p.Port)); problem != nil {
				return &fieldError{[]any{"ports", i, "port"}, fmt.Sprintf("is %d: %s", *p.Port, problem[0])}
			}
		}
		if p.Name == nil {
			p.Name = new(string)
		}
		if p.Protocol == nil {
			tcp := corev1.ProtocolTCP
			p.Protocol = &tcp
		}
	}
	for i, e := range s.Endpoints {
		for j, address := range e.Addresses {
			ok := false
			ip, err := netip.ParseAddr(address)
			switch s.AddressType {
			case discoveryv1.AddressTypeIPv4:
				ok = err == nil && ip.Is4()
			case discoveryv1.AddressTypeIPv6:
				ok = err == nil && ip.Is6()
			case discoveryv1.AddressTypeFQDN:
				ok = address != ""
			default:
				return &fieldError{[]any{"addressType"}, fmt.Sprintf("is %q: want IPv4, IPv6 or FQDN", s.AddressType)}
			}
			if !ok {
				return &fieldError{[]any{"endpoints", i, "addresses", j}, fmt.Sprintf("is %q: want an address of type %s", address, s.AddressType)}
			}
		}
	}
	return nil
}

func completePod(p *corev1.Pod) error {
	for i, ip := range p.Status.PodIPs {
		if _, err := netip.ParseAddr(ip.IP); err != nil {
			return &fieldError{[]any{"status", "podIPs", i, "ip"}, fmt.Sprintf("is %q: want an IP address", ip.IP)}
		}
	}
	if ip := p.Status.PodIP; ip != "" {
		if _, err := netip.ParseAddr(ip); err != nil {
			return &fieldError{[]any{"status", "podIP"}, fmt.Sprintf("is %q: want an IP address", ip)}
		}
	}
	for i := range p.Spec.Containers {
		completePorts(&p.Spec.Containers[i])
	}
	for i := range p.Spec.InitContainers {
		completePorts(&p.Spec.InitContainers[i])
	}
	if p.Spec.ServiceAccountName == "" {
		p.Spec.ServiceAccountName = "default"
	}
	return names(p)
}

func completePorts(c *corev1.Container) {
	for i := range c.Ports {
		if c.Ports[i].Protocol == "" {
			c.Ports[i].Protocol = corev1.ProtocolTCP
		}
	}
}

func completeNode(n *corev1.Node) error { return names(n) }

func completeNamespace(n *corev1.Namespace) error { return names(n) }

func completeServiceAccount(s *corev1.ServiceAccount) error { return names(s) }

// names checks an object's name and namespace, which become parts of host names and identities.
func names(obj metav1.Object) error {
	if problems := validation.IsDNS1123Subdomain(obj.GetName()); problems != nil {
		return &fieldError{[]any{"metadata", "name"}, fmt.Sprintf("is %q: %s", obj.GetName(), strings.Join(problems, "; "))}
	}
	if ns := obj.GetNamespace(); ns != "" {
		if problems := validation.IsDNS1123Label(ns); problems != nil {
			return &fieldError{[]any{"metadata", "namespace"}, fmt.Sprintf("is %q: %s", ns, strings.Join(problems, "; "))}
		}
	}
	return nil
}
