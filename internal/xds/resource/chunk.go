package resource

import (
	"slices"
	"sync"
	"weak"

	"google.golang.org/grpc/mem"
)

// chunk is a run of resources in a set, never empty. Where a run ends is said by the names alone, so that equal runs of
// different sets are equal chunks, whatever way the sets were made.
type chunk struct {
	list    []*Resource
	sum     Sum
	claimed bool

	frames, deltaFrames func() mem.BufferSlice
}

// perChunk is how many resources a chunk has on average. The frames of that many clusters are about as much as is written to
// a connection at once.
const perChunk = 64

// begins reports whether a chunk begins with a resource of this name (FNV-1a).
func begins(name string) bool {
	h := uint32(2166136261)
	for i := range len(name) {
		h = (h ^ uint32(name[i])) * 16777619
	}
	return (h>>16)%perChunk == 0
}

func newChunk(list []*Resource) *chunk {
	c := &chunk{list: list}
	for _, r := range list {
		c.sum.Add(r)
		c.claimed = c.claimed || r.Claimed()
	}
	c.frames = sync.OnceValue(func() mem.BufferSlice { return join(c.list, false) })
	c.deltaFrames = sync.OnceValue(func() mem.BufferSlice { return join(c.list, true) })
	return c
}

// unshared makes a chunk for a set that nobody else has.
func unshared(list []*Resource) *chunk { return newChunk(slices.Clip(list)) }

// join copies frames into as few buffers as there can be. What is in pieces stays in them.
func join(list []*Resource, delta bool) mem.BufferSlice {
	var out mem.BufferSlice
	for len(list) > 0 {
		n, size := 0, 0
		for n < len(list) && len(list[n].pieces) == 0 {
			size += list[n].buffer(delta).Len()
			n++
		}
		if n <= 1 {
			out, list = list[0].appendFrame(out, delta), list[1:]
			continue
		}
		joined := make([]byte, 0, size)
		for _, r := range list[:n] {
			joined = append(joined, r.buffer(delta).ReadOnlyData()...)
		}
		out, list = append(out, mem.SliceBuffer(joined)), list[n:]
	}
	return out
}

// Frames gives the frames of resources, in order and for one of the protocols, with room for extra buffers behind them.
// Where all of a chunk of the set is among them, its frames are joined, once for all who send it. The
// set may be nil.
func (s *Set) Frames(list []*Resource, delta bool, extra int) mem.BufferSlice {
	var rest []*chunk
	size := len(list)
	if s != nil {
		rest, size = s.chunks, min(size, len(s.chunks))
	}
	out := make(mem.BufferSlice, 0, size+extra)
	for len(list) > 0 {
		first := list[0]
		for len(rest) > 0 && rest[0].list[0].name < first.name {
			rest = rest[1:]
		}
		if len(rest) > 0 && !rest[0].claimed && len(list) >= len(rest[0].list) && slices.Equal(list[:len(rest[0].list)], rest[0].list) {
			frames := rest[0].frames
			if delta {
				frames = rest[0].deltaFrames
			}
			out = append(out, frames()...)
			list, rest = list[len(rest[0].list):], rest[1:]
			continue
		}
		out, list = first.appendFrame(out, delta), list[1:]
	}
	return out
}

// chunker makes the chunks of a set, from resources and whole chunks that come in order.
type chunker struct {
	intern func([]*Resource) *chunk
	chunks []*chunk
	open   []*Resource // a chunk that more may belong to
}

func (b *chunker) add(r *Resource) {
	switch {
	case begins(r.name):
		b.close()
	case len(b.open) == 0 && len(b.chunks) > 0:
		// What was the beginning is gone: the rest belongs to the chunk before.
		last := len(b.chunks) - 1
		b.open, b.chunks = slices.Clone(b.chunks[last].list), b.chunks[:last]
	}
	b.open = append(b.open, r)
}

// keep adds a chunk whose resources are what they were.
func (b *chunker) keep(c *chunk) {
	if len(b.open)+len(b.chunks) > 0 && !begins(c.list[0].name) {
		for _, r := range c.list {
			b.add(r)
		}
		return
	}
	b.close()
	b.chunks = append(b.chunks, c)
}

// merge adds a run of resources, and those that names stand for in its place; both are sorted.
func (b *chunker) merge(run []*Resource, names []string, by map[string]*Resource) {
	for len(run) > 0 || len(names) > 0 {
		if len(names) == 0 || len(run) > 0 && run[0].name < names[0] {
			b.add(run[0])
			run = run[1:]
			continue
		}
		if len(run) > 0 && run[0].name == names[0] {
			run = run[1:]
		}
		if r := by[names[0]]; r != nil {
			b.add(r)
		}
		names = names[1:]
	}
}

func (b *chunker) close() {
	if len(b.open) > 0 {
		b.chunks = append(b.chunks, b.intern(b.open))
		b.open = nil
	}
}

func (b *chunker) set() *Set {
	b.close()
	s := &Set{chunks: b.chunks}
	var sum Sum
	for _, c := range s.chunks {
		s.len += len(c.list)
		s.claimed = s.claimed || c.claimed
		sum.AddHash(c.sum.sum)
	}
	s.version = sum.Version()
	s.list = sync.OnceValue(func() []*Resource {
		list := make([]*Resource, 0, s.len)
		for _, c := range s.chunks {
			list = append(list, c.list...)
		}
		return list
	})
	return s
}

// cursor goes through the resources of chunks.
type cursor struct {
	chunks []*chunk
	at     int
}

// chunk is the chunk that the cursor is at the beginning of, or nil.
func (c *cursor) chunk() *chunk {
	if len(c.chunks) == 0 || c.at > 0 {
		return nil
	}
	return c.chunks[0]
}

func (c *cursor) skip() { c.chunks, c.at = c.chunks[1:], 0 }

// resource is the one that the cursor is at, or nil at the end.
func (c *cursor) resource() *Resource {
	if len(c.chunks) == 0 {
		return nil
	}
	return c.chunks[0].list[c.at]
}

func (c *cursor) next() {
	if c.at++; c.at == len(c.chunks[0].list) {
		c.skip()
	}
}

// chunks interns chunks by content, as long as a set has them.
type chunks struct {
	mu      sync.Mutex
	known   map[uint64]weak.Pointer[chunk]
	sweepAt int
}

func (t *chunks) intern(list []*Resource) *chunk {
	key := uint64(14695981039346656037)
	for _, r := range list {
		key = (key ^ r.hash) * 1099511628211
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.known[key].Value(); c != nil {
		if slices.Equal(c.list, list) {
			return c
		}
		return unshared(list) // a coincidence, or a resource was freed and made again
	}
	c := unshared(list)
	if t.known == nil {
		t.known = map[uint64]weak.Pointer[chunk]{}
	}
	t.known[key] = weak.Make(c)
	if len(t.known) > max(minSweep, t.sweepAt) {
		for k, p := range t.known {
			if p.Value() == nil {
				delete(t.known, k)
			}
		}
		t.sweepAt = 2 * len(t.known)
	}
	return c
}
