package scenario

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
)

// Parse makes a scenario without clients of manifests that stand in the test itself.
func Parse(t testing.TB, manifests string) *Scenario {
	t.Helper()
	s := &Scenario{Name: t.Name(), Mesh: mesh.Default(), Stores: config.NewStores(func(model.Change) {})}
	if err := fill(s.Stores, []byte(manifests)); err != nil {
		t.Fatal(err)
	}
	s.Synced = s.Stores.MarkSynced()
	return s
}

// Put puts manifests that stand in the test itself into stores.
func Put(t testing.TB, stores *config.Stores, manifests string) {
	t.Helper()
	if err := fill(stores, []byte(manifests)); err != nil {
		t.Fatal(err)
	}
}

// Objects reads a file of manifests into stores. Kinds that there is no store for are skipped.
//
// It is simpler than the directory source on purpose: a test of translation should not fail for what that does.
func Objects(t testing.TB, file string) (*config.Stores, config.Synced) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stores := config.NewStores(func(model.Change) {})
	if err := fill(stores, data); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return stores, stores.MarkSynced()
}

func fill(stores *config.Stores, data []byte) error {
	documents := yamlstream.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for n := 1; ; n++ {
		doc, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = add(stores, doc)
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
	}
}

func add(stores *config.Stores, doc []byte) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(doc, &kind); err != nil {
		return err
	}
	switch kind.APIVersion + " " + kind.Kind {
	case "v1 Service":
		return put(stores.Services, doc, &corev1.Service{})
	case "v1 Pod":
		return put(stores.Pods, doc, &corev1.Pod{})
	case "v1 Node":
		return put(stores.Nodes, doc, &corev1.Node{})
	case "v1 Namespace":
		return put(stores.Namespaces, doc, &corev1.Namespace{})
	case "v1 ServiceAccount":
		return put(stores.ServiceAccounts, doc, &corev1.ServiceAccount{})
	case "discovery.k8s.io/v1 EndpointSlice":
		return put(stores.EndpointSlices, doc, &discoveryv1.EndpointSlice{})
	}
	return nil
}

func put[T metav1.Object](store *config.Store[T], doc []byte, obj T) error {
	if err := yaml.UnmarshalStrict(doc, obj); err != nil {
		return err
	}
	store.Put(obj)
	return nil
}
