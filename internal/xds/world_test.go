package xds

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/xds/resource"
)

// world is what fake generators translate: for each snapshot, by its mesh config, the resources by type URL and name, as
// one text each. A text that begins with "!" fails to build, and one that begins with "panic" panics.
type world struct {
	mu   sync.Mutex
	data map[*snapshot.Mesh]map[string]map[string]string
	// project is called when a generator looks at a proxy, unless nil; it is set before there are streams.
	project func(*model.Proxy)
}

func (w *world) of(s *snapshot.Snapshot, typeURL string) map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.data[s.Mesh()][typeURL]
}

// fakeGenerator has the workload name as its class. A resource whose name contains "own" differs per class.
type fakeGenerator struct {
	world   *world
	flavor  model.Flavor
	typeURL string
}

func (g fakeGenerator) TypeURL() string      { return g.typeURL }
func (g fakeGenerator) Flavor() model.Flavor { return g.flavor }
func (g fakeGenerator) Wildcard() bool {
	typ := resource.TypeOf(g.typeURL)
	return typ.FullState || typ.Agent
}

func (g fakeGenerator) Class(s *snapshot.Snapshot, p *model.Proxy) model.ProxyClass {
	if g.world.project != nil {
		g.world.project(p)
	}
	if g.world.of(s, g.typeURL)["panic in class"] != "" {
		panic("class")
	}
	return p.Metadata.WorkloadName
}

func (g fakeGenerator) List(c model.ProxyClass) translate.Listing {
	return translate.Listing{Rest: func(s *snapshot.Snapshot) []translate.Recipe {
		texts := g.world.of(s, g.typeURL)
		if texts["panic in all"] != "" {
			panic("all")
		}
		var out []translate.Recipe
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			out = append(out, g.recipe(name, texts[name], c))
		}
		return out
	}}
}

func (g fakeGenerator) Named(s *snapshot.Snapshot, c model.ProxyClass, name string) (translate.Recipe, bool) {
	text, ok := g.world.of(s, g.typeURL)[name]
	if text == "panic in named" {
		panic("named")
	}
	return g.recipe(name, text, c), ok
}

func (g fakeGenerator) recipe(name, text string, c model.ProxyClass) translate.Recipe {
	key := struct{ text, class string }{text: text}
	if strings.Contains(name, "own") {
		key.class = c.(string)
		text += " of " + key.class
	}
	return translate.Recipe{Name: name, Key: key, Build: func() (proto.Message, error) {
		if strings.HasPrefix(text, "!") {
			return nil, fmt.Errorf("virtualservice default/%s: %s", name, text[1:])
		}
		if strings.HasPrefix(text, "panic") {
			panic(text)
		}
		switch g.typeURL {
		case resource.ClusterType:
			return &clusterv3.Cluster{Name: name, AltStatName: text}, nil
		case resource.EndpointType:
			return &endpointv3.ClusterLoadAssignment{ClusterName: name, NamedEndpoints: map[string]*endpointv3.Endpoint{text: {}}}, nil
		case resource.ListenerType:
			return &listenerv3.Listener{Name: name, StatPrefix: text}, nil
		case resource.ExtensionType:
			return &corev3.TypedExtensionConfig{Name: name, TypedConfig: &anypb.Any{TypeUrl: text}}, nil
		default:
			return &routev3.RouteConfiguration{Name: name, RequestHeadersToRemove: []string{text}}, nil
		}
	}}
}

// valid refuses resources that were made from a text that begins with "invalid".
func valid(m proto.Message, _ []byte) error {
	if strings.HasPrefix(textOf(m), "invalid") {
		return errors.New("no client takes it")
	}
	return nil
}

// textOf gives back what a fake resource was made from.
func textOf(msg proto.Message) string {
	switch m := msg.(type) {
	case *clusterv3.Cluster:
		return m.GetAltStatName()
	case *endpointv3.ClusterLoadAssignment:
		for text := range m.GetNamedEndpoints() {
			return text
		}
	case *listenerv3.Listener:
		return m.GetStatPrefix()
	case *corev3.TypedExtensionConfig:
		return m.GetTypedConfig().GetTypeUrl()
	case *routev3.RouteConfiguration:
		return m.GetRequestHeadersToRemove()[0]
	}
	return ""
}

func generators(w *world) []translate.Generator {
	var out []translate.Generator
	for _, k := range required() {
		out = append(out, fakeGenerator{w, k.flavor, k.typeURL})
	}
	return out
}
