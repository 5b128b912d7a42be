package snapshot_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/meshd/meshd/internal/config"
)

// scenario reads the objects of a shared scenario into stores; it skips where the scenarios are absent.
func scenario(t *testing.T, name string, stores *config.Stores) {
	t.Helper()
	folder := filepath.Join("..", "..", "..", "shared", "scenarios", name)
	data, err := os.ReadFile(filepath.Join(folder, "input.yaml"))
	if err != nil {
		if os.Getenv("MESHD_REQUIRE_SHARED") == "1" {
			t.Fatalf("MESHD_REQUIRE_SHARED=1: %v", err)
		}
		t.Skipf("folder ../shared/scenarios/%s is not there", name)
	}
	docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(doc, &kind); err != nil {
			t.Fatal(err)
		}
		switch kind.Kind {
		case "Service":
			stores.Services.Put(parse[corev1.Service](t, doc))
		case "EndpointSlice":
			stores.EndpointSlices.Put(parse[discoveryv1.EndpointSlice](t, doc))
		case "Pod":
			stores.Pods.Put(parse[corev1.Pod](t, doc))
		case "Node":
			stores.Nodes.Put(parse[corev1.Node](t, doc))
		}
	}
}

func parse[T any](t testing.TB, doc []byte) *T {
	t.Helper()
	out := new(T)
	if err := yaml.Unmarshal(doc, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func mesh() *meshv1alpha1.MeshConfig { return &meshv1alpha1.MeshConfig{TrustDomain: "cluster.local"} }
