package xds

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/xds/admission"
	"github.com/meshd/meshd/internal/xds/resource"
)

// A stream more costs what a stream and its connection are, and a little for each name that it asks for, and nothing of
// what is sent on it: resources are neither copied nor marshalled for it.
func TestBytesAreShared(t *testing.T) { protocols(t, testBytesAreShared) }

func testBytesAreShared(t *testing.T, p protocol) {
	const (
		few, more = 10, 100
		ofType    = 32
		size      = 3 << 20 // of all four types, in bytes
	)
	most := uint64(64 << 10) // bytes allocated for each stream
	if raceEnabled {
		most *= 2 // the detector makes pools of buffers forgetful
	}
	r := p.rigWith(t, admission.Options{}, admission.Connections{}.ServerOptions(0)...)
	var names []string
	texts := map[string]string{}
	for i := range ofType {
		names = append(names, fmt.Sprintf("outbound|80||s%d.default.svc.cluster.local", i))
		texts[names[i]] = strings.Repeat("x", size/ofType/4)
	}
	for _, short := range []string{"cds", "eds", "lds", "rds"} {
		r.setAll(short, texts)
	}
	r.publish()
	wants := map[string][]string{resource.ClusterType: nil, resource.EndpointType: names, resource.ListenerType: nil, resource.RouteType: names}
	says := r.says(wants)
	allocated := func(streams int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range streams {
			r.discard(says, size)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	first := allocated(few)
	each := allocated(more) / more
	t.Logf("the first %d streams allocated %d KB, and each of %d more %d KB", few, first>>10, more, each>>10)
	if each > most {
		t.Errorf("each stream allocated %d bytes for a configuration of %d, want at most %d", each, size, most)
	}
}

// says is what a client sends on a connection to have all of some types, or names of them, in the bytes of HTTP/2. It
// takes all that it is sent without ever saying how much more it takes.
func (r *rig) says(wants map[string][]string) []byte {
	r.t.Helper()
	must := func(err error) {
		if err != nil {
			r.t.Fatal(err)
		}
	}
	var out, header bytes.Buffer
	out.WriteString(http2.ClientPreface)
	f := http2.NewFramer(&out, nil)
	must(f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: math.MaxInt32}))
	must(f.WriteWindowUpdate(0, math.MaxInt32-1<<16))
	method := discoveryv3.AggregatedDiscoveryService_StreamAggregatedResources_FullMethodName
	if r.delta {
		method = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResources_FullMethodName
	}
	h := hpack.NewEncoder(&header)
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", method}, {":authority", "meshd"}, {"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		must(h.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	must(f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: header.Bytes(), EndHeaders: true}))
	for typeURL, names := range wants {
		n := &corev3.Node{Id: node("discarding")}
		var m proto.Message = &discoveryv3.DiscoveryRequest{Node: n, TypeUrl: typeURL, ResourceNames: names}
		if r.delta {
			m = &discoveryv3.DeltaDiscoveryRequest{Node: n, TypeUrl: typeURL, ResourceNamesSubscribe: names}
		}
		message, err := proto.Marshal(m)
		must(err)
		must(f.WriteData(1, false, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)))
	}
	return out.Bytes()
}

// discard opens a connection that stays open, and reads what it is sent without looking at it: gRPC's own client would
// allocate more than the server does.
func (r *rig) discard(says []byte, size int64) {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		r.t.Fatal(err)
	}
	if _, err := conn.Write(says); err != nil {
		r.t.Fatal(err)
	}
	if n, err := io.CopyN(io.Discard, conn, size); err != nil {
		r.t.Fatalf("after %d bytes: %v", n, err)
	}
}
