package xds

import (
	"bytes"
	"fmt"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

func clusters(t testing.TB, n, size int) []*resource.Resource {
	pool := resource.NewStore(nil).NewPool(model.FlavorEnvoy, resource.ClusterType, func(f resource.Failure) { t.Error(f.Err) })
	var out []*resource.Resource
	for i := range n {
		name := fmt.Sprintf("outbound|%d||shop.default.svc.cluster.local", i)
		r, err := pool.Get(translate.Recipe{Name: name, Build: func() (proto.Message, error) {
			return &clusterv3.Cluster{Name: name, AltStatName: string(make([]byte, size))}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// What the codec writes is the message that the proto codec would have written, and frames are not copied into it.
func TestCodec(t *testing.T) {
	list := clusters(t, 3, 10)
	r := subscription.Response{Type: resource.TypeOf(resource.ClusterType), Version: "v", Nonce: "n", Resources: list}
	bytes, err := Codec().Marshal(encodeSotW(r, nil))
	if err != nil {
		t.Fatal(err)
	}
	if &bytes[0].ReadOnlyData()[0] != &list[0].Frame()[0].ReadOnlyData()[0] {
		t.Error("the frame was copied")
	}
	var got discoveryv3.DiscoveryResponse
	if err := Codec().Unmarshal(bytes, &got); err != nil {
		t.Fatal(err)
	}
	if got.GetVersionInfo() != "v" || got.GetNonce() != "n" || got.GetTypeUrl() != resource.ClusterType || len(got.GetResources()) != 3 {
		t.Errorf("%v", &got)
	}
	// Any other message goes through unchanged.
	again, err := Codec().Marshal(&got)
	if err != nil {
		t.Fatal(err)
	}
	var other discoveryv3.DiscoveryResponse
	if err := Codec().Unmarshal(again, &other); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&got, &other, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if _, err := Codec().Marshal(42); err == nil {
		t.Error("a number was marshalled")
	}
	if Codec().Name() != "proto" {
		t.Errorf("the codec calls itself %q", Codec().Name())
	}
}

// The same for delta: names and versions go before the frames, in the bytes that all streams share.
func TestDeltaCodec(t *testing.T) {
	list := clusters(t, 3, 300) // long enough for a length of two bytes
	r := subscription.Response{
		Type: resource.TypeOf(resource.ClusterType), Version: "v", Nonce: "n", Resources: list, Removed: []string{"gone", "too"},
	}
	bytes, err := Codec().Marshal(encodeDelta(r, nil))
	if err != nil {
		t.Fatal(err)
	}
	shared, frame := bytes[0].ReadOnlyData(), list[0].Frame()[0].ReadOnlyData()
	if &shared[len(shared)-len(frame)] != &frame[0] {
		t.Error("the frame was copied")
	}
	var got discoveryv3.DeltaDiscoveryResponse
	if err := Codec().Unmarshal(bytes, &got); err != nil {
		t.Fatal(err)
	}
	want := &discoveryv3.DeltaDiscoveryResponse{
		SystemVersionInfo: "v", TypeUrl: resource.ClusterType, Nonce: "n", RemovedResources: []string{"gone", "too"},
	}
	for _, res := range list {
		var a anypb.Any
		if err := proto.Unmarshal(res.Any(), &a); err != nil {
			t.Fatal(err)
		}
		want.Resources = append(want.Resources, &discoveryv3.Resource{Name: res.Name(), Version: res.Version(), Resource: &a})
	}
	if diff := cmp.Diff(want, &got, protocmp.Transform()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Sending a configuration once more costs references only, and to the buffers of a set fewer of them.
func TestEncodingDoesNotCopy(t *testing.T) {
	list := clusters(t, 2000, 1500)
	set := resource.NewSet(list)
	for of, most := range map[*resource.Set]int64{nil: 64 << 10, set: 8 << 10} {
		r := subscription.Response{Type: resource.TypeOf(resource.ClusterType), Version: "v", Nonce: "n", Resources: set.List()}
		for _, encode := range []func(subscription.Response, *resource.Set) wireMessage{encodeSotW, encodeDelta} {
			if one, other := encode(r, of), encode(r, nil); !bytes.Equal(mem.BufferSlice(one).Materialize(), mem.BufferSlice(other).Materialize()) {
				t.Error("from the set come other bytes")
			}
			result := testing.Benchmark(func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					_ = encode(r, of)
				}
			})
			if got := result.AllocedBytesPerOp(); got > most {
				t.Errorf("%d bytes are allocated to send 3 MB once more, more than %d", got, most)
			}
		}
	}
}
