package registry

import (
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/meshd/meshd/internal/model"
)

// Labels of pods and nodes that say where and what a workload is
// (https://istio.io/latest/docs/reference/config/labels/).
const (
	labelLocality     = "topology.istio.io/locality"
	labelLocalityOld  = "istio-locality"
	labelTLSMode      = "security.istio.io/tlsMode"
	labelWorkload     = "service.istio.io/workload-name"
	labelTemplateHash = "pod-template-hash"
	labelRolloutHash  = "rollouts-pod-template-hash"
	labelRegionBeta   = "failure-domain.beta.kubernetes.io/region"
	labelZoneBeta     = "failure-domain.beta.kubernetes.io/zone"
	labelDeployConfig = "deploymentconfig"
)

// Labels that say in which network and in which subzone a pod or a node is.
const (
	LabelNetwork = "topology.istio.io/network"
	LabelSubZone = "topology.istio.io/subzone"
)

// Workload is what meshd reads of a pod.
type Workload struct {
	model.NamespacedName
	// Addresses of the pod, the primary one first; none before it was given one.
	Addresses []string
	Node      string
	Labels    map[string]string
	// ServiceAccount is "default" if the pod names none, as an API server would fill in.
	ServiceAccount string
	// Owner is the name of what made the pod (its Deployment, StatefulSet, CronJob, …), or the pod's own.
	Owner string
	// Locality that the pod's labels claim, which goes before its node's; zero if they claim none.
	Locality  model.Locality
	Network   string
	MutualTLS bool
	Ports     []ContainerPort
}

// ContainerPort is a port that a container of the workload names.
type ContainerPort struct {
	Name   string
	Number uint32
	UDP    bool
}

// Pod reads a pod. It is nil for a pod that has ended: its address may belong to another pod by now.
func Pod(pod *corev1.Pod) *Workload {
	if pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return nil
	}
	out := &Workload{
		NamespacedName: model.NamespacedName{Namespace: pod.Namespace, Name: pod.Name},
		Node:           pod.Spec.NodeName,
		Labels:         pod.Labels,
		ServiceAccount: pod.Spec.ServiceAccountName,
		Owner:          owner(pod),
		Locality:       ClaimedLocality(pod.Labels),
		Network:        pod.Labels[LabelNetwork],
		MutualTLS:      pod.Labels[labelTLSMode] == "istio",
	}
	if out.ServiceAccount == "" {
		out.ServiceAccount = "default"
	}
	for _, ip := range pod.Status.PodIPs {
		out.Addresses = append(out.Addresses, model.CanonicalAddress(ip.IP))
	}
	if len(out.Addresses) == 0 && pod.Status.PodIP != "" {
		out.Addresses = []string{model.CanonicalAddress(pod.Status.PodIP)}
	}
	add := func(c *corev1.Container) {
		for _, p := range c.Ports {
			if p.Name != "" {
				out.Ports = append(out.Ports, ContainerPort{p.Name, uint32(p.ContainerPort), p.Protocol == corev1.ProtocolUDP})
			}
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		// Init containers that keep running are Kubernetes' sidecars, and may serve.
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	return out
}

// TargetPort resolves a service port to a port of the workload; false if no container has a port of that name.
// The workload may be nil, which resolves numbers only.
func (w *Workload) TargetPort(p model.Port) (uint32, bool) {
	if p.TargetPort == "" {
		return p.Number, true
	}
	if n, err := strconv.ParseUint(p.TargetPort, 10, 16); err == nil {
		return uint32(n), true
	}
	if w == nil {
		return 0, false
	}
	for _, c := range w.Ports {
		if c.Name == p.TargetPort && c.UDP == (p.Protocol == model.ProtocolUDP) {
			return c.Number, true
		}
	}
	return 0, false
}

// Cron jobs name their jobs after the minute they run at.
var cronJob = regexp.MustCompile(`^(.+)-\d{8,10}$`)

// owner names what made a pod, by the rules of Istio's telemetry: a pod whose name was not generated stands for itself.
func owner(pod *corev1.Pod) string {
	if name := pod.Labels[labelWorkload]; name != "" {
		return name
	}
	if pod.GenerateName == "" {
		return pod.Name
	}
	for _, ref := range pod.OwnerReferences {
		if ref.Controller == nil || !*ref.Controller {
			continue
		}
		switch ref.Kind {
		case "ReplicaSet":
			for _, label := range []string{labelTemplateHash, labelRolloutHash} {
				if name, ok := strings.CutSuffix(ref.Name, "-"+pod.Labels[label]); ok && pod.Labels[label] != "" {
					return name
				}
			}
		case "ReplicationController":
			if name := pod.Labels[labelDeployConfig]; name != "" {
				return name
			}
		case "Job":
			if m := cronJob.FindStringSubmatch(ref.Name); m != nil {
				return m[1]
			}
		}
		return ref.Name
	}
	return pod.Name
}

// ClaimedLocality reads the locality of a pod's labels, in which dots may stand for slashes.
func ClaimedLocality(labels map[string]string) model.Locality {
	value, ok := labels[labelLocality]
	if !ok {
		value = labels[labelLocalityOld]
	}
	if !strings.Contains(value, "/") {
		value = strings.ReplaceAll(value, ".", "/")
	}
	return model.ParseLocality(value)
}

// Locality reads where a node is.
func Locality(node *corev1.Node) model.Locality {
	first := func(names ...string) string {
		for _, name := range names {
			if v := node.Labels[name]; v != "" {
				return v
			}
		}
		return ""
	}
	return model.Locality{
		Region:  first(corev1.LabelTopologyRegion, labelRegionBeta),
		Zone:    first(corev1.LabelTopologyZone, labelZoneBeta),
		SubZone: first(LabelSubZone),
	}
}
