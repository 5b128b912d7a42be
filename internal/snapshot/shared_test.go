package snapshot_test

import (
	"testing"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	"sigs.k8s.io/yaml"
)

func parse[T any](t testing.TB, text string) *T {
	t.Helper()
	out := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return out
}

func mesh() *meshv1alpha1.MeshConfig { return &meshv1alpha1.MeshConfig{TrustDomain: "cluster.local"} }
