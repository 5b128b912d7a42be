package swarm

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// buffers are what is received into. gRPC's own pool clears each buffer that is taken from it, which costs as much as
// all else that a client of a swarm does with a response.
type buffers struct{ frames sync.Pool }

var _ mem.BufferPool = (*buffers)(nil)

// frameSize is the most that one frame of HTTP/2 has, in bytes (RFC 9113, 4.2).
const frameSize = 16 << 10

func newBuffers() *buffers {
	return &buffers{sync.Pool{New: func() any {
		b := make([]byte, frameSize)
		return &b
	}}}
}

// Get gives a buffer with any content.
func (p *buffers) Get(length int) *[]byte {
	if length > frameSize {
		b := make([]byte, length)
		return &b
	}
	b := p.frames.Get().(*[]byte)
	*b = (*b)[:length]
	return b
}

// Put takes a buffer back.
func (p *buffers) Put(b *[]byte) {
	if cap(*b) == frameSize {
		p.frames.Put(b)
	}
}
