// Package foo has constructors, good ones and bad ones.
package foo

import (
	"context"
	"time"

	"github.com/meshd/meshd/internal/deep"
)

// T is made by constructors.
type T struct {
	made time.Time
	Now  func() time.Time
	run  func()
}

// New is not pure.
func New() *T { return &T{made: deep.Clock()} }

// NewPure takes its clock, but does not read it.
func NewPure() *T { return &T{Now: time.Now, run: func() { go func() {}() }} }

// Open is a method that is not pure.
func (t *T) Open() []byte { return deep.Load("x") }

// Box is generic.
type Box[T any] struct{ v T }

// Fill reads a clock.
func (b *Box[T]) Fill(v T) { b.v = v; deep.Clock() }

// NewBox is generic too.
func NewBox[T any](v T) *Box[T] { b := &Box[T]{}; b.Fill(v); return b }

// Each calls its last argument, by way of another function.
func Each(n int, f func()) { times(n, f) }

func times(n int, f func()) {
	for range n {
		f()
	}
}

// All calls each of its arguments, as far as can be told.
func All(fs ...func()) {
	for _, f := range fs {
		f()
	}
}

// Store keeps its argument.
func Store(f func()) *T { return &T{run: f} }

// Later gives a function that calls its argument.
func Later(f func()) func() { return func() { f() } }

// Opener can't be followed.
type Opener interface{ Open() []byte }

// Run waits; it is the sort of method that acts.
func (t *T) Run(ctx context.Context) error { <-ctx.Done(); return nil }
