package logging

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap/zapcore"
)

// Default is the name under which the level is shown and set that components have without one of their own.
const Default = "default"

// Control holds the levels in force, which can be changed while the process runs. It is safe for concurrent use.
type Control struct {
	components []string
	first      Levels // those of the start

	mu  sync.Mutex // held while they are changed
	now atomic.Pointer[Levels]
}

// NewControl begins with some levels. components are the names that there are: others are refused, because a level of
// nobody looks like one that works. The error names them.
func NewControl(first Levels, components []string) (*Control, error) {
	c := &Control{components: slices.Sorted(slices.Values(components)), first: first}
	if err := c.check(first); err != nil {
		return nil, err
	}
	c.now.Store(&first)
	return c, nil
}

// Levels gives those in force.
func (c *Control) Levels() Levels { return *c.now.Load() }

// Components lists the names that may have a level, sorted.
func (c *Control) Components() []string { return c.components }

// Set changes the levels that some others name, in the form of ParseLevels, and leaves the rest as it is. On an error
// nothing is changed.
func (c *Control) Set(spec string) error {
	change, err := ParseLevels(spec)
	if err != nil {
		return err
	}
	if err := c.check(change); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.Levels()
	next.named = maps.Clone(next.named)
	if next.named == nil {
		next.named = map[string]zapcore.Level{}
	}
	maps.Copy(next.named, change.named)
	if change.general {
		next.fallback, next.general = change.fallback, true
	}
	c.now.Store(&next)
	return nil
}

// Reset goes back to the levels of the start.
func (c *Control) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Store(&c.first)
}

// check refuses levels for components that there are not. A part of a component ("xds.push") is one.
func (c *Control) check(levels Levels) error {
	for _, name := range levels.Named() {
		component, _, _ := strings.Cut(name, ".")
		if !slices.Contains(c.components, component) {
			return fmt.Errorf("there is no component %q: want one of %s, or %s", name, strings.Join(c.components, ", "), Default)
		}
	}
	return nil
}

// levelName is how a level is written.
func levelName(l zapcore.Level) string {
	if l == silent {
		return "none"
	}
	return l.String()
}
