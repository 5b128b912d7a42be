package debug

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/meshd/meshd/internal/xds"
	"github.com/meshd/meshd/internal/xds/resource"
)

// shown is one resource that a client was sent, without its secrets.
type shown struct {
	name, version string
	body          *anypb.Any
}

// shownType is what a client was sent of one type.
type shownType struct {
	url       string
	version   string
	sent      *timestamppb.Timestamp
	resources []shown
}

// show gives what a client was sent of the types that are wanted. A type that it asked for and was not sent yet is an
// error: a dump without it would say that there is nothing of it.
func (p *Pages) show(c xds.Connection, wanted func(resource.Type) bool) (map[string]shownType, error) {
	states := map[string]xds.TypeStatus{}
	for _, t := range c.Types {
		states[t.Type.URL] = t
	}
	out := map[string]shownType{}
	for _, i := range c.Interests() {
		if !wanted(i.Type) {
			continue
		}
		list, known := i.Resources()
		if !known {
			return nil, fmt.Errorf("%s was not sent %s", podName(c.Proxy), i.Type.Short)
		}
		state := states[i.Type.URL]
		t := shownType{url: i.Type.URL, version: state.Sent}
		if !state.SentAt.IsZero() {
			t.sent = timestamppb.New(state.SentAt)
		}
		for _, r := range list {
			body := &anypb.Any{}
			if err := proto.Unmarshal(r.Any(), body); err != nil {
				return nil, fmt.Errorf("%s %s: %w", i.Type.Short, r.Name(), err)
			}
			p.redactor.Message(body)
			t.resources = append(t.resources, shown{r.Name(), r.Version(), body})
		}
		out[i.Type.URL] = t
	}
	return out, nil
}

// sections gives a whole dump, as Envoy's admin interface divides it
// (https://www.envoyproxy.io/docs/envoy/latest/api-v3/admin/v3/config_dump.proto). Of the bootstrap meshd knows nothing
// but who the proxy says it is.
func (p *Pages) sections(c xds.Connection, endpoints bool) ([]proto.Message, error) {
	types, err := p.show(c, func(t resource.Type) bool { return endpoints || t.URL != resource.EndpointType })
	if err != nil {
		return nil, err
	}
	bootstrap := &adminv3.BootstrapConfigDump{Bootstrap: &bootstrapv3.Bootstrap{Node: clientConfig(c).GetNode()}}
	clusters := &adminv3.ClustersConfigDump{VersionInfo: types[resource.ClusterType].version}
	for _, r := range types[resource.ClusterType].resources {
		clusters.DynamicActiveClusters = append(clusters.DynamicActiveClusters, &adminv3.ClustersConfigDump_DynamicCluster{
			VersionInfo: r.version, Cluster: r.body, LastUpdated: types[resource.ClusterType].sent})
	}
	listeners := &adminv3.ListenersConfigDump{VersionInfo: types[resource.ListenerType].version}
	for _, r := range types[resource.ListenerType].resources {
		listeners.DynamicListeners = append(listeners.DynamicListeners, &adminv3.ListenersConfigDump_DynamicListener{
			Name: r.name,
			ActiveState: &adminv3.ListenersConfigDump_DynamicListenerState{
				VersionInfo: r.version, Listener: r.body, LastUpdated: types[resource.ListenerType].sent},
		})
	}
	routes := &adminv3.RoutesConfigDump{}
	for _, r := range types[resource.RouteType].resources {
		routes.DynamicRouteConfigs = append(routes.DynamicRouteConfigs, &adminv3.RoutesConfigDump_DynamicRouteConfig{
			VersionInfo: r.version, RouteConfig: r.body, LastUpdated: types[resource.RouteType].sent})
	}
	secrets := &adminv3.SecretsConfigDump{}
	for _, r := range types[resource.SecretType].resources {
		secrets.DynamicActiveSecrets = append(secrets.DynamicActiveSecrets, &adminv3.SecretsConfigDump_DynamicSecret{
			Name: r.name, VersionInfo: r.version, Secret: r.body, LastUpdated: types[resource.SecretType].sent})
	}
	extensions := &adminv3.EcdsConfigDump{}
	for _, r := range types[resource.ExtensionType].resources {
		extensions.EcdsFilters = append(extensions.EcdsFilters, &adminv3.EcdsConfigDump_EcdsFilterConfig{
			VersionInfo: r.version, EcdsFilter: r.body, LastUpdated: types[resource.ExtensionType].sent})
	}
	out := []proto.Message{bootstrap, clusters}
	if endpoints {
		dump := &adminv3.EndpointsConfigDump{}
		for _, r := range types[resource.EndpointType].resources {
			dump.DynamicEndpointConfigs = append(dump.DynamicEndpointConfigs, &adminv3.EndpointsConfigDump_DynamicEndpointConfig{
				VersionInfo: r.version, EndpointConfig: r.body, LastUpdated: types[resource.EndpointType].sent})
		}
		out = append(out, dump)
	}
	return append(out, listeners, &adminv3.ScopedRoutesConfigDump{}, routes, secrets, extensions), nil
}

// configDump is /debug/config_dump: all types in sections, or with ?types= the resources of some, one after another.
func (p *Pages) configDump(w http.ResponseWriter, r *http.Request) {
	p.dump(w, r, r.URL.Query().Get("types"))
}

func (p *Pages) dumpOf(types string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) { p.dump(w, r, types) }
}

func (p *Pages) dump(w http.ResponseWriter, r *http.Request, types string) {
	c, ok := p.asked(w, r)
	if !ok {
		return
	}
	release, err := p.takeTurn(r.Context())
	if err != nil {
		return // the client is gone
	}
	defer release()
	var parts []proto.Message
	if types == "" {
		if parts, err = p.sections(c, r.URL.Query().Has("include_eds")); err != nil {
			notYet(w, err.Error())
			return
		}
	} else if parts, ok = p.some(w, c, types); !ok {
		return
	}
	dump := &adminv3.ConfigDump{}
	for _, part := range parts {
		packed, isAny := part.(*anypb.Any)
		if !isAny {
			if packed, err = anypb.New(part); err != nil {
				respond(w, nil, err)
				return
			}
		}
		dump.Configs = append(dump.Configs, packed)
	}
	data, err := p.encodeProto(r, dump)
	respond(w, data, err)
}

// some gives the resources of some types, named as "eds" or by type URL. One that the proxy did not ask for is an error.
func (p *Pages) some(w http.ResponseWriter, c xds.Connection, types string) ([]proto.Message, bool) {
	wanted := strings.Split(types, ",")
	named := func(t resource.Type) func(string) bool {
		return func(name string) bool { return strings.EqualFold(name, t.Short) || name == t.URL }
	}
	has := []string{}
	missing := slices.Clone(wanted)
	for _, t := range c.Types {
		has = append(has, t.Type.Short)
		missing = slices.DeleteFunc(missing, named(t.Type))
	}
	if len(missing) > 0 {
		http.Error(w, fmt.Sprintf("%s has not asked for %s; it asked for %s", podName(c.Proxy), strings.Join(missing, ", "), strings.Join(has, ", ")), http.StatusNotFound)
		return nil, false
	}
	shown, err := p.show(c, func(t resource.Type) bool { return slices.ContainsFunc(wanted, named(t)) })
	if err != nil {
		notYet(w, err.Error())
		return nil, false
	}
	var out []proto.Message
	for _, t := range c.Types { // in the order of a push
		for _, r := range shown[t.Type.URL].resources {
			out = append(out, r.body)
		}
	}
	return out, true
}

// takeTurn waits until no other dump is being made.
func (p *Pages) takeTurn(ctx context.Context) (release func(), err error) {
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
