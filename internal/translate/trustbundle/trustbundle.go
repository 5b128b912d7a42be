// Package trustbundle makes what an agent adds to the roots that it was mounted: the certificates of everybody whom the
// mesh trusts (PCDS). An agent asks for it if it is told to (PROXY_CONFIG_XDS_AGENT).
package trustbundle

import (
	"google.golang.org/protobuf/proto"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
)

// TypeURL of the resource: of a proxy's config it has the bundle only, as in Istio.
const TypeURL = "type.googleapis.com/istio.mesh.v1alpha1.ProxyConfig"

// Name of the only resource. Agents ask for all there is and take the first, whatever its name.
const Name = "trustbundle"

// Bundle is the certificates of everybody who is trusted. It is immutable, and another one is another pointer.
type Bundle struct {
	// PEM has one certificate each, in a stable order.
	PEM []string
}

// Source gives the bundle of a snapshot, or nil if there is none: an agent then goes on with the roots that it has.
type Source func(*snapshot.Snapshot) *Bundle

// None has no bundle.
func None(*snapshot.Snapshot) *Bundle { return nil }

// New makes the generator of trust bundles for the agents of clients of a flavor.
func New(flavor model.Flavor, source Source) translate.Generator {
	return translate.Typed(generator{flavor, source})
}

// class is empty: everybody trusts the same.
type class struct{}

type generator struct {
	flavor model.Flavor
	source Source
}

func (generator) TypeURL() string        { return TypeURL }
func (g generator) Flavor() model.Flavor { return g.flavor }
func (generator) Wildcard() bool         { return true }

func (generator) Class(*snapshot.Snapshot, *model.Proxy) class { return class{} }

func (g generator) List(class) translate.Listing {
	return translate.Listing{Rest: func(s *snapshot.Snapshot) []translate.Recipe {
		if r, ok := g.bundle(s); ok {
			return []translate.Recipe{r}
		}
		return nil
	}}
}

func (g generator) bundle(s *snapshot.Snapshot) (translate.Recipe, bool) {
	bundle := g.source(s)
	if bundle == nil {
		return translate.Recipe{}, false
	}
	return translate.Recipe{
		Name: Name,
		Key:  bundle,
		Build: func() (proto.Message, error) {
			return &meshv1alpha1.ProxyConfig{CaCertificatesPem: bundle.PEM}, nil
		},
	}, true
}

func (g generator) Named(s *snapshot.Snapshot, _ class, name string) (translate.Recipe, bool) {
	if name != Name {
		return translate.Recipe{}, false
	}
	return g.bundle(s)
}
