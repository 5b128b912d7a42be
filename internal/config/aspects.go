package config

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/meshd/meshd/internal/model"
)

// The aspect functions compare what meshd reads of two versions of an object.

func serviceAspect(old, new *corev1.Service) (model.Aspect, bool) {
	return model.AspectSpec, !reflect.DeepEqual(old, new)
}

func sliceAspect(old, new *discoveryv1.EndpointSlice) (model.Aspect, bool) {
	return model.AspectEndpoints, !reflect.DeepEqual(old, new)
}

func podAspect(old, new *corev1.Pod) (model.Aspect, bool) {
	return model.AspectSpec, !reflect.DeepEqual(old, new)
}

func nodeAspect(old, new *corev1.Node) (model.Aspect, bool) {
	return model.AspectSpec, !reflect.DeepEqual(old, new)
}

func namespaceAspect(old, new *corev1.Namespace) (model.Aspect, bool) {
	return model.AspectSpec, !reflect.DeepEqual(old, new)
}

func serviceAccountAspect(old, new *corev1.ServiceAccount) (model.Aspect, bool) {
	return model.AspectSpec, !reflect.DeepEqual(old, new)
}
