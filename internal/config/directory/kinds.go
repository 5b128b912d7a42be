package directory

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
)

// defaultNamespace is where objects are whose manifest names none, as kubectl has it.
const defaultNamespace = "default"

// key is the identity of an object among all kinds.
type key struct {
	kind model.Kind
	model.NamespacedName
}

func (k key) String() string {
	return strings.ToLower(string(k.kind)) + " " + k.NamespacedName.String()
}

// kind is how one kind of object is read and where it is kept.
type kind struct {
	apiVersion string
	// decode reads an object as an API server would: it fails on what is wrong, fills in what may be left out, and
	// then keeps what meshd reads.
	decode func(json []byte) (metav1.Object, error)
	put    func(*config.Stores, metav1.Object) (changed bool)
	remove func(*config.Stores, model.NamespacedName)
}

// kinds are the kinds that the directory source reads. All others are counted and skipped.
var kinds = map[model.Kind]kind{
	model.KindService: kindOf(corev1.SchemeGroupVersion.String(), true, completeService, config.TrimService,
		func(s *config.Stores) *config.Store[*corev1.Service] { return s.Services }),
	model.KindEndpointSlice: kindOf(discoveryv1.SchemeGroupVersion.String(), true, completeSlice, config.TrimEndpointSlice,
		func(s *config.Stores) *config.Store[*discoveryv1.EndpointSlice] { return s.EndpointSlices }),
	model.KindPod: kindOf(corev1.SchemeGroupVersion.String(), true, completePod, config.TrimPod,
		func(s *config.Stores) *config.Store[*corev1.Pod] { return s.Pods }),
	model.KindNode: kindOf(corev1.SchemeGroupVersion.String(), false, completeNode, config.TrimNode,
		func(s *config.Stores) *config.Store[*corev1.Node] { return s.Nodes }),
	model.KindNamespace: kindOf(corev1.SchemeGroupVersion.String(), false, completeNamespace, config.TrimNamespace,
		func(s *config.Stores) *config.Store[*corev1.Namespace] { return s.Namespaces }),
	model.KindServiceAccount: kindOf(corev1.SchemeGroupVersion.String(), true, completeServiceAccount, config.TrimServiceAccount,
		func(s *config.Stores) *config.Store[*corev1.ServiceAccount] { return s.ServiceAccounts }),
}

// order is the order in which kinds are put: what is referred to goes first.
var order = []model.Kind{model.KindNamespace, model.KindNode, model.KindServiceAccount, model.KindPod, model.KindService, model.KindEndpointSlice}

func kindOf[O any, T interface {
	*O
	metav1.Object
}](apiVersion string, namespaced bool, complete func(T) error, trim func(T) T, store func(*config.Stores) *config.Store[T]) kind {
	return kind{
		apiVersion: apiVersion,
		decode: func(data []byte) (metav1.Object, error) {
			obj := T(new(O))
			twice, err := kjson.UnmarshalStrict(data, obj, kjson.DisallowDuplicateFields)
			if err != nil {
				return nil, err
			}
			if len(twice) > 0 {
				return nil, fieldTwice(twice[0])
			}
			if obj.GetName() == "" {
				return nil, &fieldError{[]any{"metadata", "name"}, "is missing"}
			}
			if !namespaced {
				obj.SetNamespace("")
			} else if obj.GetNamespace() == "" {
				obj.SetNamespace(defaultNamespace)
			}
			if err := complete(obj); err != nil {
				return nil, err
			}
			return trim(obj), nil
		},
		put:    func(s *config.Stores, obj metav1.Object) bool { return store(s).PutTrimmed(obj.(T)) },
		remove: func(s *config.Stores, name model.NamespacedName) { store(s).Delete(name) },
	}
}

// fieldError is about the value at a path of map keys and list indices.
type fieldError struct {
	path    []any
	problem string
}

func (e *fieldError) Error() string { return pathString(e.path) + " " + e.problem }

// fieldTwice gives an error about a field that is there twice its path.
func fieldTwice(err error) error {
	field, ok := errors.AsType[kjson.FieldError](err)
	if !ok {
		return err
	}
	var path []any
	for step := range strings.SplitSeq(field.FieldPath(), ".") {
		path = append(path, step)
	}
	return &fieldError{path, "is there twice"}
}

func pathString(path []any) string {
	var b strings.Builder
	for i, p := range path {
		switch p := p.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", p)
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			fmt.Fprint(&b, p)
		}
	}
	return b.String()
}
