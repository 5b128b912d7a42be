package translate_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/testkit/randommesh"
	"github.com/meshd/meshd/internal/translate/route"
)

// TestPieces: the pieces of a table, one behind the other, are the bytes of the table that is built whole, while services
// come, go and change; and a piece is the same wherever it has the same key. Where services claim the same names there are
// no pieces.
func TestPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	namespaces := []string{"a", "b", "a-b"}
	service := func() *corev1.Service {
		i := r.IntN(6)
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespaces[r.IntN(3)], Name: fmt.Sprint("svc-", i)}}
		s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}, {Name: []string{"http-x", "tcp-x", "x"}[r.IntN(3)], Port: 81}}
		switch address := fmt.Sprintf("10.0.%d.%d", i, s.Namespace[len(s.Namespace)-1]-'a'+byte(len(s.Namespace))); r.IntN(12) {
		case 0:
			s.Spec.ClusterIP = corev1.ClusterIPNone
		case 1:
			s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, fmt.Sprintf("svc-%d.%s.svc.cluster.local", r.IntN(6), namespaces[r.IntN(3)])
		case 2:
			s.Spec.ClusterIPs = []string{address, fmt.Sprint("fd00::", i)}
		case 3:
			if r.IntN(8) == 0 {
				address = "10.0.0.1" // which is another's
			}
			fallthrough
		default:
			s.Spec.ClusterIP = address
		}
		return s
	}
	var proxies []*model.Proxy
	for _, domain := range []string{"a.svc.cluster.local", "b.svc.cluster.local", "a-b.svc.cluster.local", "a.svc.other", "nowhere", ".svc.cluster.local"} {
		for _, ips := range [][]string{{"10.9.9.9"}, {"10.9.9.9", "fd00::9"}} {
			proxies = append(proxies, &model.Proxy{Type: model.Sidecar, Flavor: model.FlavorEnvoy, Namespace: "a", DNSDomain: domain, IPs: ips})
		}
	}
	source, generator := randommesh.New(mesh.Default()), route.New()
	compiler := source.Compiler()
	known := map[any][]byte{}
	pieced, whole := 0, 0
	for edit := range 300 {
		if s := service(); r.IntN(4) == 0 {
			source.Stores.Services.Delete(model.NamespacedName{Namespace: s.Namespace, Name: s.Name})
		} else {
			source.Stores.Services.Put(s)
		}
		changes, _ := source.Changes.Take()
		s, err := compiler.Compile(context.Background(), source.Stores.MarkSynced(), changes)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range proxies {
			for _, recipe := range generator.List(generator.Class(s, p)).All(s) {
				if recipe.Pieces == nil {
					continue
				}
				pieces := recipe.Pieces()
				if pieces == nil {
					whole++
					continue
				}
				pieced++
				var got []byte
				for _, piece := range pieces.All() {
					b := marshal(t, piece.Build)
					if was, ok := known[piece.Key]; ok && !bytes.Equal(was, b) {
						t.Fatalf("edit %d: route %s of %s: a piece is another under the key it had: %+v", edit, recipe.Name, p.DNSDomain, piece.Key)
					}
					known[piece.Key] = b
					got = append(got, b...)
				}
				if want := marshal(t, recipe.Build); !bytes.Equal(want, got) {
					t.Fatalf("edit %d: route %s of %s: the pieces are %d bytes, and not the %d of the table:\n%q\n%q",
						edit, recipe.Name, p.DNSDomain, len(got), len(want), got, want)
				}
			}
		}
	}
	if pieced < 500 || whole < 100 {
		t.Errorf("%d tables in pieces and %d whole prove little", pieced, whole)
	}
}

func marshal(t *testing.T, build func() (proto.Message, error)) []byte {
	t.Helper()
	m, err := build()
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
