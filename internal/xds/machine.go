package xds

import (
	"sync"

	"github.com/meshd/meshd/internal/xds/subscription"
)

// machine is the state machine of a stream, which only the deciding goroutine drives, made safe for debug pages to look
// into. Who looks waits for what is being made for the stream, never for what is being sent to it.
type machine struct {
	mu sync.Mutex
	m  *subscription.Machine
}

// Request is that of subscription.Machine.
func (m *machine) Request(r subscription.Request) subscription.Outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.m.Request(r)
}

// Waits is that of subscription.Machine.
func (m *machine) Waits() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.m.Waits()
}

// Answered is that of subscription.Machine.
func (m *machine) Answered() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.m.Answered()
}

// Next is that of subscription.Machine.
func (m *machine) Next(source func(typeURL string, last subscription.Source) subscription.Source) (subscription.Response, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.m.Next(source)
}

// Status is that of subscription.Machine.
func (m *machine) Status() []subscription.Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.m.Status()
}

// Interests is that of subscription.Machine. Unlike the others it may be called from any goroutine.
func (m *machine) Interests() []subscription.Interest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.m.Interests()
}
