package scenario

import (
	"maps"
	"strings"
)

// ofAPIServer reports whether a resource is of the cluster's own service, which is not among the scenarios' objects.
func ofAPIServer(name string) bool {
	return strings.HasSuffix(name, "||kubernetes.default.svc.cluster.local") || strings.HasPrefix(name, "10.96.0.1_")
}

// WithoutAPIServer gives resources by name without those of the cluster's own service.
func WithoutAPIServer(resources map[string]any) map[string]any {
	out := maps.Clone(resources)
	maps.DeleteFunc(out, func(name string, _ any) bool { return ofAPIServer(name) })
	return out
}
