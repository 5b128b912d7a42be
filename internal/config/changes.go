package config

import (
	"sync"
	"time"

	"github.com/meshd/meshd/internal/model"
)

// Changes merges changes until someone takes them, and counts what came in. It never blocks and never drops.
type Changes struct {
	mu      sync.Mutex
	pending map[model.Change]struct{}
	added   uint64
	since   time.Time // of the oldest one pending
	ready   chan struct{}
}

// NewChanges makes an empty set.
func NewChanges() *Changes {
	return &Changes{pending: map[model.Change]struct{}{}, ready: make(chan struct{}, 1)}
}

// Add merges a change in. It is a Sink.
func (c *Changes) Add(change model.Change) {
	c.mu.Lock()
	if len(c.pending) == 0 {
		c.since = time.Now()
	}
	c.pending[change] = struct{}{}
	c.added++
	c.mu.Unlock()
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// Added counts the changes added so far, merged or not. A snapshot made from everything that Take gave up to a count
// has compiled that many.
func (c *Changes) Added() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.added
}

// Ready receives once or more after changes were added. A receiver calls Take; it may find nothing.
func (c *Changes) Ready() <-chan struct{} { return c.ready }

// Since says when the oldest of the changes came that wait to be taken; false if none do.
func (c *Changes) Since() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.since, len(c.pending) > 0
}

// Take gives the merged changes, leaves none behind, and says how many had been added when it did.
func (c *Changes) Take() (changes map[model.Change]struct{}, upTo uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changes, c.pending = c.pending, map[model.Change]struct{}{}
	return changes, c.added
}
