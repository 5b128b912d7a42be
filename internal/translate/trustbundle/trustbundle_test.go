package trustbundle_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate/trustbundle"
)

func TestBundle(t *testing.T) {
	var bundle *trustbundle.Bundle
	g := trustbundle.New(model.FlavorEnvoy, func(*snapshot.Snapshot) *trustbundle.Bundle { return bundle })
	class := g.Class(nil, &model.Proxy{Pod: "a"})
	if class != g.Class(nil, &model.Proxy{Pod: "b"}) {
		t.Error("who asks makes a difference")
	}
	if all := g.List(class).All(nil); len(all) != 0 {
		t.Errorf("without a bundle: %v", all)
	}
	bundle = &trustbundle.Bundle{PEM: []string{"one", "two"}}
	all := g.List(class).All(nil)
	if len(all) != 1 || all[0].Name != trustbundle.Name {
		t.Fatalf("%v", all)
	}
	m, err := all[0].Build()
	if want := (&meshv1alpha1.ProxyConfig{CaCertificatesPem: []string{"one", "two"}}); err != nil || !proto.Equal(m, want) {
		t.Errorf("%v, %v", m, err)
	}
	if got := "type.googleapis.com/" + string(m.ProtoReflect().Descriptor().FullName()); got != g.TypeURL() {
		t.Errorf("the message is a %s", got)
	}
	if named, ok := g.Named(nil, class, trustbundle.Name); !ok || named.Key != all[0].Key {
		t.Error("by its name it is another one")
	}
	bundle = &trustbundle.Bundle{PEM: []string{"one"}}
	if again := g.List(class).All(nil); again[0].Key == all[0].Key {
		t.Error("another bundle has the key of the one before")
	}
}
