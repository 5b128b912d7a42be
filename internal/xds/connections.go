package xds

import (
	"slices"
	"sync"
	"time"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// Connection is one stream, as it was when it was listed.
type Connection struct {
	// ID counts the streams of this process.
	ID    uint64
	Proxy *model.Proxy
	// Peer is the address the stream comes from.
	Peer     string
	Protocol subscription.Encoding
	Since    time.Time
	Types    []subscription.Status
}

// Connections is the table of streams that are open. The server fills it, debug pages read it.
type Connections struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*Connection
}

// NewConnections makes an empty table.
func NewConnections() *Connections { return &Connections{open: map[uint64]*Connection{}} }

// List gives the streams of this moment in the order they came.
func (c *Connections) List() []Connection {
	c.mu.Lock()
	out := make([]Connection, 0, len(c.open))
	for _, conn := range c.open {
		out = append(out, *conn)
	}
	c.mu.Unlock()
	slices.SortFunc(out, func(a, b Connection) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return out
}

// Len counts the streams.
func (c *Connections) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

func (c *Connections) add(p *model.Proxy, peer string, protocol subscription.Encoding, since time.Time) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	c.open[c.last] = &Connection{ID: c.last, Proxy: p, Peer: peer, Protocol: protocol, Since: since}
	return c.last
}

func (c *Connections) update(id uint64, types []subscription.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[id].Types = types
}

func (c *Connections) remove(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, id)
}
