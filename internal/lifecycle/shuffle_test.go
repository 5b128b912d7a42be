package lifecycle_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meshd/meshd/internal/lifecycle"
)

// TestShuffle runs the toy with 200 seeds that permute the component list and pause at random before and in each
// step: the order of the plan holds in every one, and what it leaves open does vary.
func TestShuffle(t *testing.T) {
	legal := legalOrders(analyzed(t, toy(newJournal())))
	if legal < 20 {
		t.Fatalf("the toy has only %d legal orders", legal)
	}
	orders := map[string]bool{}
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			rng := rand.New(rand.NewPCG(seed, 3))
			pause := func() {
				mu.Lock()
				d := time.Duration(rng.Int64N(int64(time.Millisecond)))
				mu.Unlock()
				time.Sleep(d)
			}
			j := newJournal()
			for _, name := range toySteps {
				j.start[name] = func(context.Context) error { pause(); j.note("done " + name); return nil }
				j.stop[name] = func(context.Context) error { pause(); j.note("gone " + name); return nil }
			}
			r, _ := build(t, lifecycle.Options{Before: func(string) { pause() }}, shuffled(toy(j), rng)...)
			if err := r.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			stopped(t, r)
			for _, a := range toySteps {
				for _, b := range toySteps {
					if r.Plan().Precedes(a, b) && (!before(j, "done "+a, "start "+b) || !before(j, "gone "+b, "stop "+a)) {
						t.Errorf("seed %d: the order of %s and %s was not kept", seed, a, b)
					}
				}
			}
			orders[strings.Join(j.noted("done"), " ")] = true
		})
	}
	if want := min(20, legal); len(orders) < want {
		t.Errorf("%d different orders in 200 runs, want at least %d of %d", len(orders), want, legal)
	}
	t.Logf("%d of %d legal orders occurred", len(orders), legal)
}

// legalOrders counts in how many orders the steps of a plan may run: for each phase, over the sets of steps that may
// have run already.
func legalOrders(p *lifecycle.Plan) int {
	total := 1
	for _, phase := range lifecycle.Phases() {
		var steps []string
		for _, s := range p.Steps {
			if s.Phase == phase {
				steps = append(steps, s.Name)
			}
		}
		ways := map[uint]int{0: 1}
		for set := range uint(1) << len(steps) {
			for i, s := range steps {
				bit := uint(1) << i
				if set&bit == 0 {
					continue
				}
				last := true // s may have been the last of the set to run
				for k, other := range steps {
					if set&(1<<k) != 0 && k != i && p.Precedes(s, other) {
						last = false
					}
				}
				if last {
					ways[set] += ways[set&^bit]
				}
			}
		}
		total *= ways[uint(1)<<len(steps)-1]
	}
	return total
}

func TestLegalOrdersAreCounted(t *testing.T) {
	if got := legalOrders(analyzed(t, []lifecycle.Component{component("a", rankOne, rankTwo)})); got != 1 {
		t.Errorf("a chain of two: %d", got)
	}
	if got := legalOrders(analyzed(t, []lifecycle.Component{component("a", rankOne), component("b", rankTwo)})); got != 2 {
		t.Errorf("two that are open: %d", got)
	}
}
