package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"go.uber.org/fx"
)

// ErrNotLoaded is what reading a value before it is set comes to.
var ErrNotLoaded = errors.New("not loaded yet")

// Slot is the place for a value that a step produces. Only the owning component takes it; everyone else takes one of
// the three readers that Publish makes.
type Slot[T any] struct {
	mu     sync.Mutex
	set    chan struct{} // closed once value is there to be read
	value  T
	given  bool // by Set
	has    bool // to be read: what sets it has started
	setter string
	phase  Phase
}

// NewSlot makes an empty slot.
func NewSlot[T any]() *Slot[T] { return &Slot[T]{set: make(chan struct{})} }

// Set puts the value in, once. It is an error outside the step whose tag says that it sets this slot, and a second
// time. Nobody reads it before that step has started: what it does after Set is done by then, and a step that fails
// after Set has given nothing.
func (s *Slot[T]) Set(ctx context.Context, v T) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := reader(ctx)
	if s.setter == "" {
		return fmt.Errorf("%s sets %s, which no step may yet: the application is not built", name, typeName(reflect.TypeFor[T]()))
	}
	if name != s.setter {
		return fmt.Errorf("%s sets %s, which only step %q may (tag sets)", name, typeName(reflect.TypeFor[T]()), s.setter)
	}
	if s.given {
		return fmt.Errorf("%s sets %s a second time", name, typeName(reflect.TypeFor[T]()))
	}
	s.value, s.given = v, true
	return nil
}

func (s *Slot[T]) isGiven() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given
}

// open lets the value that was given be read.
func (s *Slot[T]) open() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.has = true
	close(s.set)
}

// Publish makes the three readers, for the constructor that owns the slot to return.
func (s *Slot[T]) Publish() Published[T] {
	return Published[T]{Loaded: Loaded[T]{s}, Peek: Peek[T]{s}, Gate: Gate[T]{s}}
}

func (s *Slot[T]) get() (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, s.has
}

func (s *Slot[T]) bind(setter string, phase Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setter, s.phase = setter, phase
}

func (s *Slot[T]) notLoaded(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner := "a step that is not bound yet"
	if s.setter != "" {
		owner = fmt.Sprintf("step %s in phase %s", s.setter, s.phase)
	}
	return fmt.Errorf("%s reads %s: %w: %s sets it", reader(ctx), typeName(reflect.TypeFor[T]()), ErrNotLoaded, owner)
}

// Published is what a constructor returns for a slot: a nested fx.Out of the three readers.
type Published[T any] struct {
	fx.Out
	Loaded Loaded[T]
	Peek   Peek[T]
	Gate   Gate[T]
}

// Loaded reads a value in steps that come after the one that sets it. Taking it orders: a constructor that does has
// its steps after the step that sets the value, or the plan is refused.
type Loaded[T any] struct{ slot *Slot[T] }

// Get gives the value. Before it is set the error wraps ErrNotLoaded and names reader, owner and phase.
func (l Loaded[T]) Get(ctx context.Context) (T, error) {
	if l.slot == nil {
		var zero T
		return zero, fmt.Errorf("%s reads %s: %w: nobody published it", reader(ctx), typeName(reflect.TypeFor[T]()), ErrNotLoaded)
	}
	if v, ok := l.slot.get(); ok {
		return v, nil
	}
	var zero T
	return zero, l.slot.notLoaded(ctx)
}

// Peek looks whether a value is there, without ordering anything: for probes and debug pages, which say "not yet".
type Peek[T any] struct{ slot *Slot[T] }

// TryGet gives the value, or false while it is not there.
func (p Peek[T]) TryGet() (T, bool) { return p.slot.get() }

// Gate waits for a value in a Run, without ordering anything.
type Gate[T any] struct{ slot *Slot[T] }

// Wait returns the value as soon as it is there, or the context's cause if that ends first. It is an error at once in
// the Start of a step after which the value is set: it would wait until its budget is used up.
func (g Gate[T]) Wait(ctx context.Context) (T, error) {
	g.slot.mu.Lock()
	setter := g.slot.setter
	g.slot.mu.Unlock()
	if err := startedAfter(ctx, setter); err != nil {
		var zero T
		return zero, fmt.Errorf("waiting for %s: %w", typeName(reflect.TypeFor[T]()), err)
	}
	select {
	case <-g.slot.set:
		v, _ := g.slot.get()
		return v, nil
	case <-ctx.Done():
		v, ok := g.slot.get()
		if ok {
			return v, nil
		}
		var zero T
		return zero, fmt.Errorf("waiting for %s: %w", typeName(reflect.TypeFor[T]()), context.Cause(ctx))
	}
}

// setting is the runner's view of a slot of any type.
type setting interface {
	bind(setter string, phase Phase)
	isGiven() bool
	open()
	published() bool
}

func (l Loaded[T]) bind(setter string, phase Phase) { l.slot.bind(setter, phase) }
func (l Loaded[T]) published() bool                 { return l.slot != nil }
func (l Loaded[T]) isGiven() bool                   { return l.slot.isGiven() }
func (l Loaded[T]) open()                           { l.slot.open() }

// roled tells Derive which of the special roles a type plays, and for which T.
type roled interface{ role() (Role, reflect.Type) }

func (*Slot[T]) role() (Role, reflect.Type)  { return RoleSlot, reflect.TypeFor[T]() }
func (Loaded[T]) role() (Role, reflect.Type) { return RoleLoaded, reflect.TypeFor[T]() }
func (Peek[T]) role() (Role, reflect.Type)   { return RolePeek, reflect.TypeFor[T]() }
func (Gate[T]) role() (Role, reflect.Type)   { return RoleGate, reflect.TypeFor[T]() }
