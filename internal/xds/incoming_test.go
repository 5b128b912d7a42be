package xds

import (
	"fmt"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/meshd/meshd/internal/xds/resource"
)

func manyOf(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("outbound|80||svc-%d.shop.svc.cluster.local", i)
	}
	return out
}

// read serialises a request and reads it, in several buffers as it may come.
func read(t testing.TB, in *incoming, r *discoveryv3.DiscoveryRequest) {
	t.Helper()
	b, err := proto.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	half := len(b) / 2
	if err := Codec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(b[:half]), mem.SliceBuffer(b[half:])}, in); err != nil {
		t.Fatal(err)
	}
}

// A request is read as it is, but names that are those of the request before are not read again.
func TestIncoming(t *testing.T) {
	in := newIncoming()
	many := manyOf(100)
	swapped := append([]string{many[1], many[0]}, many[2:]...)
	for _, step := range []struct {
		what  string
		url   string
		names []string
		same  bool
	}{
		{"first", resource.EndpointType, many, false},
		{"the same", resource.EndpointType, many, true},
		{"the same of another type", resource.RouteType, many, false},
		{"one less", resource.EndpointType, many[1:], false},
		{"all again", resource.EndpointType, many, false},
		{"and the same", resource.EndpointType, many, true},
		{"in another order", resource.EndpointType, swapped, false},
		{"none", resource.EndpointType, nil, false},
		{"still none", resource.EndpointType, nil, false},
		{"few", resource.EndpointType, many[:2], false},
		{"the same few", resource.EndpointType, many[:2], false},
		{"names that join to the same", resource.EndpointType, append([]string{many[0] + many[1]}, many[2:]...), false},
		{"the other type is not forgotten", resource.RouteType, many, true},
	} {
		want := &discoveryv3.DiscoveryRequest{
			Node: &corev3.Node{Id: "n"}, TypeUrl: step.url, ResponseNonce: "7", VersionInfo: "v",
			ErrorDetail: &rpcstatus.Status{Message: "no"}, ResourceNames: step.names,
		}
		read(t, in, want)
		if in.same != step.same {
			t.Errorf("%s: same %t", step.what, in.same)
		}
		if step.same {
			want.ResourceNames = nil
		}
		if diff := cmp.Diff(want, in.request, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-sent +read):\n%s", step.what, diff)
		}
	}
	for _, bad := range [][]byte{{0xff}, {0x1a, 5, 'a'}, {0x1a, 1, 0xff}, {0x0a, 1, 0xff}, {0x9a, 0x00, 1, 'a'}} {
		if err := in.read(bad); err == nil {
			t.Errorf("%x is read", bad)
		}
	}
	for i := range 10 * maxTypes {
		read(t, in, &discoveryv3.DiscoveryRequest{TypeUrl: fmt.Sprint(i)})
	}
	if len(in.last) > maxTypes {
		t.Errorf("%d types are remembered", len(in.last))
	}
}

// To read thousands of names again costs one word for each.
func TestSameNamesAreNotReadAgain(t *testing.T) {
	in := newIncoming()
	r := &discoveryv3.DiscoveryRequest{TypeUrl: resource.EndpointType, ResourceNames: manyOf(2000)}
	b, err := proto.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.read(b); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := in.read(b); err != nil || !in.same {
			t.Fatal(err, in.same)
		}
	}); n > 30 {
		t.Errorf("%v allocations to read 2,000 names again", n)
	}
}
