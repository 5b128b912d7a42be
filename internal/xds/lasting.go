package xds

import (
	"sync"
	"weak"
)

// lasting finds the newest class of a key that somebody still has, however many generations nobody asked for it: what
// cannot be made now stays as it was there. All generations that follow each other have one.
type lasting struct {
	mu      sync.Mutex
	classes map[classKey]lastingClass
	sweepAt int
}

type lastingClass struct {
	number uint64 // of its generation
	class  weak.Pointer[class]
}

// minLasting is how many are remembered before it is worth a look which of them nobody has any more.
const minLasting = 256

func newLasting() *lasting {
	return &lasting{classes: map[classKey]lastingClass{}, sweepAt: minLasting}
}

// get gives a class that is not newer than a generation, or nil. One of its own is what the generation forgot because it
// had too many.
func (l *lasting) get(k classKey, number uint64) *class {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.classes[k]; known.number <= number {
		return known.class.Value()
	}
	return nil
}

// put remembers a class, unless a newer one is known: streams that are late still make those of older generations.
func (l *lasting) put(k classKey, number uint64, c *class) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.classes[k].number > number {
		return
	}
	l.classes[k] = lastingClass{number, weak.Make(c)}
	if len(l.classes) <= l.sweepAt {
		return
	}
	for k, known := range l.classes {
		if known.class.Value() == nil {
			delete(l.classes, k)
		}
	}
	l.sweepAt = max(minLasting, 2*len(l.classes))
}
