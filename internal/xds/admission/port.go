package admission

import (
	"net"
	"sync"
)

// Port is a listener whose connections gRPC can be trusted with.
//
// They wait for a client that does not read, as long as it lives. gRPC takes the Timeout of its sign of life for TCP's
// as well (TCP_USER_TIMEOUT), with which Linux also ends a connection whose client answers but has no room for more: one
// that is slow, or held up by its machine. gRPC cannot be told, but it sets that only on a TCP connection that it can see.
//
// And who says nothing does not hold up the stop: gRPC closes no connection before all have said how they begin.
type Port struct {
	net.Listener

	mu     sync.Mutex
	silent map[*conn]struct{} // nil when nobody may be silent any more
}

// greeting is what a client of HTTP/2 says at least before it is served, in bytes: its preface and the head of its
// settings (RFC 9113, sections 3.4 and 4.1).
const greeting = 24 + 9

// NewPort makes a port of a listener.
func NewPort(l net.Listener) *Port { return &Port{Listener: l, silent: map[*conn]struct{}{}} }

// Accept waits for the next connection.
func (p *Port) Accept() (net.Conn, error) {
	tcp, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: tcp, port: p}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.silent == nil {
		tcp.Close() // gRPC finds out when it reads
		return c, nil
	}
	p.silent[c] = struct{}{}
	return c, nil
}

// CloseSilent closes the connections whose clients have not said enough to be served, those to come too. It is for the
// beginning of the stop.
func (p *Port) CloseSilent() {
	p.mu.Lock()
	silent := p.silent
	p.silent = nil
	p.mu.Unlock()
	for c := range silent {
		c.Conn.Close()
	}
}

func (p *Port) heard(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.silent, c)
}

// conn is a connection of a port. That it is no *net.TCPConn is what keeps gRPC from setting TCP's timeout.
type conn struct {
	net.Conn
	port *Port
	said int // as far as it matters; one goroutine at a time reads
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.said < greeting {
		if c.said += n; c.said >= greeting {
			c.port.heard(c)
		}
	}
	return n, err
}

func (c *conn) Close() error {
	c.port.heard(c)
	return c.Conn.Close()
}
