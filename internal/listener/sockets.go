package listener

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Sockets are the claimed addresses of all traffic ports, by flag.
type Sockets struct {
	mu      sync.Mutex
	sockets map[string]*Socket
}

// NewSockets makes an empty set.
func NewSockets() *Sockets { return &Sockets{sockets: map[string]*Socket{}} }

// Claim claims the address of a flag. See Claim.
func (s *Sockets) Claim(ctx context.Context, flag, address string) error {
	socket, err := Claim(ctx, flag, address)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets[flag] = socket
	return nil
}

// Listen opens the port that was claimed for a flag.
func (s *Sockets) Listen(flag string) (net.Listener, error) {
	s.mu.Lock()
	socket := s.sockets[flag]
	s.mu.Unlock()
	if socket == nil {
		return nil, fmt.Errorf("%s: its address was not claimed in phase preflight", flag)
	}
	return socket.Listen()
}

// Close gives up all addresses that do not listen.
func (s *Sockets) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, socket := range s.sockets {
		errs = append(errs, socket.Close())
	}
	return errors.Join(errs...)
}
