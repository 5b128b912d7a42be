package config

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/meshd/meshd/internal/model"
)

func service(namespace, name string, ports ...int32) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, p := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: p})
	}
	return s
}

func TestReadNeedsItsOwnToken(t *testing.T) {
	sink := func(model.Change) {}
	stores, other := NewStores(sink), NewStores(sink)
	for name, token := range map[string]Synced{"zero token": {}, "token of other stores": other.MarkSynced()} {
		if view, err := stores.Read(token); !errors.Is(err, ErrNotSynced) || view != (View{}) {
			t.Errorf("%s: got %v, %v; want no view and ErrNotSynced", name, view, err)
		}
	}
	if _, err := stores.Read(stores.MarkSynced()); err != nil {
		t.Errorf("its own token: %v", err)
	}
}

func TestStore(t *testing.T) {
	var seen []model.Change
	take := func() []model.Change { out := seen; seen = nil; return out }
	stores := NewStores(func(c model.Change) { seen = append(seen, c) })
	view, err := stores.Read(stores.MarkSynced())
	if err != nil {
		t.Fatal(err)
	}
	cart := model.NamespacedName{Namespace: "shop", Name: "cart"}
	change := []model.Change{{Kind: model.KindService, NamespacedName: cart, What: model.AspectSpec}}

	if !stores.Services.Put(service("shop", "cart", 80)) {
		t.Error("a new object is no change")
	}
	if diff := cmp.Diff(change, take()); diff != "" {
		t.Errorf("a new object (-want +got):\n%s", diff)
	}
	first, ok := view.Services.Get(cart)
	if !ok {
		t.Fatal("not found after put")
	}

	same := service("shop", "cart", 80)
	same.ResourceVersion = "2"
	if stores.Services.Put(same) {
		t.Error("an equal object is a change")
	}
	if got := take(); got != nil {
		t.Errorf("an equal object made the changes %v", got)
	}
	if again, _ := view.Services.Get(cart); again != first {
		t.Error("an equal object is another pointer")
	}

	stores.Services.Put(service("shop", "cart", 81))
	if diff := cmp.Diff(change, take()); diff != "" {
		t.Errorf("another port (-want +got):\n%s", diff)
	}
	if now, _ := view.Services.Get(cart); now.Spec.Ports[0].Port != 81 || first.Spec.Ports[0].Port != 80 {
		t.Error("the object was written to instead of replaced")
	}

	stores.Services.Put(service("bank", "ledger"))
	stores.Services.Put(service("shop", "basket"))
	var names []string
	for _, s := range view.Services.List() {
		names = append(names, s.Namespace+"/"+s.Name)
	}
	if diff := cmp.Diff([]string{"bank/ledger", "shop/basket", "shop/cart"}, names); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	take()

	stores.Services.Delete(cart)
	if diff := cmp.Diff(change, take()); diff != "" {
		t.Errorf("delete (-want +got):\n%s", diff)
	}
	if _, ok := view.Services.Get(cart); ok {
		t.Error("found after delete")
	}
	stores.Services.Delete(cart)
	if got := take(); got != nil {
		t.Errorf("deleting what is not there made the changes %v", got)
	}
}
