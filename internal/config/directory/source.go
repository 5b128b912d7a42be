// Package directory reads a folder of Kubernetes manifests into the stores and keeps them up to date.
//
// It stands in for an API server: the same objects, the same stores, another origin. A file is taken as a whole or not
// at all, and what cannot be read now stays what it was: a folder that vanishes must not empty the mesh.
package directory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/config/filewatch"
)

const (
	// rescan is the time between looks that nothing asked for: events can be lost, and some file systems send none.
	rescan = 30 * time.Second
	// still is the quiet time: each file stands alone, and one that is found empty or in the writing is waited for.
	still = 10 * time.Millisecond
	// whole is that after files were moved into place.
	whole = 2 * time.Millisecond
	// returning is the quiet time while the directory is gone: one that comes back is filled file by file.
	returning = 250 * time.Millisecond
	// emptyGrace is how long a file must stay empty to be believed: many programs empty a file before they write it.
	emptyGrace = 500 * time.Millisecond
	// soon is when to look again at what was being written.
	soon = 100 * time.Millisecond
	// reportEvery is the time between two reports of a long look.
	reportEvery = time.Second
)

// Options are what a Source needs besides the directory. Stores, Log and Registerer are required.
type Options struct {
	Stores     *config.Stores
	Log        *zap.Logger
	Registerer prometheus.Registerer
	// Progress is told how far a long load is, about once a second as long as it gets further. Default: the log, which
	// is where later looks that take as long say it.
	Progress func(ctx context.Context, what string)
	// Timing of the file watcher.
	Timing filewatch.Timing
	// Rescan is the time between looks that no event asked for. Default 30 s.
	Rescan time.Duration
}

// Source fills the stores from a directory. Use Load once, then Run, and Close at the end.
type Source struct {
	dir      string
	opts     Options
	follower *filewatch.Follower
	metrics  *metrics
	status   atomic.Pointer[Status]
	// reportEvery is the constant of that name, unless a test cannot wait that long.
	reportEvery time.Duration

	// busy is held by Load and Run, and guards the rest.
	busy   sync.Mutex
	loaded bool
	root   os.FileInfo
	tree   listing   // as it was last seen
	looked time.Time // when all of it was
	files  map[string]*file
	claims *claims
	// known are the present problems by identity; away is why the whole directory cannot be read, if so.
	known map[Problem]Problem
	away  error
	since time.Time
	again time.Duration
	scans uint64
}

// file is what is known of one manifest.
type file struct {
	reading
	content *content  // the last good one; nil if there was none
	bad     error     // why the present content is not used
	emptied time.Time // when the file was first seen empty, while its content is still in use
	moving  time.Time // when the file was first seen being written to, while it still is
}

// New makes a source for a directory. It reads nothing yet. It fails if an argument is missing or the metrics are
// registered already.
func New(dir string, opts Options) (*Source, error) {
	if dir == "" {
		return nil, errors.New("directory source: no directory: give one with --dir")
	}
	if opts.Stores == nil || opts.Log == nil || opts.Registerer == nil {
		return nil, errors.New("directory source: stores, logger and metrics registerer are required")
	}
	if opts.Progress == nil {
		opts.Progress = func(_ context.Context, what string) { opts.Log.Info(what) }
	}
	if opts.Rescan <= 0 {
		opts.Rescan = rescan
	}
	if opts.Timing.Quiet <= 0 && opts.Timing.Whole <= 0 {
		opts.Timing.Quiet, opts.Timing.Whole = still, whole
	}
	m, err := newMetrics(opts.Registerer)
	if err != nil {
		return nil, err
	}
	s := &Source{
		dir: dir, opts: opts, metrics: m, follower: filewatch.New(opts.Timing),
		reportEvery: reportEvery, files: map[string]*file{}, claims: newClaims(), known: map[Problem]Problem{},
	}
	s.status.Store(&Status{Directory: dir, Watching: "not yet"})
	return s, nil
}

// Load reads the whole directory once and hands out the token that proves it. Changes are watched from before the
// first read, so that Run misses none. Bad files are left out and reported; a directory that cannot be read at all is
// an error that names --dir.
func (s *Source) Load(ctx context.Context) (config.Synced, error) {
	if !s.busy.TryLock() {
		return config.Synced{}, fmt.Errorf("directory source %s: it is being loaded, or runs", s.dir)
	}
	defer s.busy.Unlock()
	if s.loaded {
		return config.Synced{}, fmt.Errorf("directory source %s: it was loaded before", s.dir)
	}
	start := time.Now()
	if err := s.scan(ctx); err != nil {
		return config.Synced{}, err
	}
	status := s.Status()
	s.opts.Log.Info("directory loaded", zap.String("dir", s.dir), zap.Int("files", status.Files), zap.Int("documents", status.Documents),
		zap.Any("objects", status.Objects), zap.Any("skipped", status.Skipped), zap.Int("problems", len(status.Problems)),
		zap.String("watching", status.Watching), zap.Duration("took", time.Since(start)))
	return s.opts.Stores.MarkSynced(), nil
}

// Run follows the directory until the context ends, which is no error. It needs a Load before it.
func (s *Source) Run(ctx context.Context) error {
	if !s.busy.TryLock() {
		return fmt.Errorf("directory source %s: it is being loaded, or runs", s.dir)
	}
	defer s.busy.Unlock()
	if !s.loaded {
		return fmt.Errorf("directory source %s: run before it was loaded", s.dir)
	}
	for {
		quiet, atMost := time.Duration(0), s.opts.Rescan
		if s.away != nil {
			quiet = returning
		}
		if s.again > 0 {
			atMost = min(atMost, s.again)
		}
		if s.follower.Wait(ctx, quiet, atMost) != nil {
			return nil
		}
		err, enough := error(nil), false
		if paths, known := s.follower.Only(); known && time.Since(s.looked) < s.opts.Rescan {
			enough, err = s.glance(ctx, paths)
		}
		if !enough && err == nil {
			err = s.scan(ctx)
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// Close stops watching. It may be called more than once, and after a Load without a Run.
func (s *Source) Close() { s.follower.Close() }

// Status gives the present state. It may be called at any time.
func (s *Source) Status() Status { return *s.status.Load() }

// Degraded says what cannot be read any more although it is served, or is nil. What could never be read is a problem
// and no more: nothing that is served is out of date. The same goes for a bad edit, though the file keeps its last good
// content: whoever made it is told by log, page and metric, and nothing is wrong with the directory.
func (s *Source) Degraded() error {
	if d := s.Status().Degraded; d != "" {
		return errors.New(d)
	}
	return nil
}
