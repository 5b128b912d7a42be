package subscription

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/meshd/meshd/internal/xds/resource"
)

// TestWants does at random what is done to names, beside a plain list of the same.
func TestWants(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 0))
		var mine wants
		var plain []want
		at := func(name string) (int, bool) {
			return slices.BinarySearchFunc(plain, name, func(w want, name string) int { return strings.Compare(w.name, name) })
		}
		for step := range 150 {
			count := []int{1, 1, 1, 10, 2000}[random.IntN(5)]
			switch random.IntN(4) {
			case 0, 1:
				fresh := map[string]bool{}
				for range count {
					name := fmt.Sprint("n", random.IntN(5000))
					if _, there := at(name); !there {
						fresh[name] = true
					}
				}
				var list []want
				for name := range fresh {
					list = append(list, newWant(name, random.Uint64N(3), mark(random.IntN(4))))
				}
				slices.SortFunc(list, func(a, b want) int { return strings.Compare(a.name, b.name) })
				plain = append(plain, list...)
				slices.SortFunc(plain, func(a, b want) int { return strings.Compare(a.name, b.name) })
				mine.add(list)
			case 2:
				for range count {
					name := fmt.Sprint("n", random.IntN(5000))
					i, there := at(name)
					if there {
						plain = slices.Delete(plain, i, i+1)
					}
					if mine.remove(name) != there {
						t.Fatalf("seed %d, step %d: %s was there: %t", seed, step, name, there)
					}
				}
			case 3:
				name, sent := fmt.Sprint("n", random.IntN(5000)), random.Uint64N(3)
				i, there := at(name)
				if mine.mark(name, flying) != there {
					t.Fatalf("seed %d, step %d: %s is there: %t", seed, step, name, there)
				}
				for run, w := range mine.with(flying) {
					mine.has(run, w, sent)
					w.marks = w.marks&^flying | refused
				}
				if there {
					plain[i] = newWant(name, sent, plain[i].marks&^missing|refused)
				}
			}
			for _, m := range []mark{resend, missing, refused | renewed, flying, every} {
				var want, got []string
				for _, w := range plain {
					if m == every || w.is(m) {
						want = append(want, w.name)
					}
				}
				if mine.any(m) != (len(want) > 0) {
					t.Fatalf("seed %d, step %d: marks %b: %t", seed, step, m, mine.any(m))
				}
				for _, w := range mine.with(m) {
					got = append(got, w.name)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d, step %d: marks %b: got %d names, want %d", seed, step, m, len(got), len(want))
				}
			}
			var sum resource.Sum
			for _, w := range plain {
				sum.AddHash(w.sent)
			}
			if mine.len != len(plain) || mine.sum != sum {
				t.Fatalf("seed %d, step %d: %d names with sum %v, want %d with %v", seed, step, mine.len, mine.sum, len(plain), sum)
			}
		}
	}
}

// TestCostOfOneName: to subscribe to one name more does not cost what is there already.
func TestCostOfOneName(t *testing.T) {
	cost := func(there int) (looked int, bytes uint64) {
		c := converse(t, Delta)
		source := c.sources[resource.EndpointType]
		source.content = map[string]string{}
		one := func(name string) {
			source.content[name] = "1"
			c.machine.Request(Request{TypeURL: resource.EndpointType, Subscribe: []string{name}})
			r, ok := c.machine.Next(func(string, Source) Source { return oneByOne{source} })
			if !ok || len(r.Resources) != 1 {
				t.Fatalf("%s was answered with %v", name, r.Resources)
			}
			c.machine.Request(Request{TypeURL: resource.EndpointType, Nonce: r.Nonce})
		}
		for i := range there {
			one(fmt.Sprint("there-", i))
		}
		// Now and then a map grows, here or in what is tested, which allocates much at once: of some windows, the
		// cheapest is without it.
		const windows, more = 9, 200
		source.looked = 0
		var each []uint64
		for w := range windows {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for i := range more {
				one(fmt.Sprint("more-", w, "-", i))
			}
			runtime.ReadMemStats(&after)
			each = append(each, (after.TotalAlloc-before.TotalAlloc)/more)
		}
		return source.looked / windows / more, slices.Min(each)
	}
	fewLooked, few := cost(1000)
	manyLooked, many := cost(40_000)
	t.Logf("one name more allocates %d bytes beside 1,000, and %d beside 40,000", few, many)
	if fewLooked != 1 || manyLooked != 1 {
		t.Errorf("one name more leads to %d look-ups beside 1,000 names and to %d beside 40,000, want 1", fewLooked, manyLooked)
	}
	if many > 3*few {
		t.Errorf("one name more allocates %d bytes beside 40,000 names, and %d beside 1,000", many, few)
	}
}

// oneByOne is a source that nothing happens to.
type oneByOne struct{ *fakeSource }

func (oneByOne) Since(Source) *resource.Diff { return &resource.Diff{} }
