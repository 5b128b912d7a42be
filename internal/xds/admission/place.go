package admission

import (
	"container/list"
	"context"
	"math/rand/v2"
	"time"
)

// Place is one stream's place in the queue. Wait, Sending and Yield are for the goroutine that serves the stream.
type Place struct {
	q       *Queue
	source  string
	expired chan struct{}

	// The lock of the queue guards what follows.
	needs int           // turns it still has to take
	has   bool          // a turn
	hold  *time.Timer   // ends the turn; set by the first response of it
	at    *list.Element // where it waits, in one of the queue's lists
	given chan struct{} // closed when it gets what it waits for
	age   *time.Timer   // closes expired; set by the first turn
	gone  bool
}

// Wait returns as soon as the stream has a turn, which may be the one it has already, or needs none any more. It is an
// error only if the context ends before.
func (p *Place) Wait(ctx context.Context) error {
	q := p.q
	q.mu.Lock()
	if p.has || p.needs == 0 {
		q.mu.Unlock()
		return nil
	}
	first, list := p.needs == needed, &q.begun
	if first {
		list = &q.fresh
	}
	came := time.Now()
	p.given = make(chan struct{})
	p.at = list.PushBack(p)
	q.give()
	q.mu.Unlock()
	select {
	case <-p.given:
		if first {
			q.metrics.waited.Observe(time.Since(came).Seconds())
		}
		return nil
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		if p.at != nil {
			list.Remove(p.at)
			p.at = nil
		}
		return context.Cause(ctx)
	}
}

// take gives the stream a turn. The lock is held.
func (p *Place) take() {
	if p.needs == needed && p.q.opts.MaxAge > 0 && !p.gone {
		p.age = time.AfterFunc(spread(p.q.opts.MaxAge), func() { close(p.expired) })
	}
	p.at, p.has = nil, true
	p.needs--
	p.q.turns++
	close(p.given)
}

// Sending says that a response is about to be handed to the connection: the turn ends at the latest when the client has
// not answered for the time of Options.Hold.
func (p *Place) Sending() {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	if !p.has {
		return
	}
	if p.hold != nil {
		p.hold.Stop()
	}
	turn := p.needs
	p.hold = time.AfterFunc(p.q.opts.Hold, func() {
		p.q.mu.Lock()
		defer p.q.mu.Unlock()
		if p.needs == turn { // else it is too late to stop this
			p.giveBack()
		}
	})
}

// Yield says that there is nothing to do for the stream, and so ends its turn.
func (p *Place) Yield() {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	p.giveBack()
}

// giveBack ends the turn, if there is one. The lock is held.
func (p *Place) giveBack() {
	if !p.has {
		return
	}
	p.has = false
	if p.hold != nil {
		p.hold.Stop()
		p.hold = nil
	}
	p.q.turns--
	p.q.give()
}

// Begun reports whether the stream has had a turn; before, its client was told nothing.
func (p *Place) Begun() bool {
	p.q.mu.Lock()
	defer p.q.mu.Unlock()
	return p.needs < needed
}

// Expired is closed when the stream has been served for as long as Options.MaxAge allows.
func (p *Place) Expired() <-chan struct{} { return p.expired }

// Leave says that the stream has ended. Once is enough, but more do no harm.
func (p *Place) Leave() {
	q := p.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.gone {
		return
	}
	p.gone = true
	if p.age != nil {
		p.age.Stop()
	}
	q.open--
	if q.sources[p.source]--; q.sources[p.source] == 0 {
		delete(q.sources, p.source)
	}
	p.giveBack()
}

// forever is the longest age that can be reckoned with. istiod's default is the longest time there is.
const forever = 100 * 365 * 24 * time.Hour

// spread moves a time by up to a tenth in either direction, so that streams that began together do not end together.
func spread(d time.Duration) time.Duration {
	d = min(d, forever)
	return d - d/10 + rand.N(d/5+1)
}
