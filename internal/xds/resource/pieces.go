package resource

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"weak"

	"google.golang.org/grpc/mem"

	"github.com/meshd/meshd/internal/translate"
)

// A piece is a resource without a name and without frames: it is the message alone, which is sent behind the beginning
// of each resource that it is a piece of. So large resources that have most in common are there once, and not copied.

// pieceKey tells pieces from resources that have no name.
type pieceKey struct{ key any }

// piecesOf turns a panic of a translator into an error.
func piecesOf(r translate.Recipe) (pieces *translate.Pieces, err error) {
	if r.Pieces == nil {
		return nil, nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("its translator panicked: %v", v)
		}
	}()
	return r.Pieces(), nil
}

// assemble puts a resource together. Its pieces live as long as one that has them; each was checked when it was made, and
// the identity of the whole is that of all of them in their order.
func (p *Pool) assemble(name string, pieces *translate.Pieces) (*Resource, error) {
	common := p.common(pieces.Common)
	parts := slices.Clone(common.made)
	for i, piece := range pieces.Instead {
		var err error
		if parts[i], err = p.piece(piece); err != nil {
			return nil, err
		}
	}
	size := 0
	sums := make([]byte, 0, len(parts)*len(digest{}))
	for i, part := range parts {
		if part == nil {
			return nil, common.failed[i]
		}
		size += part.size
		sums = append(sums, part.sum[:]...)
	}
	return p.store.intern(identify(name, assembled, sums), func(sum digest) *Resource {
		r := newResource(name, enclose(p.typeURL, name, nil, size), sum)
		r.pieces = parts
		return r
	}), nil
}

func (p *Pool) piece(piece translate.Piece) (*Resource, error) {
	r, _, err := p.get(translate.Recipe{Key: pieceKey{piece.Key}, Build: piece.Build})
	if err != nil {
		return nil, fmt.Errorf("a piece: %w", err)
	}
	return r, nil
}

// commons remembers what lists of pieces came to, as long as the lists are in use.
type commons struct {
	mu    sync.Mutex
	known map[weak.Pointer[translate.PieceList]]*common
}

type common struct {
	once sync.Once
	made []*Resource
	// failed says of those that could not be made why, by their index.
	failed map[int]error
}

// common gives what a list of pieces came to.
func (p *Pool) common(list *translate.PieceList) *common {
	of := weak.Make(list)
	t := &p.commons
	t.mu.Lock()
	c := t.known[of]
	if c == nil {
		if t.known == nil {
			t.known = map[weak.Pointer[translate.PieceList]]*common{}
		}
		c = &common{made: make([]*Resource, len(list.Pieces)), failed: map[int]error{}}
		t.known[of] = c
		runtime.AddCleanup(list, t.forget, of)
	}
	t.mu.Unlock()
	c.once.Do(func() {
		for i, piece := range list.Pieces {
			var err error
			if c.made[i], err = p.piece(piece); err != nil {
				c.failed[i] = err
			}
		}
	})
	return c
}

func (t *commons) forget(of weak.Pointer[translate.PieceList]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, of)
}

// appendFrame adds the buffers of a frame, for one of the protocols.
func (r *Resource) appendFrame(out mem.BufferSlice, delta bool) mem.BufferSlice {
	out = slices.Grow(out, 1+len(r.pieces))
	out = append(out, r.buffer(delta))
	for _, piece := range r.pieces {
		out = append(out, piece.frame)
	}
	return out
}

// buffer is the frame without what is in pieces.
func (r *Resource) buffer(delta bool) mem.Buffer {
	if delta {
		return r.delta
	}
	return r.frame
}
