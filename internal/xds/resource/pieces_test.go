package resource

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/translate"
)

// hostPiece is a route configuration with one virtual host, and counts in built how often it is made.
func hostPiece(name string, built *int) translate.Piece {
	return translate.Piece{Key: name, Build: func() (proto.Message, error) {
		*built++
		if strings.HasPrefix(name, "bad") {
			return nil, fmt.Errorf("no such host: %q", name)
		}
		return &routev3.RouteConfiguration{VirtualHosts: []*routev3.VirtualHost{{Name: name}}}, nil
	}}
}

// inPieces is a recipe with a list of pieces, one of which is another.
func inPieces(name string, common *translate.PieceList, instead map[int]translate.Piece) translate.Recipe {
	return translate.Recipe{Name: name, Key: name, Pieces: func() *translate.Pieces {
		return &translate.Pieces{Common: common, Instead: instead}
	}}
}

// hosts reads the virtual hosts of a response with one resource.
func hosts(t *testing.T, response mem.BufferSlice) string {
	t.Helper()
	var r discoveryv3.DiscoveryResponse
	if err := proto.Unmarshal(response.Materialize(), &r); err != nil {
		t.Fatal(err)
	}
	var table routev3.RouteConfiguration
	if err := r.GetResources()[0].UnmarshalTo(&table); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range table.GetVirtualHosts() {
		out = append(out, h.GetName())
	}
	return strings.Join(out, " ")
}

// Resources in pieces are sent as if they were whole, and share the very bytes of what they have in common, which is made once.
func TestPiecesAreShared(t *testing.T) {
	s := NewStore(nil)
	p := s.NewPool(model.FlavorEnvoy, RouteType, noFailure(t))
	built := 0
	common := &translate.PieceList{Pieces: []translate.Piece{hostPiece("a", &built), hostPiece("b", &built), hostPiece("c", &built)}}
	get := func(r translate.Recipe) *Resource {
		t.Helper()
		made, err := p.Get(r)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	one := get(inPieces("one", common, nil))
	two := get(inPieces("two", common, map[int]translate.Piece{1: hostPiece("x", &built)}))
	if built != 4 {
		t.Errorf("%d pieces were built, want 4: a, b, c and x", built)
	}
	for r, want := range map[*Resource]string{one: "a b c", two: "a x c"} {
		if got := hosts(t, r.Frame()); got != want {
			t.Errorf("%s has hosts %q, want %q", r.Name(), got, want)
		}
		if got := hosts(t, NewSet([]*Resource{r}).Frames([]*Resource{r}, false, 0)); got != want {
			t.Errorf("%s as part of a set has hosts %q, want %q", r.Name(), got, want)
		}
		if r.Size() != r.Frame().Len() {
			t.Errorf("%s has size %d, and its frame %d", r.Name(), r.Size(), r.Frame().Len())
		}
		var delta discoveryv3.DeltaDiscoveryResponse
		if err := proto.Unmarshal(r.DeltaFrame().Materialize(), &delta); err != nil {
			t.Fatal(err)
		}
		if d := delta.GetResources()[0]; d.GetName() != r.Name() || d.GetVersion() != r.Version() || !strings.HasSuffix(string(r.Any()), string(d.GetResource().GetValue())) {
			t.Errorf("in delta %s is %q in version %q", r.Name(), d.GetName(), d.GetVersion())
		}
	}
	if a, b := one.Frame(), two.Frame(); &a[3].ReadOnlyData()[0] != &b[3].ReadOnlyData()[0] {
		t.Error("what two resources have in common is there twice")
	}
	less := inPieces("one", &translate.PieceList{Pieces: common.Pieces[:2]}, nil)
	less.Key = "less"
	if one.Version() == get(less).Version() {
		t.Error("another content has the same version")
	}
	// A list that is made again comes to the same.
	again := &translate.PieceList{Pieces: []translate.Piece{hostPiece("a", &built), hostPiece("b", &built), hostPiece("c", &built)}}
	same := inPieces("one", again, nil)
	same.Key = "again"
	if get(same) != one {
		t.Error("an equal resource is another one")
	}
	if built != 4 {
		t.Errorf("%d pieces were built, though none is new", built)
	}
}

// A piece that cannot be made is the fault of each resource that has it, and of no other.
func TestBadPiece(t *testing.T) {
	var failed []string
	p := NewStore(nil).NewPool(model.FlavorEnvoy, RouteType, func(f Failure) { failed = append(failed, fmt.Sprint(f.Name, ": ", f.Err)) })
	built := 0
	good := &translate.PieceList{Pieces: []translate.Piece{hostPiece("a", &built)}}
	bad := &translate.PieceList{Pieces: []translate.Piece{hostPiece("a", &built), hostPiece("bad", &built)}}
	for _, r := range []translate.Recipe{
		inPieces("one", bad, nil), inPieces("two", bad, map[int]translate.Piece{0: hostPiece("b", &built)}),
		inPieces("three", good, map[int]translate.Piece{0: hostPiece("bad", &built)}),
	} {
		if _, err := p.Get(r); err == nil || !strings.Contains(err.Error(), r.Name) || !strings.Contains(err.Error(), "no such host") {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	for _, r := range []translate.Recipe{
		inPieces("four", good, nil), inPieces("five", bad, map[int]translate.Piece{1: hostPiece("b", &built)}),
	} {
		if _, err := p.Get(r); err != nil {
			t.Error(err)
		}
	}
	worse := &translate.PieceList{Pieces: []translate.Piece{hostPiece("bad", &built), hostPiece("bad too", &built)}}
	if _, err := p.Get(inPieces("six", worse, map[int]translate.Piece{1: hostPiece("b", &built)})); err == nil || !strings.Contains(err.Error(), `"bad"`) {
		t.Errorf("the error is not that of the piece that it has: %v", err)
	}
	if len(failed) != 4 {
		t.Errorf("reported: %q", failed)
	}
}

// What a list came to is forgotten with it.
func TestListsAreForgotten(t *testing.T) {
	p := NewStore(nil).NewPool(model.FlavorEnvoy, RouteType, noFailure(t))
	known := func() int {
		p.commons.mu.Lock()
		defer p.commons.mu.Unlock()
		return len(p.commons.known)
	}
	built := 0
	list := &translate.PieceList{Pieces: []translate.Piece{hostPiece("a", &built)}}
	if _, err := p.Get(inPieces("one", list, nil)); err != nil || known() != 1 {
		t.Fatal(err, known())
	}
	runtime.KeepAlive(list)
	for range 1000 {
		if runtime.GC(); known() == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d lists are remembered that nobody has", known())
}
