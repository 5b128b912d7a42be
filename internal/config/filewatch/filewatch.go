// Package filewatch tells when files may have changed.
//
// It says only "look again": what changed is for the reader to find out, by looking. A look names what it depends
// on, and a look counts only if all of that was being watched before it began; otherwise it is taken again. So nothing
// that happens between looking and watching is lost, wherever files, directories and symlinks move.
package filewatch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// maxLooks bounds how often a look is repeated because what it depends on moved meanwhile. After that the next event,
// or the next periodic look, finds the rest.
const maxLooks = 10

// Timing says how long to wait for what. Zero values take the defaults.
type Timing struct {
	// Quiet is how long nothing must happen before it is time to look, so that half-written files are rarely seen.
	// Default 20 ms.
	Quiet time.Duration
	// Whole is Quiet for files that appear under their names all at once, because whoever wrote them moved them there; a
	// name that begins with a dot is that of a file that is still to be moved. Default Quiet: files of which several
	// belong together do not come all at once.
	Whole time.Duration
	// Limit bounds the wait for quiet. Default 500 ms.
	Limit time.Duration
	// Poll is the time between looks where the system does not tell of changes. Default 1 s.
	Poll time.Duration
	// PollOnly does without the system's announcements, which some network file systems never make.
	PollOnly bool
}

func (t Timing) withDefaults() Timing {
	if t.Quiet <= 0 {
		t.Quiet = 20 * time.Millisecond
	}
	if t.Whole <= 0 {
		t.Whole = t.Quiet
	}
	if t.Limit <= 0 {
		t.Limit = 500 * time.Millisecond
	}
	if t.Poll <= 0 {
		t.Poll = time.Second
	}
	return t
}

// Follower watches what its last look depended on. Look and Wait are for one goroutine; Fallback and Close for any.
type Follower struct {
	timing Timing
	// open makes the system's watcher; tests replace it by one that fails.
	open func() (*fsnotify.Watcher, error)

	mu       sync.Mutex
	watcher  *fsnotify.Watcher
	set      *Set
	fallback error
	closed   bool
	moved    map[string]bool
	only     map[string]bool // what happened during the last Wait was about these, or is not known; nil
	stale    bool            // a directory of the set was replaced, perhaps by one that cannot be told from it
}

// New makes a follower that watches nothing yet.
func New(timing Timing) *Follower {
	return &Follower{timing: timing.withDefaults(), open: fsnotify.NewWatcher}
}

// Look calls look, once or more, until everything that it put into its set was watched before it was called. The last
// call is the one that counts. If the system cannot watch, one call has to do, and Wait polls.
// It fails only if the context ends or the follower is closed.
func (f *Follower) Look(ctx context.Context, look func(*Set)) error {
	for range maxLooks {
		if err := ctx.Err(); err != nil {
			return err
		}
		set := NewSet()
		look(set)
		again, err := f.watch(set)
		if err != nil {
			return err
		}
		if !again {
			return nil
		}
	}
	return nil
}

// watch makes set the one that is watched, and reports whether it was not before. A new set takes a new watcher: one
// that was told of a directory which has been replaced since mixes up the old one's last events with the new one's.
func (f *Follower) watch(set *Set) (changed bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false, errors.New("the file watcher is closed")
	}
	if f.watcher != nil && !f.stale && f.set.equal(set) {
		return false, nil
	}
	f.stop()
	if f.timing.PollOnly {
		f.fallback = errors.New("polling was asked for")
		return false, nil
	}
	watcher, err := f.open()
	if err != nil {
		f.fallback = fmt.Errorf("changes of files are not announced: %w", err)
		return false, nil
	}
	for path := range set.dirs {
		// A directory that is gone is found by the next call, which follows because the set is new. One that must not
		// be read has nothing to tell; its parent tells when that changes.
		if err := watcher.Add(path); err != nil && !isGone(err) && !errors.Is(err, fs.ErrPermission) {
			f.fallback = fmt.Errorf("changes in %s are not announced: %w", path, err)
			_ = watcher.Close()
			return false, nil
		}
	}
	f.watcher, f.set, f.fallback = watcher, set, nil
	return true, nil
}

// Wait returns when something that the last look depended on happened and then nothing more for the quiet time, or
// after atMost. It fails only if the context ends.
func (f *Follower) Wait(ctx context.Context, quiet, atMost time.Duration) error {
	f.mu.Lock()
	watcher, set := f.watcher, f.set
	f.moved, f.only = map[string]bool{}, map[string]bool{}
	f.mu.Unlock()
	whole := f.timing.Whole // while nothing else happened than that files appeared
	if quiet > f.timing.Quiet {
		whole = quiet
	}
	quiet = max(quiet, f.timing.Quiet)
	if watcher == nil {
		watcher = &fsnotify.Watcher{} // its channels are nil: only time passes
		atMost = min(atMost, f.timing.Poll)
	}
	end := time.NewTimer(atMost)
	defer end.Stop()
	var calm <-chan time.Time
	var first time.Time
	happened := func(appeared, hidden bool) {
		now := time.Now()
		if first.IsZero() {
			first = now
		}
		wait := quiet
		switch {
		case appeared:
			wait = whole
		case !hidden:
			whole = quiet
		}
		left := first.Add(max(f.timing.Limit, quiet)).Sub(now)
		calm = time.After(min(wait, max(left, 0)))
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			if calm == nil {
				f.unsure()
				return nil
			}
		case <-calm:
			return nil
		case event, ok := <-watcher.Events:
			if !ok {
				return f.ended(ctx)
			}
			if set.about(event.Name) {
				f.note(event, set)
				hidden := strings.HasPrefix(filepath.Base(event.Name), ".")
				happened(event.Op == fsnotify.Create && !hidden, hidden)
			}
		case _, ok := <-watcher.Errors:
			if !ok {
				return f.ended(ctx)
			}
			f.unsure()
			happened(false, false) // most likely an overflow: what was lost is found by looking
		}
	}
}

func (f *Follower) note(event fsnotify.Event, set *Set) {
	switch {
	case !set.whole(event.Name):
		f.unsure()
	case f.only != nil:
		f.only[event.Name] = true
	}
	if event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename) || event.Has(fsnotify.Create) {
		f.mu.Lock()
		f.moved[event.Name] = true
		f.stale = f.stale || f.set != nil && f.set.dirs[event.Name] != nil
		f.mu.Unlock()
	}
}

// unsure books that something may have happened that is not known. It is for the goroutine that waits.
func (f *Follower) unsure() { f.only = nil }

// Only gives the real paths of all that happened during the last Wait; false if there may be more. They are names in
// directories that are watched whole, and nothing says what is there: a file, something else, or nothing any more. As
// long as no directory or link is among them, no look is needed for all of the rest. It is for the goroutine that waits.
func (f *Follower) Only() ([]string, bool) {
	return slices.Sorted(maps.Keys(f.only)), f.only != nil
}

// Moved reports whether the last Wait saw something come or go under that real path. Comparing identities does not
// tell: file systems give the number of a file that is gone to the next one.
func (f *Follower) Moved(path string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.moved[path]
}

// ended waits for what must follow when the watcher was closed beneath a Wait.
func (f *Follower) ended(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// Fallback says why the follower polls, or is nil if the system announces changes.
func (f *Follower) Fallback() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fallback
}

// Close stops watching. It may be called more than once.
func (f *Follower) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.stop()
}

func (f *Follower) stop() {
	if f.watcher != nil {
		_ = f.watcher.Close()
		f.watcher, f.set, f.stale = nil, nil, false
	}
}
