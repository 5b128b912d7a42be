package debounce

import (
	"context"
	"time"

	"github.com/meshd/meshd/internal/config"
)

// Loop feeds the debouncer from config.Changes and hands its batches on.
type Loop struct {
	changes *config.Changes
	opts    Options
	emit    func(context.Context, Batch) error
}

// NewLoop makes a loop that does nothing before Run. emit is called from Run, one call at a time; what comes meanwhile
// merges. The error is that of Options.Validate.
func NewLoop(changes *config.Changes, opts Options, emit func(context.Context, Batch) error) (*Loop, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	return &Loop{changes: changes, opts: opts, emit: emit}, nil
}

// Run goes on until the context ends, or emit fails, whose error it returns. Call it once the source has loaded
// everything, so that the first batch holds all of it.
func (l *Loop) Run(ctx context.Context) error {
	d, err := New(l.opts)
	if err != nil {
		return err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		// Everything that came is in before a batch is given out, also what came while emit ran.
		came, waiting := l.changes.Since()
		changes, upTo := l.changes.Take()
		now := time.Now()
		if !waiting {
			came = now
		}
		d.Add(now, came, changes, upTo)
		if b, ok := d.Take(now); ok {
			if err := l.emit(ctx, b); err != nil {
				return err
			}
			continue
		}
		var due <-chan time.Time
		if at, waiting := d.Due(); waiting {
			timer.Reset(at.Sub(now))
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.changes.Ready():
		case <-due:
		}
	}
}
