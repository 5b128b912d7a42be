package faults

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/testkit/manifests"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// Connections that say nothing, or begin HTTP/2 and say nothing more, and streams without a request hold up nobody.
func TestSilence(t *testing.T) { protocols(t, testSilence) }

func testSilence(t *testing.T, r *rig) {
	const connections, streams = 300, 100
	before := r.used()
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + "\x00\x00\x00\x04\x00\x00\x00\x00\x00" // and no settings
	var silent []net.Conn
	for i := range connections {
		c, err := net.Dial("tcp", r.addr)
		r.check(err)
		silent = append(silent, c)
		_, err = c.Write([]byte(preface[:i*len(preface)/connections]))
		r.check(err)
	}
	conn := r.dial()
	ctx, cancel := context.WithCancel(r.ctx)
	for range streams {
		_, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, r.method())
		r.check(err)
	}
	r.change()
	for _, c := range silent {
		r.check(c.Close())
	}
	cancel()
	r.check(conn.Close())
	r.back(before, 3e6)
}

// What cannot be read ends its stream, with an error that says so.
func TestUnreadableRequests(t *testing.T) { protocols(t, testUnreadableRequests) }

func testUnreadableRequests(t *testing.T, r *rig) {
	before := r.used()
	conn := r.dial()
	node, err := proto.Marshal(&corev3.Node{Id: r.pod(1).NodeID()})
	r.check(err)
	const nodeField, namesField, typeField = 2, 3, 4 // of a request; in delta node and names are fields 1 and 3, type 2
	field := func(b []byte, number protowire.Number, value string) []byte {
		return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), value)
	}
	good := func() []byte {
		if r.delta {
			return field(field(nil, 1, string(node)), 2, resource.EndpointType)
		}
		return field(field(nil, nodeField, string(node)), typeField, resource.EndpointType)
	}
	for what, message := range map[string][]byte{
		"a name that is not UTF-8": field(good(), namesField, "outbound|80||\xff\xfe"),
		"a type that is not UTF-8": field(good(), map[bool]protowire.Number{true: 2, false: typeField}[r.delta], "\xff"),
		"a field that is cut off":  append(good(), 0x1a, 0x7f, 'x'),
		"no protobuf at all":       []byte(strings.Repeat("\xff", 100)),
	} {
		stream, err := conn.NewStream(r.ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, r.method(), grpc.ForceCodec(plain{}))
		r.check(err)
		r.check(stream.SendMsg(&message))
		var answer []byte
		err = stream.RecvMsg(&answer)
		if code := status.Code(err); err == nil || code != codes.Internal && code != codes.InvalidArgument {
			t.Errorf("%s: the stream ends with %v, after %q", what, err, answer)
		}
	}
	r.change()
	r.check(conn.Close())
	r.back(before, 3e6)
}

// Requests that can be read and say what makes no sense are answered for what of them does, or not at all.
func TestOddRequests(t *testing.T) { protocols(t, testOddRequests) }

func testOddRequests(t *testing.T, r *rig) {
	before := r.used()
	c := r.connect(1, manual, func(o *xdsclient.Options) {
		o.Metadata["ANNOTATIONS"] = map[string]any{"big": strings.Repeat("x", 1<<20)}
	})
	there, other := r.mesh.Service(7).Cluster(manifests.HTTPPort), r.mesh.Service(8).Cluster(manifests.HTTPPort)
	answers := 0
	// answer waits for the next response, which must be the only one, and gives the names of its resources.
	answer := func(what, typeURL string) (nonce string, names []string) {
		t.Helper()
		answers++
		s := r.waitFor(c, what, func(s xdsclient.State) bool { return len(s.Responses) >= answers })
		last := s.Responses[len(s.Responses)-1]
		if len(s.Responses) != answers || last.GetTypeUrl() != typeURL {
			t.Fatalf("%s: %d responses, the last of %s; want %d, of %s", what, len(s.Responses), last.GetTypeUrl(), answers, typeURL)
		}
		return last.GetNonce(), slices.Sorted(slices.Values(s.Names(typeURL)))
	}
	clusters := func(nonce string) { r.check(r.send(c, resource.ClusterType, nonce)) }

	for range 100 {
		r.check(r.send(c, "", "", "x"))
		r.check(r.send(c, "type.googleapis.com/nobody.knows", "", "x"))
		r.check(r.send(c, "*", "junk"))
	}
	clusters("")
	ofClusters, _ := answer("clusters, and nothing for types that are none", resource.ClusterType)

	// The nonce of another type says nothing of this one, which is subscribed all the same.
	r.check(r.send(c, resource.EndpointType, ofClusters, there, there, there))
	ofEndpoints, names := answer("endpoints", resource.EndpointType)
	if !slices.Equal(names, []string{there}) {
		t.Errorf("endpoints of %v, want those of %s", names, there)
	}
	clusters(ofEndpoints)
	r.check(r.send(c, resource.EndpointType, ofClusters, there))
	clusters(ofClusters)
	r.check(r.send(c, resource.EndpointType, ofEndpoints, there))

	if r.delta {
		// To drop a name and to want it in one request is to want it; what it has of what it does not want is not its business.
		r.check(c.SendDelta(&discoveryv3.DeltaDiscoveryRequest{
			TypeUrl: resource.EndpointType, ResourceNamesSubscribe: []string{other}, ResourceNamesUnsubscribe: []string{other, "nobody"},
			InitialResourceVersions: map[string]string{there: "1", "nobody": "2"},
		}))
		ofEndpoints, names = answer("endpoints of a name that is dropped and wanted at once", resource.EndpointType)
		if !slices.Contains(names, other) || slices.Contains(names, "nobody") {
			t.Errorf("endpoints of %v, want those of %s too", names, other)
		}
		r.check(r.send(c, resource.EndpointType, ofEndpoints))
		r.check(c.SendDelta(&discoveryv3.DeltaDiscoveryRequest{
			TypeUrl: resource.RouteType, InitialResourceVersions: map[string]string{"nobody": fmt.Sprintf("%016x", 1), "": ""},
		}))
		answer("an answer to a first request that wants nothing and has something", resource.RouteType)
	}
	r.change()
	c.Close()
	r.back(before, 3e6)
}

// plain is a codec that leaves bytes as they are.
type plain struct{}

func (plain) Name() string                       { return "proto" }
func (plain) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (plain) Unmarshal(data []byte, v any) error { *v.(*[]byte) = slices.Clone(data); return nil }

func (r *rig) dial() *grpc.ClientConn {
	r.t.Helper()
	conn, err := grpc.NewClient(r.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	r.check(err)
	r.t.Cleanup(func() { _ = conn.Close() }) // closed already, unless the test failed
	return conn
}

// method is the protocol's.
func (r *rig) method() string {
	if r.delta {
		return discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResources_FullMethodName
	}
	return discoveryv3.AggregatedDiscoveryService_StreamAggregatedResources_FullMethodName
}
