package swarm

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// frame is a response that is not decoded, in the buffers that it came in. Whoever received it frees it.
type frame struct{ mem.BufferSlice }

// codec writes requests as gRPC does, and leaves responses as they came.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(protocodec.Name)} }

func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("a client of the swarm receives frames, not a %T", v)
	}
	data.Ref()
	f.BufferSlice = data
	return nil
}
