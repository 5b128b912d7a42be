package lifecycle_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/fx"

	"github.com/meshd/meshd/internal/lifecycle"
)

type pageStepOut struct {
	fx.Out
	S lifecycle.Step `name:"s" phase:"load"`
}

// A value is set once, by the step whose tag says so; whoever reads it too early learns who sets it, and when.
func TestSlot(t *testing.T) {
	slot := lifecycle.NewSlot[lazy]()
	readers := slot.Publish()
	refused := func(err error, message string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("got %v, want %q", err, message)
		}
	}
	name := "github.com/meshd/meshd/internal/lifecycle_test.lazy"
	refused(slot.Set(t.Context(), lazy{}), "code outside any step sets "+name+", which no step may yet")
	_, err := readers.Loaded.Get(t.Context())
	refused(err, "code outside any step reads "+name+": not loaded yet: a step that is not bound yet sets it")

	type setsOut struct {
		fx.Out
		Lazy lifecycle.Published[lazy]
		S    lifecycle.Step `name:"a.set" phase:"sync" sets:"Lazy"`
	}
	early := func(ctx context.Context) error {
		_, err := readers.Loaded.Get(ctx)
		if !errors.Is(err, lifecycle.ErrNotLoaded) {
			t.Errorf("%v is not ErrNotLoaded", err)
		}
		refused(err, "b.other reads "+name+": not loaded yet: step a.set in phase sync sets it")
		refused(slot.Set(ctx, lazy{}), `b.other sets `+name+`, which only step "a.set" may (tag sets)`)
		if _, ok := readers.Peek.TryGet(); ok {
			t.Error("a peek gives what is not there")
		}
		return nil
	}
	setIt := func(ctx context.Context) error {
		if err := slot.Set(ctx, lazy{}); err != nil {
			return err
		}
		refused(slot.Set(ctx, lazy{}), "a.set sets "+name+" a second time")
		return nil
	}
	r, _ := started(t, component("a", func() setsOut { return setsOut{Lazy: readers, S: lifecycle.Step{Start: setIt}} }),
		does("b", field{`name:"b.other" phase:"load"`, lifecycle.Step{Start: early}}))
	stopped(t, r)
	if _, err := readers.Loaded.Get(t.Context()); err != nil {
		t.Error(err)
	}
	if _, ok := readers.Peek.TryGet(); !ok {
		t.Error("a peek does not see it")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 { // what is there is there, also when the context has ended
		if _, err := readers.Gate.Wait(ended); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGateWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		readers := lifecycle.NewSlot[lazy]().Publish()
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { _, err := readers.Gate.Wait(ctx); ended <- err }()
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		cancel(errBoom)
		if err := <-ended; !errors.Is(err, errBoom) || !strings.HasPrefix(err.Error(), "waiting for ") {
			t.Errorf("got %v", err)
		}
	})
}

// A reader that nobody made is an error to read, not a panic.
func TestEmptyLoaded(t *testing.T) {
	if _, err := (lifecycle.Loaded[lazy]{}).Get(t.Context()); !errors.Is(err, lifecycle.ErrNotLoaded) || !strings.Contains(err.Error(), "nobody published it") {
		t.Errorf("got %v", err)
	}
}

func TestPhasesHaveNames(t *testing.T) {
	for _, p := range lifecycle.Phases() {
		text, err := p.MarshalText()
		var back lifecycle.Phase
		if err := errors.Join(err, back.UnmarshalText(text)); err != nil || back != p {
			t.Errorf("%s comes back as %s (%v)", p, back, err)
		}
	}
	if got := lifecycle.Phase(77).String(); got != "phase(77)" {
		t.Error(got)
	}
	if _, err := lifecycle.ParsePhase("lunch"); err == nil || !strings.Contains(err.Error(), "want one of preflight, admin, load, identity, register, sync, listen, lead, announce") {
		t.Errorf("got %v", err)
	}
}
