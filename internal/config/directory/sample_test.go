package directory

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/meshd/meshd/internal/model"
)

// TestSample loads the sample that the README points to: newcomers begin there, so nothing in it may be odd.
func TestSample(t *testing.T) {
	files := map[string]string{}
	sample := filepath.Join("..", "..", "..", "deploy", "samples", "shop")
	entries, err := os.ReadDir(sample)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(sample, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	r := start(t, files)
	r.wantNoProblem()
	r.wantPorts("cart:9090 catalog:8080 frontend:80 payments:8080")
	status := r.source.Status()
	if len(status.Skipped) != 0 || status.Objects[model.KindNode] != 2 || status.Objects[model.KindNamespace] != 1 {
		t.Errorf("status %+v", status)
	}
	for _, slice := range r.view.EndpointSlices.List() {
		for _, e := range slice.Endpoints {
			pod, ok := r.view.Pods.Get(model.NamespacedName{Namespace: e.TargetRef.Namespace, Name: e.TargetRef.Name})
			if !ok || pod.Status.PodIP != e.Addresses[0] {
				t.Errorf("endpoint %s of slice %s has no pod that fits", e.Addresses[0], slice.Name)
				continue
			}
			if _, ok := r.view.Nodes.Get(model.NamespacedName{Name: pod.Spec.NodeName}); !ok {
				t.Errorf("pod %s is on node %s, which is not there", pod.Name, pod.Spec.NodeName)
			}
		}
	}
}
