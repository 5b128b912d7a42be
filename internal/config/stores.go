// Package config holds the objects that configuration is made of, in typed stores.
//
// A store does not know where its objects come from: the directory source and the Kubernetes source fill the same
// stores. Who fills them holds a Writer; who reads them must show a Synced token, which only a source that has
// loaded everything can hand out. "Not loaded yet" can therefore not be read as "there is none".
package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/meshd/meshd/internal/model"
)

// ErrNotSynced is what reading stores gives before their source has loaded everything once.
var ErrNotSynced = errors.New("the stores are not synced yet")

// Sink receives changes. It must not block: a store calls it while it is being written.
type Sink func(model.Change)

// Stores are the objects of every kind that meshd reads.
type Stores struct {
	Services        *Store[*corev1.Service]
	EndpointSlices  *Store[*discoveryv1.EndpointSlice]
	Pods            *Store[*corev1.Pod]
	Nodes           *Store[*corev1.Node]
	Namespaces      *Store[*corev1.Namespace]
	ServiceAccounts *Store[*corev1.ServiceAccount]
}

// NewStores makes empty stores whose changes go to sink. The sink is a constructor argument because a handler that
// is added later misses what came before.
func NewStores(sink Sink) *Stores {
	return &Stores{
		Services:        newStore(model.KindService, sink, TrimService, specAspect),
		EndpointSlices:  newStore(model.KindEndpointSlice, sink, TrimEndpointSlice, sliceAspect),
		Pods:            newStore(model.KindPod, sink, TrimPod, specAspect),
		Nodes:           newStore(model.KindNode, sink, TrimNode, specAspect),
		Namespaces:      newStore(model.KindNamespace, sink, TrimNamespace, specAspect),
		ServiceAccounts: newStore(model.KindServiceAccount, sink, TrimServiceAccount, specAspect),
	}
}

// Synced proves that the stores were loaded completely once. The zero value proves nothing.
type Synced struct{ stores *Stores }

// MarkSynced hands out the token. Only a source calls it, after its first complete load.
func (s *Stores) MarkSynced() Synced { return Synced{stores: s} }

// View is the read side of synced stores. There is no other way to read one.
type View struct {
	Services        Reader[*corev1.Service]
	EndpointSlices  Reader[*discoveryv1.EndpointSlice]
	Pods            Reader[*corev1.Pod]
	Nodes           Reader[*corev1.Node]
	Namespaces      Reader[*corev1.Namespace]
	ServiceAccounts Reader[*corev1.ServiceAccount]
}

// Read gives the read side to who holds the token. The zero token, and a token of other stores, give ErrNotSynced.
func (s *Stores) Read(token Synced) (View, error) {
	if token.stores != s {
		return View{}, fmt.Errorf("%w: wait for the source's Synced token", ErrNotSynced)
	}
	return View{
		Services:        Reader[*corev1.Service]{s.Services},
		EndpointSlices:  Reader[*discoveryv1.EndpointSlice]{s.EndpointSlices},
		Pods:            Reader[*corev1.Pod]{s.Pods},
		Nodes:           Reader[*corev1.Node]{s.Nodes},
		Namespaces:      Reader[*corev1.Namespace]{s.Namespaces},
		ServiceAccounts: Reader[*corev1.ServiceAccount]{s.ServiceAccounts},
	}, nil
}

// Store is the write side of the objects of one kind, by namespace and name. Objects are immutable once put.
type Store[T metav1.Object] struct {
	kind model.Kind
	sink Sink
	// trim keeps what is read of an object.
	trim func(T) T
	// aspect compares what is read of two objects; changed is false if nothing that is read differs.
	aspect func(old, new T) (what model.Aspect, changed bool)

	mu      sync.RWMutex
	objects map[model.NamespacedName]T
}

func newStore[T metav1.Object](kind model.Kind, sink Sink, trim func(T) T, aspect func(old, new T) (model.Aspect, bool)) *Store[T] {
	return &Store[T]{kind: kind, sink: sink, trim: trim, aspect: aspect, objects: map[model.NamespacedName]T{}}
}

// Kind of the objects.
func (s *Store[T]) Kind() model.Kind { return s.kind }

// Put creates or replaces an object, and reports whether that is a change. What meshd does not read of it is dropped.
// If nothing that is read differs, there is no change, and readers keep finding the same pointer as before.
func (s *Store[T]) Put(obj T) (changed bool) { return s.PutTrimmed(s.trim(obj)) }

// PutTrimmed is Put for an object that went through its kind's Trim function already. A source that keeps its objects
// shares them with the store that way.
func (s *Store[T]) PutTrimmed(obj T) (changed bool) {
	name := model.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
	s.mu.Lock()
	defer s.mu.Unlock()
	what := model.AspectSpec
	if old, had := s.objects[name]; had {
		if what, changed = s.aspect(old, obj); !changed {
			return false
		}
	}
	s.objects[name] = obj
	s.sink(model.Change{Kind: s.kind, NamespacedName: name, What: what})
	return true
}

// Delete removes an object, if it is there.
func (s *Store[T]) Delete(name model.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, had := s.objects[name]; !had {
		return
	}
	delete(s.objects, name)
	s.sink(model.Change{Kind: s.kind, NamespacedName: name, What: model.AspectSpec})
}

// Reader is the read side of one kind's store.
type Reader[T metav1.Object] struct{ store *Store[T] }

// Get finds one object.
func (r Reader[T]) Get(name model.NamespacedName) (T, bool) {
	r.store.mu.RLock()
	defer r.store.mu.RUnlock()
	obj, ok := r.store.objects[name]
	return obj, ok
}

// List gives all objects sorted by namespace and name.
func (r Reader[T]) List() []T {
	r.store.mu.RLock()
	out := make([]T, 0, len(r.store.objects))
	for _, obj := range r.store.objects {
		out = append(out, obj)
	}
	r.store.mu.RUnlock()
	slices.SortFunc(out, func(a, b T) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return out
}
