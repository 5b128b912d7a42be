package config

import (
	"reflect"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/meshd/meshd/internal/model"
)

// The aspect functions compare what meshd reads of two versions of an object. Both were trimmed, so what is left is
// what is read, and trim.go is the one list of that.

// specAspect knows one aspect only: whatever is read matters to everything.
func specAspect[T any](old, new T) (model.Aspect, bool) {
	return model.AspectSpec, !reflect.DeepEqual(old, new)
}

// sliceAspect tells a change of endpoints, which has a faster path, from any other.
func sliceAspect(old, new *discoveryv1.EndpointSlice) (model.Aspect, bool) {
	if !reflect.DeepEqual(old.Labels, new.Labels) || old.AddressType != new.AddressType || !reflect.DeepEqual(old.Ports, new.Ports) {
		return model.AspectSpec, true
	}
	return model.AspectEndpoints, !reflect.DeepEqual(old, new)
}
