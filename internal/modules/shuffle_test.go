package modules

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/meshd/meshd/internal/lifecycle"
)

// The order of start is the plan's, however the components are listed and whatever the plan leaves open: 200 seeds
// permute the list and pause steps, and each start passes through the same phases and gives the same first answer.
func TestShuffledStarts(t *testing.T) {
	const seeds = 200
	plan, violations := lifecycle.Analyze(All(testOptions()))
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	orders := map[string]bool{}
	var first string
	for seed := range uint64(seeds) {
		random := rand.New(rand.NewPCG(seed, 1))
		o := runOptions(t)
		components := shuffled(All(o), random)
		var mu sync.Mutex
		var began []string
		a := start(t, o, components, lifecycle.Options{Before: func(step string) {
			mu.Lock()
			pause := time.Duration(random.IntN(300)) * time.Microsecond
			mu.Unlock()
			time.Sleep(pause) // the shuffle itself: what the order leaves open happens in any order
			mu.Lock()
			defer mu.Unlock()
			began = append(began, step)
		}})
		answer := a.firstAnswer(t)
		a.stop(t)
		if err := legal(plan, began); err != "" {
			t.Fatalf("seed %d: %s: %v", seed, err, began)
		}
		if first == "" {
			first = answer
		}
		if answer != first {
			t.Fatalf("seed %d: the first answer differs", seed)
		}
		orders[strings.Join(began, " ")] = true
	}
	want := min(20, legalOrders(plan))
	t.Logf("%d of %d legal orders occurred", len(orders), legalOrders(plan))
	if len(orders) < want {
		t.Errorf("%d orders occurred, want at least %d", len(orders), want)
	}
}

// shuffled permutes the components and their constructors.
func shuffled(components []lifecycle.Component, random *rand.Rand) []lifecycle.Component {
	for i := range components {
		components[i].New = slices.Clone(components[i].New)
		random.Shuffle(len(components[i].New), func(a, b int) {
			n := components[i].New
			n[a], n[b] = n[b], n[a]
		})
	}
	random.Shuffle(len(components), func(a, b int) { components[a], components[b] = components[b], components[a] })
	return components
}

// legal says where an order breaks the plan, or "".
func legal(plan *lifecycle.Plan, began []string) string {
	if len(began) != len(plan.Steps) {
		return "not every step began once"
	}
	for i, after := range began {
		for _, before := range began[i+1:] {
			if plan.Precedes(before, after) {
				return after + " began before " + before
			}
		}
	}
	return ""
}

// legalOrders counts the orders that the plan allows: for each phase those of its steps, multiplied.
func legalOrders(plan *lifecycle.Plan) int {
	total := 1
	for _, phase := range lifecycle.Phases() {
		var names []string
		for _, s := range plan.Steps {
			if s.Phase == phase {
				names = append(names, s.Name)
			}
		}
		total *= extensions(plan, names)
	}
	return total
}

func extensions(plan *lifecycle.Plan, names []string) int {
	if len(names) == 0 {
		return 1
	}
	n := 0
	for i, first := range names {
		rest := slices.Delete(slices.Clone(names), i, i+1)
		if !slices.ContainsFunc(rest, func(other string) bool { return plan.Precedes(other, first) }) {
			n += extensions(plan, rest)
		}
	}
	return n
}
