package config

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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
