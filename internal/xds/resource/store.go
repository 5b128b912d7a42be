package resource

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"weak"

	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/translate"
)

// Failure is a recipe that did not come to a resource.
type Failure struct {
	Flavor  model.Flavor
	TypeURL string
	Name    string
	Err     error
}

// Stats counts what a store did since it was made.
type Stats struct {
	// Generated counts the resources that were built, Reused the requests that were answered with one built before.
	Generated, Reused uint64
	// Failed counts the recipes that did not come to a resource.
	Failed uint64
	// Interned counts the resources that were built although equal bytes were there already.
	Interned uint64
}

// Store interns resources by content. One store serves all generators, through a pool for each.
// It is safe for concurrent use.
type Store struct {
	check Check

	generated, reused, failed, interned atomic.Uint64

	chunks chunks

	mu      sync.Mutex
	content map[digest]weak.Pointer[Resource]
	sweepAt int
}

// Check tells why a client would refuse a resource, which is given serialised too; nil if it would not, as far as that can
// be told. It may be called from any goroutine.
type Check func(m proto.Message, serialised []byte) error

// NewStore makes an empty store. What check refuses does not become a resource; nil refuses nothing.
func NewStore(check Check) *Store {
	return &Store{check: check, content: map[digest]weak.Pointer[Resource]{}, sweepAt: minSweep}
}

// Stats gives the counts of this moment.
func (s *Store) Stats() Stats {
	return Stats{
		Generated: s.generated.Load(), Reused: s.reused.Load(),
		Failed: s.failed.Load(), Interned: s.interned.Load(),
	}
}

// minSweep is the size below which looking for dead entries is not worth it. Above it, a table is swept when it has
// twice the entries that the last sweep left, so that sweeping costs a constant share of what filled the table.
const minSweep = 256

// intern gives the resource of that content, this one or an equal one made before.
func (s *Store) intern(sum digest, create func(digest) *Resource) *Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.content[sum].Value(); r != nil {
		s.interned.Add(1)
		return r
	}
	r := create(sum)
	s.content[sum] = weak.Make(r)
	if len(s.content) > s.sweepAt {
		for k, p := range s.content {
			if p.Value() == nil {
				delete(s.content, k)
			}
		}
		s.sweepAt = max(minSweep, 2*len(s.content))
	}
	return r
}

// Pool makes the resources of one generator.
type Pool struct {
	store   *Store
	flavor  model.Flavor
	typeURL string
	report  func(Failure)
	commons commons

	mu      sync.Mutex
	entries map[recipeKey]*entry
	sweepAt int
}

// NewPool makes the pool of one generator. Each recipe that fails is reported once, from the goroutine that tried it.
func (s *Store) NewPool(flavor model.Flavor, typeURL string, report func(Failure)) *Pool {
	return &Pool{
		store: s, flavor: flavor, typeURL: typeURL, report: report,
		entries: map[recipeKey]*entry{}, sweepAt: minSweep,
	}
}

// recipeKey tells recipes of one generator apart.
type recipeKey struct {
	name string
	key  any
}

// entry is a recipe that was asked for. What it came to is guarded by mu, which is held while building, so that
// others who want the same wait and then share it.
type entry struct {
	mu   sync.Mutex
	made weak.Pointer[Resource]
	err  error

	// Guarded by the pool's mutex: who is between asking and leaving, and whether anyone came since the last sweep.
	users int
	used  bool
}

// Get gives the resource of a recipe, built at most once as long as someone refers to it. An error names the resource; a recipe
// that failed is not tried again while it keeps being asked for.
func (p *Pool) Get(r translate.Recipe) (*Resource, error) {
	made, how, err := p.get(r)
	switch how {
	case reused:
		p.store.reused.Add(1)
	case tried:
		if err == nil {
			p.store.generated.Add(1)
		} else {
			p.store.failed.Add(1)
			p.report(Failure{Flavor: p.flavor, TypeURL: p.typeURL, Name: r.Name, Err: err})
		}
	}
	return made, err
}

// how a resource was come by.
type how uint8

const (
	tried  how = iota // it was made, or failed to be
	reused            // it was made before
	failed            // it failed before
)

func (p *Pool) get(r translate.Recipe) (*Resource, how, error) {
	e, err := p.enter(r)
	if err != nil {
		return nil, tried, err
	}
	defer p.leave(e)
	e.mu.Lock()
	defer e.mu.Unlock()
	if made := e.made.Value(); made != nil {
		return made, reused, nil
	}
	if e.err != nil {
		return nil, failed, e.err
	}
	made, err := p.make(r)
	if err != nil {
		e.err = err
		return nil, tried, err
	}
	e.made = weak.Make(made)
	return made, tried, nil
}

// Len counts the recipes that are remembered, dead ones included.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.entries)
}

func (p *Pool) make(r translate.Recipe) (*Resource, error) {
	if pieces, err := piecesOf(r); err != nil {
		return nil, fmt.Errorf("resource %q: %w", r.Name, err)
	} else if pieces != nil {
		made, err := p.assemble(r.Name, pieces)
		if err != nil {
			return nil, fmt.Errorf("resource %q: %w", r.Name, err)
		}
		return made, nil
	}
	msg, err := build(r)
	if err != nil {
		return nil, fmt.Errorf("resource %q: %w", r.Name, err)
	}
	body, err := serialise(msg)
	if err == nil && p.store.check != nil {
		err = check(p.store.check, msg, body)
	}
	if err != nil {
		return nil, fmt.Errorf("resource %q: %w", r.Name, err)
	}
	if _, ok := r.Key.(pieceKey); ok {
		return p.store.intern(identify("", piece, []byte(p.typeURL), body), func(sum digest) *Resource { return newPiece(body, sum) }), nil
	}
	from := enclose(p.typeURL, r.Name, body, 0)
	return p.store.intern(identify(r.Name, whole, from.bytes[from.head:]), func(sum digest) *Resource {
		return newResource(r.Name, from, sum)
	}), nil
}

// check says that a resource is not valid. A panic says so too.
func check(valid Check, msg proto.Message, serialised []byte) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("to check it panicked: %v", v)
		}
	}()
	if err = valid(msg, serialised); err != nil {
		return fmt.Errorf("it is not valid: %w", err)
	}
	return nil
}

// build turns a panic of a translator into an error: one bad object must not take the process down.
func build(r translate.Recipe) (msg proto.Message, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("its translator panicked: %v", v)
		}
	}()
	msg, err = r.Build()
	if err == nil && msg == nil {
		err = errors.New("its translator gave nothing, and no error")
	}
	return msg, err
}

// enter finds or makes the entry of a recipe and keeps it from being swept until leave.
func (p *Pool) enter(r translate.Recipe) (e *entry, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		if v := recover(); v != nil { // a key that cannot be compared
			err = fmt.Errorf("resource %q: its recipe's key of type %T: %v", r.Name, r.Key, v)
		}
	}()
	k := recipeKey{r.Name, r.Key}
	e = p.entries[k]
	if e == nil {
		e = &entry{}
		p.entries[k] = e
		if len(p.entries) > p.sweepAt {
			p.sweep(e)
		}
	}
	e.users++
	e.used = true
	return e, nil
}

func (p *Pool) leave(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.users--
}

// sweep forgets the recipes whose resources nobody refers to, and the failed ones that nobody asked for since the last
// sweep. The caller holds the mutex.
func (p *Pool) sweep(except *entry) {
	for k, e := range p.entries {
		// Without users nobody holds or will take e.mu, so reading its fields is safe: users only grows under p.mu.
		if e == except || e.users > 0 {
			continue
		}
		if e.made.Value() == nil && (e.err == nil || !e.used) {
			delete(p.entries, k)
		}
		e.used = false
	}
	p.sweepAt = max(minSweep, 2*len(p.entries))
}
