package subscription

import (
	"iter"
	"slices"
	"strings"

	"github.com/meshd/meshd/internal/xds/resource"
)

// mark is something that is booked of a name, as a bit of a set.
type mark uint8

const (
	// resend: to be sent though it did not change.
	resend mark = 1 << iota
	// renewed: its parent was sent since it was last asked for.
	renewed
	// flying: part of the unacknowledged response.
	flying
	// refused: part of a refused one and not acknowledged since.
	refused
	// asked: if it does not exist, that has to be said (delta).
	asked
	// missing: the client has nothing of it.
	missing
	// suspect: it may have another resource than the client has.
	suspect

	// every name, whether it has marks or not.
	every = mark(0xff)
)

// want is a name that is subscribed, and what the client has of it.
type want struct {
	name  string
	sent  uint64 // hash of what was sent last, 0 for nothing
	marks mark
}

// newWant books a name of which the client has what has that hash.
func newWant(name string, sent uint64, marks mark) want {
	if sent == 0 {
		marks |= missing
	}
	return want{name: name, sent: sent, marks: marks}
}

func (w *want) is(m mark) bool { return w.marks&m != 0 }

// wants are the names that are subscribed, sorted and without duplicates. They stand in runs, each of which knows what
// marks there are in it, so that what one request or response is about is found without a look at all the others.
type wants struct {
	runs []run
	len  int
	sum  resource.Sum // of what the client has
}

// run is never empty.
type run struct {
	list  []want
	marks mark // at least those of all its names
}

// perRun bounds the names of a run. A name more moves half a run at the most, and costs a look at the others.
const perRun = 512

// newWants takes names in that are sorted and without duplicates.
func newWants(list []want) wants {
	out := wants{len: len(list), runs: make([]run, 0, (len(list)+perRun-1)/perRun)}
	for part := range slices.Chunk(list, perRun) {
		r := run{list: part}
		for i := range part {
			r.marks |= part[i].marks
			out.sum.AddHash(part[i].sent)
		}
		out.runs = append(out.runs, r)
	}
	return out
}

// with gives the names that have one of some marks, in order, and the run of each. Whoever goes on to the end may set and
// clear marks of what it gives.
func (l *wants) with(m mark) iter.Seq2[*run, *want] {
	return func(yield func(*run, *want) bool) {
		for at := range l.runs {
			r := &l.runs[at]
			if m != every && r.marks&m == 0 {
				continue
			}
			for i := range r.list {
				if (m == every || r.list[i].is(m)) && !yield(r, &r.list[i]) {
					return
				}
			}
			r.marks = 0
			for i := range r.list {
				r.marks |= r.list[i].marks
			}
		}
	}
}

// any reports whether a name has one of some marks.
func (l *wants) any(m mark) bool {
	for range l.with(m) {
		return true
	}
	return false
}

// clear takes marks from all names.
func (l *wants) clear(m mark) {
	for _, w := range l.with(m) {
		w.marks &^= m
	}
}

// find gives where a name stands, or where it would: the run, and the place in it.
func (l *wants) find(name string) (at, i int, found bool) {
	at, found = slices.BinarySearchFunc(l.runs, name, func(r run, name string) int { return strings.Compare(r.list[0].name, name) })
	if found || at == 0 {
		return at, 0, found
	}
	at--
	i, found = slices.BinarySearchFunc(l.runs[at].list, name, func(w want, name string) int { return strings.Compare(w.name, name) })
	return at, i, found
}

// mark gives a name marks, if it is there.
func (l *wants) mark(name string, m mark) bool {
	at, i, found := l.find(name)
	if found {
		l.runs[at].list[i].marks |= m
		l.runs[at].marks |= m
	}
	return found
}

// has books what the client has of a name.
func (l *wants) has(r *run, w *want, sent uint64) {
	l.sum.AddHash(sent - w.sent) // which takes out what was there: a sum of hashes wraps around
	w.sent = sent
	if w.marks &^= missing; sent == 0 {
		w.marks |= missing
		r.marks |= missing
	}
}

// add takes names in that are sorted and not there yet.
func (l *wants) add(fresh []want) {
	if len(l.runs) == 0 || len(fresh)*perRun > l.len+perRun {
		// To put all of them in order costs no more than to insert each.
		list := slices.Grow(fresh, l.len)
		for _, w := range l.with(every) {
			list = append(list, *w)
		}
		slices.SortFunc(list, func(a, b want) int { return strings.Compare(a.name, b.name) })
		*l = newWants(list)
		return
	}
	for _, w := range fresh {
		at, i, _ := l.find(w.name)
		r := &l.runs[at]
		r.list = slices.Insert(r.list, i, w)
		r.marks |= w.marks
		l.len++
		l.sum.AddHash(w.sent)
		if half := len(r.list) / 2; len(r.list) > perRun {
			rest := run{list: slices.Clone(r.list[half:]), marks: r.marks}
			r.list = slices.Clone(r.list[:half])
			l.runs = slices.Insert(l.runs, at+1, rest)
		}
	}
}

// remove drops a name, and reports whether it was there.
func (l *wants) remove(name string) bool {
	at, i, found := l.find(name)
	if !found {
		return false
	}
	r := &l.runs[at]
	l.len--
	l.sum.AddHash(-r.list[i].sent)
	if r.list = slices.Delete(r.list, i, i+1); len(r.list) == 0 {
		l.runs = slices.Delete(l.runs, at, at+1)
	}
	return true
}
