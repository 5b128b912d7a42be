package xds

import (
	"slices"
	"sync"

	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// Codec is the codec that a gRPC server must be made with (grpc.ForceServerCodecV2) to serve xDS. A response is sent
// as the frames of its resources, shared by all streams, and a tail of a few bytes; every other message is left to
// gRPC's ordinary proto codec.
func Codec() encoding.CodecV2 {
	return codec{encoding.GetCodecV2(protocodec.Name), &sync.Pool{New: func() any { return new([]byte) }}}
}

type codec struct {
	encoding.CodecV2
	// scratch holds *[]byte that requests of several buffers are put together in. gRPC's own pool clears what it gives.
	scratch *sync.Pool
}

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	in, ok := v.(*incoming)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	if len(data) == 1 {
		return in.read(data[0].ReadOnlyData())
	}
	scratch := c.scratch.Get().(*[]byte)
	defer c.scratch.Put(scratch)
	*scratch = slices.Grow((*scratch)[:0], data.Len())[:data.Len()]
	data.CopyTo(*scratch)
	return in.read(*scratch)
}

func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	if m, ok := v.(wireMessage); ok {
		return mem.BufferSlice(m), nil
	}
	return c.CodecV2.Marshal(v)
}

// wireMessage is a message that is serialised already.
type wireMessage mem.BufferSlice

// The fields of a DiscoveryResponse beside its resources. A DeltaDiscoveryResponse has the same, and one more.
const (
	versionField protowire.Number = 1
	typeURLField protowire.Number = 4
	nonceField   protowire.Number = 5
	removedField protowire.Number = 6
)

// encodeSotW writes a response of the state-of-the-world protocol. Fields of a message may come in any order, so what
// differs per stream comes last. What is of a set, which may be nil, is sent in that set's larger buffers.
func encodeSotW(r subscription.Response, of *resource.Set) wireMessage {
	return wireMessage(append(of.Frames(r.Resources, false, 1), mem.SliceBuffer(tail(r))))
}

// encodeDelta writes a response of the delta protocol.
func encodeDelta(r subscription.Response, of *resource.Set) wireMessage {
	end := tail(r)
	for _, name := range r.Removed {
		end = protowire.AppendTag(end, removedField, protowire.BytesType)
		end = protowire.AppendString(end, name)
	}
	return wireMessage(append(of.Frames(r.Resources, true, 1), mem.SliceBuffer(end)))
}

// tail is what both protocols have beside resources.
func tail(r subscription.Response) []byte {
	var tail []byte
	tail = protowire.AppendTag(tail, versionField, protowire.BytesType)
	tail = protowire.AppendString(tail, r.Version)
	tail = protowire.AppendTag(tail, typeURLField, protowire.BytesType)
	tail = protowire.AppendString(tail, r.Type.URL)
	tail = protowire.AppendTag(tail, nonceField, protowire.BytesType)
	return protowire.AppendString(tail, r.Nonce)
}
