package translate

import (
	"fmt"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
)

// Spec is a generator whose class has a type of its own. Everything but the class is as in Generator.
type Spec[C comparable] interface {
	TypeURL() string
	Flavor() model.Flavor
	Wildcard() bool
	Class(*snapshot.Snapshot, *model.Proxy) C
	List(C) Listing
	Named(s *snapshot.Snapshot, c C, name string) (Recipe, bool)
}

// Typed makes a Generator of a Spec.
//
// A class of another generator is a programming error that must not look like "no resources": List and Named panic
// with a message that names both types. Who calls generators recovers panics and reports them by resource type.
func Typed[C comparable](spec Spec[C]) Generator { return typed[C]{spec} }

type typed[C comparable] struct{ spec Spec[C] }

func (t typed[C]) TypeURL() string      { return t.spec.TypeURL() }
func (t typed[C]) Flavor() model.Flavor { return t.spec.Flavor() }
func (t typed[C]) Wildcard() bool       { return t.spec.Wildcard() }

func (t typed[C]) Class(s *snapshot.Snapshot, p *model.Proxy) model.ProxyClass {
	return t.spec.Class(s, p)
}

func (t typed[C]) List(c model.ProxyClass) Listing { return t.spec.List(t.class(c)) }

func (t typed[C]) Named(s *snapshot.Snapshot, c model.ProxyClass, name string) (Recipe, bool) {
	return t.spec.Named(s, t.class(c), name)
}

func (t typed[C]) class(c model.ProxyClass) C {
	own, ok := c.(C)
	if !ok {
		panic(fmt.Sprintf("translate: the generator of %s (%s) was given a class of type %T, not its own %T: "+
			"classes come from the Class method of the same generator", t.TypeURL(), t.Flavor(), c, own))
	}
	return own
}
