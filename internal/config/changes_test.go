package config

import (
	"fmt"
	"sync"
	"testing"

	"github.com/meshd/meshd/internal/model"
)

func TestChangesMerge(t *testing.T) {
	c := NewChanges()
	cart := model.Change{Kind: model.KindService, NamespacedName: model.NamespacedName{Namespace: "shop", Name: "cart"}}
	cartEndpoints := cart
	cartEndpoints.What = model.AspectEndpoints

	select {
	case <-c.Ready():
		t.Fatal("ready without a change")
	default:
	}
	c.Add(cart)
	c.Add(cart)
	c.Add(cartEndpoints)
	if got := c.Added(); got != 3 {
		t.Errorf("added %d, want 3", got)
	}
	select {
	case <-c.Ready():
	default:
		t.Fatal("not ready after a change")
	}
	got, upTo := c.Take()
	if len(got) != 2 || upTo != 3 {
		t.Errorf("took %v up to %d, want two changes up to 3", got, upTo)
	}
	if got, upTo := c.Take(); len(got) != 0 || upTo != 3 {
		t.Errorf("took %v up to %d after taking everything", got, upTo)
	}
}

// TestChangesLoseNothing has many writers and one reader: what the reader took is what the writers added, and who
// waits for Ready is always woken.
func TestChangesLoseNothing(t *testing.T) {
	const writers, each = 8, 500
	c := NewChanges()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				c.Add(model.Change{Kind: model.KindPod, NamespacedName: model.NamespacedName{Namespace: fmt.Sprint(w), Name: fmt.Sprint(i)}})
			}
		})
	}
	seen := map[model.Change]bool{}
	for upTo := uint64(0); upTo < writers*each; {
		<-c.Ready()
		var taken map[model.Change]struct{}
		taken, upTo = c.Take()
		for change := range taken {
			if seen[change] {
				t.Fatalf("%v was taken twice", change)
			}
			seen[change] = true
		}
	}
	wg.Wait()
	if len(seen) != writers*each || c.Added() != writers*each {
		t.Errorf("took %d of %d, counted %d", len(seen), writers*each, c.Added())
	}
}
