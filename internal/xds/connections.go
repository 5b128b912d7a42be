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
	Types    []TypeStatus

	interests func() []subscription.Interest
}

// TypeStatus is the state of one type of a stream.
type TypeStatus struct {
	subscription.Status
	// SentAt is when the last response was made; zero if there was none.
	SentAt time.Time
	// Withheld is what the client would be sent and is not, by name: it has the last good version, or none.
	Withheld map[string]Withheld
}

// Interests gives what the client wants at this moment, unlike the rest of a Connection, and where that comes from.
func (c Connection) Interests() []subscription.Interest { return c.interests() }

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

// add takes a stream in and numbers it.
func (c *Connections) add(conn Connection) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	conn.ID = c.last
	c.open[c.last] = &conn
	return c.last
}

// update takes in the state of a stream. What is withheld of a type that is not in held stays as it was.
func (c *Connections) update(id uint64, types []subscription.Status, held map[string]withheld, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	conn := c.open[id]
	out := make([]TypeStatus, len(types))
	for i, s := range types {
		out[i] = TypeStatus{Status: s, SentAt: now}
		heldNow, looked := held[s.Type.URL]
		out[i].Withheld = heldNow
		for _, before := range conn.Types {
			if before.Type.URL != s.Type.URL {
				continue
			}
			if before.Nonce == s.Nonce {
				out[i].SentAt = before.SentAt
			}
			if !looked {
				out[i].Withheld = before.Withheld
			}
		}
		if s.Nonce == "" {
			out[i].SentAt = time.Time{}
		}
	}
	conn.Types = out
}

func (c *Connections) remove(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, id)
}
