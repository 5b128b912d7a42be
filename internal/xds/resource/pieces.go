package resource

import (
	"crypto/sha256"
	"fmt"

	"github.com/meshd/meshd/internal/translate"
)

// pieceKey tells pieces from resources that have no name.
type pieceKey struct{ key any }

// piecesOf turns a panic of a translator into an error.
func piecesOf(r translate.Recipe) (pieces []translate.Piece, err error) {
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

// assemble puts a resource together. Its pieces are resources without a name, which live as long as one that has them;
// each was checked when it was made, and the identity of the whole is that of all of them in their order.
func (p *Pool) assemble(name string, pieces []translate.Piece) (*Resource, error) {
	made, parts := make([]*Resource, len(pieces)), make([][]byte, len(pieces))
	h := sha256.New()
	h.Write([]byte(name))
	h.Write([]byte{1}) // a whole one has 0
	for i, piece := range pieces {
		r, _, err := p.get(translate.Recipe{Key: pieceKey{piece.Key}, Build: piece.Build})
		if err != nil {
			return nil, fmt.Errorf("resource %q: a piece: %w", name, err)
		}
		h.Write(r.sum[:])
		made[i], parts[i] = r, r.message()
	}
	var sum digest
	h.Sum(sum[:0])
	return p.store.intern(name, enclose(p.typeURL, name, parts), sum, made), nil
}

// message is the serialised message, without the Any around it.
func (r *Resource) message() []byte {
	b := r.frame.ReadOnlyData()
	return b[len(b)-r.body:]
}
