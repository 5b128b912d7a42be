package manifests

import "fmt"

// Pod is one of many that are alike in all but name and address, and whose proxy is a client. A proxy says itself who
// it is, so that a mesh can do without manifests of its pods; where there is one, its labels are what counts.
type Pod struct {
	// Number tells pods apart; at most 60,000.
	Number int
	// Workload is the number of the service that selects it, and whose namespace it is in.
	Workload int
	// Namespaces as in Service.
	Namespaces int
	// App is its label that selectors ask for; by default the name of that service.
	App string
}

// NodeID is how its proxy introduces itself.
func (p Pod) NodeID() string {
	return fmt.Sprintf("sidecar~%s~%s.%s~%s.svc.cluster.local", p.address(), p.name(), p.namespace(), p.namespace())
}

// Metadata is what its proxy says of itself, as a stock agent does.
func (p Pod) Metadata() map[string]any {
	return map[string]any{
		"NAME": p.name(), "NAMESPACE": p.namespace(), "WORKLOAD_NAME": p.workload(), "SERVICE_ACCOUNT": "default",
		"CLUSTER_ID": "Kubernetes", "MESH_ID": "cluster.local", "ISTIO_VERSION": "1.31.0", "INTERCEPTION_MODE": "REDIRECT",
		"OWNER":  fmt.Sprintf("kubernetes://apis/apps/v1/namespaces/%s/deployments/%s", p.namespace(), p.workload()),
		"LABELS": map[string]any{"app": p.app(), "version": "v1", "pod-template-hash": "7d4f8c9b6"},
	}
}

// YAML is the manifest.
func (p Pod) YAML() string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %[1]s, namespace: %[2]s, labels: {app: %[3]s, version: v1, pod-template-hash: 7d4f8c9b6}}
spec: {serviceAccountName: default, nodeName: node, containers: [{name: app}]}
status: {phase: Running, podIP: %[4]s, podIPs: [{ip: %[4]s}]}
`, p.name(), p.namespace(), p.app(), p.address())
}

// Write puts the manifest into a folder, in a file of its own, all at once.
func (p Pod) Write(dir string) error { return write(dir, p.name(), p.YAML()) }

func (p Pod) namespace() string { return namespace(p.Workload, p.Namespaces) }
func (p Pod) workload() string  { return fmt.Sprintf("svc-%d", p.Workload) }
func (p Pod) name() string      { return fmt.Sprintf("%s-7d4f8c9b6-%05d", p.workload(), p.Number) }
func (p Pod) address() string   { return fmt.Sprintf("10.9.%d.%d", p.Number/250, p.Number%250+1) }

func (p Pod) app() string {
	if p.App != "" {
		return p.App
	}
	return p.workload()
}
