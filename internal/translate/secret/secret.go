// Package secret makes what a client may know and others may not: keys and certificates (SDS).
//
// A secret is made for an identity that the client's connection proved. The identity is part of the class, and a recipe
// can only be made by one: so no class has a resource that was made for another identity, and a client that proved
// nothing has none.
package secret

import (
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
)

// TypeURL of the resources.
const TypeURL = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"

// Secret is one that has not been made yet.
type Secret struct {
	// Key is everything that Build reads but the identity and the name, as a comparable value.
	Key any
	// Build makes it. It may be called from any goroutine.
	Build func() (*tlsv3.Secret, error)
}

// Lookup finds the secret that an identity has under a name; false if it has none, be it that there is none or that it
// is not for this identity.
type Lookup func(s *snapshot.Snapshot, owner model.Identity, name string) (Secret, bool)

// None finds nothing.
func None(*snapshot.Snapshot, model.Identity, string) (Secret, bool) { return Secret{}, false }

// New makes the generator of secrets.
func New(lookup Lookup) translate.Generator { return translate.Typed(generator{lookup}) }

// class is whose secrets they are.
type class struct{ identity model.Identity }

// owner is somebody. It comes from a class and nowhere else.
type owner struct{ identity model.Identity }

func (c class) owner() (owner, bool) { return owner(c), c.identity.Proven() }

type generator struct{ lookup Lookup }

func (generator) TypeURL() string      { return TypeURL }
func (generator) Flavor() model.Flavor { return model.FlavorEnvoy }
func (generator) Wildcard() bool       { return false }

func (generator) Class(_ *snapshot.Snapshot, p *model.Proxy) class { return class{p.Identity} }

// All lists none: which secrets a client wants it says by name.
func (generator) List(class) translate.Listing { return translate.Listing{} }

func (g generator) Named(s *snapshot.Snapshot, c class, name string) (translate.Recipe, bool) {
	o, ok := c.owner()
	if !ok {
		return translate.Recipe{}, false
	}
	secret, ok := g.lookup(s, o.identity, name)
	if !ok {
		return translate.Recipe{}, false
	}
	return o.recipe(name, secret), true
}

// key tells secrets of one name apart.
type key struct {
	owner   owner
	content any
}

// recipe is the only maker of recipes here.
func (o owner) recipe(name string, secret Secret) translate.Recipe {
	return translate.Recipe{
		Name:  name,
		Key:   key{o, secret.Key},
		Build: func() (proto.Message, error) { return secret.Build() },
	}
}
