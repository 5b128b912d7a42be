package xds

import (
	"errors"
	"fmt"
	"slices"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/xds/resource"
)

// RuleGenerators is the rule of docs/ordering.md that a Table keeps.
const RuleGenerators = "controllers-before-generators"

// kind is what a generator is found by.
type kind struct {
	flavor  model.Flavor
	typeURL string
}

// required lists what is advertised to clients and must therefore have a generator.
func required() []kind {
	var out []kind
	for _, f := range []model.Flavor{model.FlavorEnvoy, model.FlavorGRPC} {
		for _, t := range []string{
			resource.ClusterType, resource.EndpointType, resource.ListenerType, resource.RouteType,
			resource.NameTableType, resource.ProxyConfigType, // an agent of either asks for them
		} {
			out = append(out, kind{f, t})
		}
	}
	return append(out, kind{model.FlavorEnvoy, resource.SecretType}, kind{model.FlavorEnvoy, resource.ExtensionType})
}

// Table holds the generator of each type for each flavor of client. It is built whole and never changes: a generator
// that comes too late cannot be written.
type Table struct{ generators map[kind]translate.Generator }

// NewTable takes all generators there are. It is an error, which names the rule and each type, if a type that meshd
// advertises has none, or any type has two.
func NewTable(generators []translate.Generator) (*Table, error) {
	t := &Table{generators: map[kind]translate.Generator{}}
	var faults []error
	for _, g := range generators {
		k := kind{g.Flavor(), g.TypeURL()}
		if t.generators[k] != nil {
			faults = append(faults, fmt.Errorf("%s: %s has two generators for %s clients: leave one out", RuleGenerators, k.typeURL, k.flavor))
		}
		t.generators[k] = g
	}
	for _, k := range required() {
		if t.generators[k] == nil {
			faults = append(faults, fmt.Errorf("%s: %s has no generator for %s clients, which would wait for it for ever: contribute one",
				RuleGenerators, k.typeURL, k.flavor))
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return t, nil
}

// Types lists what a flavor of clients is served, in the order of a push.
func (t *Table) Types(flavor model.Flavor) []string {
	var out []string
	for k := range t.generators {
		if k.flavor == flavor {
			out = append(out, k.typeURL)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return resource.TypeOf(a).Compare(resource.TypeOf(b)) })
	return out
}

// Generator finds the generator of a type; false if that flavor of clients is not served it.
func (t *Table) Generator(flavor model.Flavor, typeURL string) (translate.Generator, bool) {
	g, ok := t.generators[kind{flavor, typeURL}]
	return g, ok
}
