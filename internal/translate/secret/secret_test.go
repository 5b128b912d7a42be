package secret_test

import (
	"fmt"
	"maps"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate/secret"
	"github.com/meshd/meshd/internal/xds/resource"
)

// keys are those of one gateway's namespace: everybody there has a secret "own" of its own, under one key of its content,
// and a secret "common" that is the same for all.
func keys(s *snapshot.Snapshot, owner model.Identity, name string) (secret.Secret, bool) {
	if owner.Namespace() != "edge" {
		return secret.Secret{}, false
	}
	text := map[string]string{"own": "of " + owner.ServiceAccount(), "common": "of all"}[name]
	return secret.Secret{Key: 1, Build: func() (*tlsv3.Secret, error) {
		return &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
			PrivateKey: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}},
		}}}, nil
	}}, text != ""
}

func identity(t *testing.T, namespace, account string) model.Identity {
	t.Helper()
	i, err := model.Prove("cluster.local", namespace, account)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// A secret of one identity is in no class but its own, whatever the client says of itself and though the contents have
// equal keys.
func TestSecretsAreOfOneIdentity(t *testing.T) {
	g := secret.New(keys)
	pool := resource.NewStore(nil).NewPool(g.Flavor(), g.TypeURL(), func(f resource.Failure) { t.Error(f.Err) })
	s := new(snapshot.Snapshot)
	proxies := map[string]*model.Proxy{
		"a": {ID: "same", Namespace: "edge", Identity: identity(t, "edge", "a")},
		"b": {ID: "same", Namespace: "edge", Identity: identity(t, "edge", "b")},
		// They say the same of themselves, and have proved something else, or nothing.
		"stranger": {ID: "same", Namespace: "edge", Identity: identity(t, "shop", "a")},
		"nobody":   {ID: "same", Namespace: "edge"},
	}
	classes := map[model.ProxyClass]string{}
	got := map[string]string{}
	for who, p := range proxies {
		class := g.Class(s, p)
		if other, ok := classes[class]; ok {
			t.Errorf("%s and %s are of one class", who, other)
		}
		classes[class] = who
		if all := g.List(class).All(s); len(all) != 0 {
			t.Errorf("%s: secrets that nobody asked for: %v", who, all)
		}
		for _, name := range []string{"own", "common", "missing"} {
			recipe, ok := g.Named(s, class, name)
			if !ok {
				continue
			}
			made, err := pool.Get(recipe)
			if err != nil {
				t.Fatal(err)
			}
			got[who+" "+name] = text(t, made)
		}
	}
	want := map[string]string{"a own": "of a", "a common": "of all", "b own": "of b", "b common": "of all"}
	if !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// text gives what is in a secret.
func text(t *testing.T, r *resource.Resource) string {
	t.Helper()
	var any anypb.Any
	var secret tlsv3.Secret
	if err := proto.Unmarshal(r.Any(), &any); err != nil {
		t.Fatal(err)
	}
	if err := any.UnmarshalTo(&secret); err != nil {
		t.Fatal(err)
	}
	return secret.GetTlsCertificate().GetPrivateKey().GetInlineString()
}

// Without anything to look up there is no secret, for nobody and for somebody.
func TestNone(t *testing.T) {
	g := secret.New(secret.None)
	for _, i := range []model.Identity{{}, identity(t, "edge", "a")} {
		if r, ok := g.Named(nil, g.Class(nil, &model.Proxy{Identity: i}), "own"); ok {
			t.Errorf("%v has %v", i, fmt.Sprint(r))
		}
	}
}
