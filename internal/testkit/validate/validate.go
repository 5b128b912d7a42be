// Package validate tells whether Envoy would accept resources, as far as that can be told without an Envoy.
//
// The generated validators know the rules of single fields, but stop at every Any, and know nothing of what holds
// between fields and between resources. The functions here add that.
package validate

import (
	"errors"
	"fmt"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// Resource checks one resource and everything inside of it.
func Resource(m proto.Message) error {
	var problems []error
	walk(m, "", func(path string, m proto.Message) {
		if v, ok := m.(interface{ ValidateAll() error }); ok && (path == "" || fromAny(path)) {
			if err := v.ValidateAll(); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", path, err))
			}
		}
		var err error
		switch m := m.(type) {
		case *clusterv3.Cluster:
			err = cluster(m)
		case *listenerv3.Listener:
			err = listener(m)
		case *routev3.RouteConfiguration:
			err = routes(m)
		case *endpointv3.ClusterLoadAssignment:
			if path == "" { // gRPC's clients ignore what has no place or weight; Envoy does not mind
				err = endpoints(m)
			}
		case *unpackError:
			err = m.err
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", path, err))
		}
	})
	return errors.Join(problems...)
}

// Set is the resources of one client.
type Set struct {
	Clusters  []*clusterv3.Cluster
	Endpoints []*endpointv3.ClusterLoadAssignment
	Listeners []*listenerv3.Listener
	Routes    []*routev3.RouteConfiguration
}

// Check checks that names are unique, and that what refers to another resource by name finds it: routes and filters
// clusters, clusters endpoints, listeners routes.
func (s Set) Check() error {
	var problems []error
	unique := func(kind string, have map[string]bool, name string) {
		if have[name] {
			problems = append(problems, fmt.Errorf("%s %q is there twice", kind, name))
		}
		have[name] = true
	}
	clusters, assignments, listeners, routes := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range s.Clusters {
		unique("cluster", clusters, c.GetName())
	}
	for _, e := range s.Endpoints {
		unique("load assignment", assignments, e.GetClusterName())
	}
	for _, l := range s.Listeners {
		unique("listener", listeners, l.GetName())
	}
	for _, r := range s.Routes {
		unique("route configuration", routes, r.GetName())
	}
	for _, c := range s.Clusters {
		if c.GetType() == clusterv3.Cluster_EDS && !assignments[c.GetEdsClusterConfig().GetServiceName()] {
			problems = append(problems, fmt.Errorf("cluster %q: no load assignment %q", c.GetName(), c.GetEdsClusterConfig().GetServiceName()))
		}
	}
	refer := func(m proto.Message, owner string) {
		walk(m, "", func(path string, m proto.Message) {
			for _, name := range clustersOf(m) {
				if !clusters[name] {
					problems = append(problems, fmt.Errorf("%s%s: no cluster %q", owner, path, name))
				}
			}
			if name := routeOf(m); name != "" && !routes[name] {
				problems = append(problems, fmt.Errorf("%s%s: no route configuration %q", owner, path, name))
			}
		})
	}
	for _, l := range s.Listeners {
		refer(l, l.GetName())
	}
	for _, r := range s.Routes {
		refer(r, r.GetName())
	}
	return errors.Join(problems...)
}

// unpackError stands for an Any that could not be unpacked.
type unpackError struct {
	proto.Message
	err error
}

// fromAny reports whether a path ends at the content of an Any.
func fromAny(path string) bool { return len(path) > 0 && path[len(path)-1] == '>' }

// walk calls f for a message and all messages inside of it, those in Any values too.
func walk(m proto.Message, path string, f func(path string, m proto.Message)) {
	if packed, ok := m.(*anypb.Any); ok {
		content, err := packed.UnmarshalNew()
		path += "<" + packed.GetTypeUrl() + ">"
		if err != nil {
			f(path, &unpackError{Message: m, err: err})
			return
		}
		walk(content, path, f)
		return
	}
	f(path, m)
	m.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		at := path + "." + string(field.Name())
		switch {
		case field.IsList() && field.Message() != nil:
			for i := range value.List().Len() {
				walk(value.List().Get(i).Message().Interface(), fmt.Sprintf("%s[%d]", at, i), f)
			}
		case field.IsMap() && field.MapValue().Message() != nil:
			value.Map().Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
				walk(v.Message().Interface(), fmt.Sprintf("%s[%s]", at, k), f)
				return true
			})
		case !field.IsList() && !field.IsMap() && field.Message() != nil:
			walk(value.Message().Interface(), at, f)
		}
		return true
	})
}

func text(m proto.Message) string { return prototext.MarshalOptions{}.Format(m) }
