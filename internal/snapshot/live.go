package snapshot

import "sync"

// Live is the current snapshot, for readers that follow it. There is no Live without a snapshot: "none yet" can
// therefore not be read as an empty mesh.
type Live struct {
	mu      sync.Mutex
	current *Snapshot
	changed chan struct{}
}

// NewLive starts with the first snapshot.
func NewLive(first *Snapshot) *Live {
	return &Live{current: first, changed: make(chan struct{})}
}

// Current gives the newest snapshot. It is never nil.
func (l *Live) Current() *Snapshot {
	s, _ := l.Watch()
	return s
}

// Watch gives the newest snapshot and a channel that is closed as soon as there is a newer one. Both are of one moment,
// so a reader that calls Watch, handles the snapshot, and waits for the channel misses none that stays.
func (l *Live) Watch() (*Snapshot, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current, l.changed
}

// Changes gives a channel that is closed at the next Publish. Take it before Current, or use Watch.
func (l *Live) Changes() <-chan struct{} {
	_, changed := l.Watch()
	return changed
}

// Publish makes a snapshot the current one.
func (l *Live) Publish(s *Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s == l.current {
		return
	}
	l.current = s
	close(l.changed)
	l.changed = make(chan struct{})
}
