package config

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/meshd/meshd/internal/model"
)

// Whoever lists a store and looks up each of its objects never takes a lock twice on one path: a writer that waits in
// between would stop both for ever.
func TestCaseA20(t *testing.T) {
	stores := NewStores(func(model.Change) {})
	view, err := stores.Read(stores.MarkSynced())
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := "s" + strconv.Itoa(i%100)
			stores.Services.Put(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}})
			stores.Services.Delete(model.NamespacedName{Namespace: "shop", Name: name})
		}
	}()
	rounds := make(chan int, 1)
	go func() {
		n := 0
		for began := time.Now(); time.Since(began) < time.Second; n++ {
			for _, s := range view.Services.List() {
				view.Services.Get(model.NamespacedName{Namespace: s.Namespace, Name: s.Name})
			}
		}
		rounds <- n
	}()
	select {
	case n := <-rounds:
		if n == 0 {
			t.Error("nothing was read")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("reader and writer wait for each other")
	}
	close(stop)
	<-done
}

// What others keep on an object is not a change, and everything that is kept of it is (case B21). The fields are found,
// not listed: TestAspects is the list of those that are read.
func TestCaseB21(t *testing.T) {
	t.Run("Service", func(t *testing.T) {
		checkBookkeeping(t, TrimService, func(s *Stores) *Store[*corev1.Service] { return s.Services })
	})
	t.Run("EndpointSlice", func(t *testing.T) {
		checkBookkeeping(t, TrimEndpointSlice, func(s *Stores) *Store[*discoveryv1.EndpointSlice] { return s.EndpointSlices })
	})
	t.Run("Pod", func(t *testing.T) {
		checkBookkeeping(t, TrimPod, func(s *Stores) *Store[*corev1.Pod] { return s.Pods })
	})
	t.Run("Node", func(t *testing.T) {
		checkBookkeeping(t, TrimNode, func(s *Stores) *Store[*corev1.Node] { return s.Nodes })
	})
	t.Run("Namespace", func(t *testing.T) {
		checkBookkeeping(t, TrimNamespace, func(s *Stores) *Store[*corev1.Namespace] { return s.Namespaces })
	})
	t.Run("ServiceAccount", func(t *testing.T) {
		checkBookkeeping(t, TrimServiceAccount, func(s *Stores) *Store[*corev1.ServiceAccount] { return s.ServiceAccounts })
	})
}

func checkBookkeeping[O any, T interface {
	*O
	metav1.Object
	DeepCopy() *O
}](t *testing.T, trim func(T) T, store func(*Stores) *Store[T]) {
	base := T(new(O))
	fill(reflect.ValueOf(base).Elem())
	base.SetNamespace("shop")
	base.SetName("cart")
	books, kept := 0, 0
	for leaf := range leaves(reflect.ValueOf(base).Elem(), "") {
		if leaf.path == "name" || leaf.path == "namespace" {
			continue // another object
		}
		other := T(base.DeepCopy())
		leaf.change(reflect.ValueOf(other).Elem())
		_, changed := put(t, store, base, other)
		if read := !reflect.DeepEqual(trim(base), trim(other)); changed != read {
			t.Errorf("%s: it is kept: %v, and a change of it is one: %v", leaf.path, read, changed)
		}
		for _, of := range []string{"annotations{example.com/", "managedFields", "resourceVersion", "generation", "uid", "selfLink", "finalizers", "status.conditions", "status.loadBalancer"} {
			// "generation" is not "generateName", and nothing else begins with one of these.
			if !strings.HasPrefix(leaf.path, of) {
				continue
			}
			books++
			if changed {
				t.Errorf("%s: bookkeeping counts as a change", leaf.path)
			}
		}
		if changed {
			kept++
		}
	}
	if books < 8 {
		t.Errorf("only %d fields are bookkeeping, so this shows little", books)
	}
	t.Logf("%d fields of bookkeeping, %d that are read", books, kept)
}
