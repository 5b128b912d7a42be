package debug

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
)

// configz lists the objects that configuration is made of, as Kubernetes writes them. Each kind is named here, so that
// one that is read later is not shown by accident: Secrets never are.
func (p *Pages) configz(w http.ResponseWriter, r *http.Request) {
	token, ok := p.deps.Synced()
	if !ok {
		notYet(w, "the source has not loaded everything")
		return
	}
	view, err := p.deps.Stores.Read(token)
	if err != nil {
		notYet(w, err.Error())
		return
	}
	kind, namespace := r.URL.Query().Get("kind"), r.URL.Query().Get("namespace")
	writeList(w, r, "[", "]", func(yield func(any) bool) {
		for _, list := range kinds(view, kind) {
			for _, object := range list {
				if (namespace == "" || object.GetNamespace() == namespace) && !yield(object) {
					return
				}
			}
		}
	})
}

// kinds gives the objects of a kind, or of all if it is empty, with the kind written on them.
func kinds(v config.View, only string) [][]metav1.Object {
	core := func(k model.Kind) metav1.TypeMeta {
		return metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: string(k)}
	}
	var out [][]metav1.Object
	add := func(k model.Kind, list func() []metav1.Object) {
		if only == "" || only == string(k) {
			out = append(out, list())
		}
	}
	add(model.KindService, func() []metav1.Object {
		return labelled(v.Services, func(o corev1.Service) metav1.Object { o.TypeMeta = core(model.KindService); return &o })
	})
	add(model.KindEndpointSlice, func() []metav1.Object {
		return labelled(v.EndpointSlices, func(o discoveryv1.EndpointSlice) metav1.Object {
			o.TypeMeta = metav1.TypeMeta{APIVersion: discoveryv1.SchemeGroupVersion.String(), Kind: string(model.KindEndpointSlice)}
			return &o
		})
	})
	add(model.KindPod, func() []metav1.Object {
		return labelled(v.Pods, func(o corev1.Pod) metav1.Object { o.TypeMeta = core(model.KindPod); return &o })
	})
	add(model.KindNode, func() []metav1.Object {
		return labelled(v.Nodes, func(o corev1.Node) metav1.Object { o.TypeMeta = core(model.KindNode); return &o })
	})
	add(model.KindNamespace, func() []metav1.Object {
		return labelled(v.Namespaces, func(o corev1.Namespace) metav1.Object { o.TypeMeta = core(model.KindNamespace); return &o })
	})
	add(model.KindServiceAccount, func() []metav1.Object {
		return labelled(v.ServiceAccounts, func(o corev1.ServiceAccount) metav1.Object { o.TypeMeta = core(model.KindServiceAccount); return &o })
	})
	return out
}

// labelled copies the objects of a store, which must not be written to, and no deeper than is written.
func labelled[T any, P interface {
	*T
	metav1.Object
}](r config.Reader[P], label func(T) metav1.Object) []metav1.Object {
	var out []metav1.Object
	for _, o := range r.List() {
		out = append(out, label(*o))
	}
	return out
}
