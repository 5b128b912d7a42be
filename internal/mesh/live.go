package mesh

import (
	"sync"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
)

// Live is the mesh config as it is now, for readers that follow it. There is no Live without a config: "not loaded
// yet" can therefore not be read as "all defaults".
type Live struct {
	mu      sync.Mutex
	current *meshv1alpha1.MeshConfig
	changed chan struct{}
}

// NewLive starts with the first config.
func NewLive(first *meshv1alpha1.MeshConfig) *Live {
	return &Live{current: first, changed: make(chan struct{})}
}

// Current gives the newest config. It is never nil, and must not be written to.
func (l *Live) Current() *meshv1alpha1.MeshConfig {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// Changes gives a channel that is closed when the config changes. Take it before Current.
func (l *Live) Changes() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

func (l *Live) set(c *meshv1alpha1.MeshConfig) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = c
	close(l.changed)
	l.changed = make(chan struct{})
}
