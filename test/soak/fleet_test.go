package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/meshd/meshd/internal/testkit/manifests"
	"github.com/meshd/meshd/internal/testkit/swarm"
)

// fleet is the proxies of a world, half of them in delta.
type fleet struct {
	addr     string
	contents *swarm.Contents
	clients  []*swarm.Client
}

// newFleet connects a proxy of each pod, and returns when all have everything.
func newFleet(ctx context.Context, addr string, pods []manifests.Pod, contents *swarm.Contents) (*fleet, error) {
	f := &fleet{addr: addr, contents: contents}
	for i, pod := range pods {
		c, err := swarm.New(swarm.Options{NodeID: pod.NodeID(), Metadata: pod.Metadata(), Delta: i%2 == 1, Contents: contents})
		if err != nil {
			return nil, err
		}
		f.clients = append(f.clients, c)
	}
	return f, f.each(func(c *swarm.Client) error {
		if err := c.Connect(ctx, addr); err != nil {
			return err
		}
		return has(ctx, c, swarm.State.Complete)
	})
}

func has(ctx context.Context, c *swarm.Client, condition func(swarm.State) bool) error {
	_, err := c.Expect(condition).At(ctx)
	return err
}

// each does something with all clients at once.
func (f *fleet) each(do func(*swarm.Client) error) error {
	failures := make([]error, len(f.clients))
	var all sync.WaitGroup
	for i, c := range f.clients {
		all.Go(func() { failures[i] = do(c) })
	}
	all.Wait()
	return errors.Join(failures...)
}

func (f *fleet) disconnect() {
	_ = f.each(func(c *swarm.Client) error { c.Disconnect(); return nil }) // none fails
}

// restless disconnects one after another at random, and connects it again, at once or later; some have forgotten
// everything. It returns how often it did so, with all connected again, when done is closed.
func (f *fleet) restless(ctx context.Context, done <-chan struct{}, every time.Duration, seed uint64) (n int, err error) {
	random := rand.New(rand.NewPCG(seed, 1))
	away := map[int]bool{}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-done:
			for i := range away {
				if err := f.clients[i].Connect(ctx, f.addr); err != nil {
					return n, err
				}
			}
			return n, nil
		}
		i := random.IntN(len(f.clients))
		c := f.clients[i]
		if away[i] {
			delete(away, i)
		} else {
			n++
			c.Disconnect()
			if random.IntN(4) == 0 {
				c.Forget()
			}
			if len(away) < len(f.clients)/10 && random.IntN(2) == 0 {
				away[i] = true
				continue
			}
		}
		if err := c.Connect(ctx, f.addr); err != nil {
			return n, err
		}
	}
}

// differ says which clients do not have what those of another fleet have; nil if none.
func (f *fleet) differ(fresh *fleet) error {
	var wrong []error
	for i, c := range f.clients {
		if diff := c.State().Diff(fresh.clients[i].State()); diff != "" {
			wrong = append(wrong, fmt.Errorf("client %d:\n%s", i, diff))
		}
	}
	if len(wrong) > 3 {
		wrong = append(wrong[:3], fmt.Errorf("and %d more clients", len(wrong)-3))
	}
	return errors.Join(wrong...)
}
