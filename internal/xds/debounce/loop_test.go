package debounce

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
)

type emitted struct {
	at    time.Duration
	batch Batch
}

// follow runs a loop in the bubble and gives what it emits.
func follow(t *testing.T, changes *config.Changes, opts Options, busy time.Duration) (<-chan emitted, func()) {
	t.Helper()
	out := make(chan emitted, 100)
	begin := time.Now()
	loop, err := NewLoop(changes, opts, func(_ context.Context, b Batch) error {
		out <- emitted{time.Since(begin), b}
		time.Sleep(busy)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- loop.Run(ctx) }()
	return out, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the loop ended with %v", err)
		}
	}
}

func add(c *config.Changes, name string, what model.Aspect) {
	c.Add(model.Change{Kind: model.KindService, NamespacedName: model.NamespacedName{Name: name}, What: what})
}

func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := config.NewChanges()
		add(changes, "a", model.AspectSpec)
		add(changes, "b", model.AspectSpec)
		out, stop := follow(t, changes, Defaults(), 0)
		defer stop()
		if e := <-out; e.at != 0 || e.batch.UpTo != 2 || len(e.batch.Changes) != 2 {
			t.Errorf("first batch %+v: want both changes at once", e)
		}
		time.Sleep(time.Second)
		add(changes, "a", model.AspectSpec)
		time.Sleep(30 * time.Millisecond)
		add(changes, "a", model.AspectSpec)
		if e := <-out; e.at != 1130*time.Millisecond || e.batch.UpTo != 4 || len(e.batch.Changes) != 1 {
			t.Errorf("second batch %+v: want one merged change 100 ms after the last", e)
		}
		add(changes, "a", model.AspectEndpoints)
		if e := <-out; e.at != 1140*time.Millisecond || !e.batch.EndpointsOnly {
			t.Errorf("third batch %+v: want endpoints after 10 ms", e)
		}
		synctest.Wait()
		if len(out) != 0 {
			t.Errorf("a batch without a change: %+v", <-out)
		}
	})
}

// What comes while a batch is handled is merged, and nothing is lost or counted twice.
func TestLoopBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := config.NewChanges()
		out, stop := follow(t, changes, Defaults(), 500*time.Millisecond)
		defer stop()
		for range 100 {
			add(changes, "a", model.AspectSpec)
			time.Sleep(20 * time.Millisecond)
		}
		seen := 0
		for {
			e := <-out
			seen++
			if e.batch.UpTo == 100 {
				break
			}
		}
		if seen > 6 {
			t.Errorf("%d batches for 2 s of changes and a handler that takes 500 ms", seen)
		}
	})
}

func TestLoopEndsWithItsHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		changes := config.NewChanges()
		loop, err := NewLoop(changes, Defaults(), func(context.Context, Batch) error { return broken })
		if err != nil {
			t.Fatal(err)
		}
		add(changes, "a", model.AspectSpec)
		if err := loop.Run(context.Background()); !errors.Is(err, broken) {
			t.Errorf("Run: %v, want the handler's error", err)
		}
	})
}

// Configuration that is touched every 90 ms for 20 s does not hold back an endpoint that goes at second 1, and is given
// out itself after the longest wait (case B23).
func TestCaseB23(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := config.NewChanges()
		add(changes, "loaded", model.AspectSpec)
		out, stop := follow(t, changes, Defaults(), 0)
		defer stop()
		<-out
		begin := time.Now()
		gone := false
		for time.Since(begin) < 20*time.Second {
			add(changes, "config", model.AspectSpec)
			if !gone && time.Since(begin) >= time.Second {
				gone = true
				add(changes, "endpoint", model.AspectEndpoints)
			}
			time.Sleep(90 * time.Millisecond)
		}
		synctest.Wait()
		if len(out) < 2 {
			t.Fatalf("%d batches in 20 s", len(out))
		}
		e := <-out
		if !e.batch.EndpointsOnly || e.at > 1200*time.Millisecond {
			t.Errorf("the first batch comes at %v, of endpoints only: %v; want the endpoint, at once", e.at, e.batch.EndpointsOnly)
		}
		if e = <-out; e.batch.EndpointsOnly || e.at != 10*time.Second {
			t.Errorf("the second batch comes at %v, of endpoints only: %v; want configuration after 10 s", e.at, e.batch.EndpointsOnly)
		}
	})
}
