// Package debounce merges changes until they stop coming for a moment.
//
// Changes of endpoints have a window of their own, so that a dead address never waits for configuration to settle.
package debounce

import (
	"fmt"
	"time"

	"github.com/meshd/meshd/internal/model"
)

// Options are the two windows. Quiet is how long nothing may come before a batch is given out, Max how long the first
// change waits at the most.
type Options struct {
	// Quiet and Max are for changes of configuration.
	Quiet, Max time.Duration
	// EndpointQuiet and EndpointMax are for changes of endpoints only.
	EndpointQuiet, EndpointMax time.Duration
	// First replaces Quiet and EndpointQuiet until the first batch was given out. At start everything is loaded before
	// anyone asks for it, so there is nothing to wait for; who configures a window by hand wants it there too.
	First time.Duration
}

// Defaults are Istio's windows for configuration (PILOT_DEBOUNCE_AFTER 100 ms, PILOT_DEBOUNCE_MAX 10 s), meshd's own
// for endpoints, and none for the first batch.
func Defaults() Options {
	return Options{
		Quiet: 100 * time.Millisecond, Max: 10 * time.Second,
		EndpointQuiet: 10 * time.Millisecond, EndpointMax: 100 * time.Millisecond,
	}
}

// Validate refuses windows that would hold changes back for ever or make no sense.
func (o Options) Validate() error {
	if o.Quiet < 0 || o.Max < 0 || o.EndpointQuiet < 0 || o.EndpointMax < 0 || o.First < 0 {
		return fmt.Errorf("debounce: a window is negative: %+v", o)
	}
	if o.Quiet > o.Max {
		return fmt.Errorf("debounce: the quiet time %v is longer than the longest wait %v", o.Quiet, o.Max)
	}
	if o.EndpointQuiet > o.EndpointMax {
		return fmt.Errorf("debounce: the quiet time for endpoints %v is longer than their longest wait %v",
			o.EndpointQuiet, o.EndpointMax)
	}
	return nil
}

// Batch is a merged set of changes.
type Batch struct {
	Changes map[model.Change]struct{}
	// UpTo is how many changes, counted as config.Changes counts them, are in this batch or one before it. It never
	// decreases, and does not count changes that are given out early while an older one still waits.
	UpTo uint64
	// EndpointsOnly says that nothing else than endpoints changed.
	EndpointsOnly bool
	// First and Last are when the first of the changes came, and when the last was taken in.
	First, Last time.Time
}

// window is a set of changes that waits.
type window struct {
	changes     map[model.Change]struct{}
	first, last time.Time
	// came is when the first change came, which is before it was taken in if others were being compiled then.
	came time.Time
	// before is the count of changes that came before the first one here.
	before uint64
}

func (w *window) empty() bool { return len(w.changes) == 0 }

func (w *window) add(now, came time.Time, c model.Change, before uint64) {
	if w.changes == nil {
		w.changes, w.first, w.came, w.before = map[model.Change]struct{}{}, now, came, before
	}
	w.changes[c] = struct{}{}
	w.last = now
}

// due is when the window closes if nothing more comes.
func (w *window) due(quiet, longest time.Duration) time.Time {
	due, end := w.last.Add(quiet), w.first.Add(longest)
	if end.Before(due) {
		return end
	}
	return due
}

// Debouncer is the algorithm, without timers and goroutines: it is told the time. It is not safe for concurrent use.
type Debouncer struct {
	opts      Options
	config    window
	endpoints window
	upTo      uint64 // changes that were added
	started   bool   // the first batch was given out
}

// New makes an empty debouncer. The error is that of Options.Validate.
func New(opts Options) (*Debouncer, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	return &Debouncer{opts: opts}, nil
}

// Add takes changes in at the time now, which is not before an earlier call's; the first of them came at the time came.
// upTo counts all changes so far, these included.
func (d *Debouncer) Add(now, came time.Time, changes map[model.Change]struct{}, upTo uint64) {
	for c := range changes {
		if c.What == model.AspectEndpoints {
			d.endpoints.add(now, came, c, d.upTo)
		} else {
			d.config.add(now, came, c, d.upTo)
		}
	}
	d.upTo = max(d.upTo, upTo)
}

// Due says when the next batch is to be taken; false while nothing waits.
func (d *Debouncer) Due() (time.Time, bool) {
	due, waiting := d.configDue()
	if at, ok := d.endpointsDue(); ok && (!waiting || at.Before(due)) {
		due, waiting = at, true
	}
	return due, waiting
}

func (d *Debouncer) configDue() (time.Time, bool) {
	quiet := d.opts.Quiet
	if !d.started {
		quiet = d.opts.First
	}
	return d.config.due(quiet, max(d.opts.Max, quiet)), !d.config.empty()
}

func (d *Debouncer) endpointsDue() (time.Time, bool) {
	quiet := d.opts.EndpointQuiet
	if !d.started {
		quiet = d.opts.First
	}
	return d.endpoints.due(quiet, max(d.opts.EndpointMax, quiet)), !d.endpoints.empty()
}

// Take gives the batch that is due at the time now, if there is one. When configuration is due everything goes with
// it; when only endpoints are, configuration goes on waiting.
func (d *Debouncer) Take(now time.Time) (Batch, bool) {
	if at, ok := d.configDue(); ok && !now.Before(at) {
		return d.takeAll(), true
	}
	if at, ok := d.endpointsDue(); ok && !now.Before(at) {
		if d.config.empty() {
			return d.takeAll(), true
		}
		b := Batch{
			Changes: d.endpoints.changes, UpTo: d.config.before, EndpointsOnly: true,
			First: d.endpoints.came, Last: d.endpoints.last,
		}
		d.endpoints = window{}
		d.started = true
		return b, true
	}
	return Batch{}, false
}

func (d *Debouncer) takeAll() Batch {
	b := Batch{Changes: map[model.Change]struct{}{}, UpTo: d.upTo, EndpointsOnly: d.config.empty()}
	for _, w := range []*window{&d.config, &d.endpoints} {
		if w.empty() {
			continue
		}
		if b.First.IsZero() || w.came.Before(b.First) {
			b.First = w.came
		}
		if w.last.After(b.Last) {
			b.Last = w.last
		}
		for c := range w.changes {
			b.Changes[c] = struct{}{}
		}
		*w = window{}
	}
	d.started = true
	return b
}
