package snapshot

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
)

// Publisher compiles batches of changes, publishes the snapshots, and knows how many changes are in them. The live
// snapshot is to be had only from Wait, so nobody can read one before what it waits for is compiled.
type Publisher struct {
	log      *zap.Logger
	announce func(*Snapshot)

	// compiling is held while a batch is compiled; mu never is.
	compiling sync.Mutex
	compiler  *Compiler

	mu       sync.Mutex
	live     *Live
	compiled uint64
	failed   uint64
	// advanced is closed when compiled or live changed.
	advanced chan struct{}
}

// NewPublisher makes a publisher that has compiled nothing. announce is called with each new snapshot before anybody can
// read it.
func NewPublisher(compiler *Compiler, log *zap.Logger, announce func(*Snapshot)) *Publisher {
	return &Publisher{compiler: compiler, log: log, announce: announce, advanced: make(chan struct{})}
}

// Compile compiles a batch and publishes the snapshot. The first one reads everything, so an empty batch makes the
// first snapshot of empty stores. upTo is how many changes are in this batch or were in one before (config.Changes
// counts them).
//
// An error, or a panic of the compiler, leaves the last snapshot in force and does not count the batch as compiled; it
// has been logged when Compile returns, unless the context ended. Nothing is lost: the next batch compiles everything
// afresh.
func (p *Publisher) Compile(ctx context.Context, token config.Synced, changes map[model.Change]struct{}, upTo uint64) error {
	p.compiling.Lock()
	defer p.compiling.Unlock()
	next, err := p.try(ctx, token, changes)

	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && ctx.Err() != nil {
		return err // it was told to stop, which is no failure
	}
	if err != nil {
		p.failed++
		p.log.Error("the configuration could not be compiled, the last good one stays in force",
			zap.Error(err), zap.Int("changes", len(changes)), zap.Uint64("failures", p.failed))
		return err
	}
	if p.live == nil || p.live.Current() != next {
		p.announce(next)
	}
	if p.live == nil {
		p.live = NewLive(next)
	} else {
		p.live.Publish(next)
	}
	p.compiled = max(p.compiled, upTo)
	close(p.advanced)
	p.advanced = make(chan struct{})
	return nil
}

func (p *Publisher) try(ctx context.Context, token config.Synced, changes map[model.Change]struct{}) (s *Snapshot, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("compile a snapshot: panic: %v\n%s", v, debug.Stack())
		}
	}()
	return p.compiler.Compile(ctx, token, changes)
}

// Compiled counts the changes that are in the live snapshot or one before it.
func (p *Publisher) Compiled() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.compiled
}

// Failed counts the batches that could not be compiled.
func (p *Publisher) Failed() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// Wait waits until n changes are compiled, and there is a snapshot, and gives the live one. To be ready only with
// everything, take n from config.Changes when the source has synced. The error names how far it came.
func (p *Publisher) Wait(ctx context.Context, n uint64) (*Live, error) {
	for {
		p.mu.Lock()
		live, compiled, advanced := p.live, p.compiled, p.advanced
		p.mu.Unlock()
		if live != nil && compiled >= n {
			return live, nil
		}
		select {
		case <-advanced:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the snapshot: %d of %d changes are compiled: %w", compiled, n, ctx.Err())
		}
	}
}
