package snapshot

import (
	"hash/maphash"
	"runtime"
	"slices"
	"sync"
	"weak"
)

// interner gives equal Inbounds one pointer for as long as somebody holds it, also across snapshots. It holds none
// itself, so that what no snapshot and no class refers to any more can be freed.
type interner struct {
	seed maphash.Seed
	none *Inbound

	mu    sync.Mutex
	known map[uint64][]weak.Pointer[Inbound]
}

func newInterner() *interner {
	return &interner{seed: maphash.MakeSeed(), none: &Inbound{}, known: map[uint64][]weak.Pointer[Inbound]{}}
}

// inbound gives the Inbound of these targets. Services are compared by pointer: they are interned themselves.
func (n *interner) inbound(targets []InboundTarget) *Inbound {
	if len(targets) == 0 {
		return n.none
	}
	var h maphash.Hash
	h.SetSeed(n.seed)
	for _, t := range targets {
		maphash.WriteComparable(&h, t)
	}
	sum := h.Sum64()

	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.known[sum] {
		if in := w.Value(); in != nil && slices.Equal(in.Targets, targets) {
			return in
		}
	}
	in := &Inbound{Targets: targets}
	n.known[sum] = append(n.known[sum], weak.Make(in))
	runtime.AddCleanup(in, n.forget, sum)
	return in
}

// forget removes what has been freed.
func (n *interner) forget(sum uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	left := slices.DeleteFunc(n.known[sum], func(w weak.Pointer[Inbound]) bool { return w.Value() == nil })
	if len(left) == 0 {
		delete(n.known, sum)
		return
	}
	n.known[sum] = left
}
