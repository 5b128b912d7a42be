package swarm

import (
	"bytes"
	"hash/maphash"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/meshd/meshd/internal/xds/resource"
)

// Content is one resource as it came, known to all clients of a swarm by the same pointer.
type Content struct {
	Name string
	// Size counts its bytes.
	Size int
	// Children are the names that it makes a proxy ask for: endpoints if it is a cluster, routes if it is a listener.
	Children []string

	bytes []byte // themselves, if they are few
}

// fewBytes is more than most resources have. Of large ones there can be too many to keep.
const fewBytes = 4 << 10

// is reports whether a resource is surely that content. To compare is faster than to hash.
func (c *Content) is(value []byte) bool { return c.bytes != nil && bytes.Equal(c.bytes, value) }

// Contents are the resources that a swarm has seen. Each is looked into once, however many clients it goes to: that is
// what makes a client cheap. It is safe for concurrent use.
type Contents struct {
	seed    maphash.Seed
	scratch sync.Pool // of *[]byte, in which what comes in several buffers is put together
	buffers *buffers

	mu    sync.RWMutex
	known map[uint64]*Content
}

// NewContents makes an empty set.
func NewContents() *Contents {
	return &Contents{
		seed: maphash.MakeSeed(), scratch: sync.Pool{New: func() any { return new([]byte) }},
		buffers: newBuffers(), known: map[uint64]*Content{},
	}
}

// of gives the content of a resource; what is equal is the same. That two that differ have one hash of 64 bits is not
// going to happen.
func (c *Contents) of(typeURL string, value []byte) *Content {
	var h maphash.Hash
	h.SetSeed(c.seed)
	_, _ = h.WriteString(typeURL) // never fails
	_, _ = h.Write(value)
	sum := h.Sum64()
	c.mu.RLock()
	known := c.known[sum]
	c.mu.RUnlock()
	if known != nil {
		return known
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[sum] == nil {
		c.known[sum] = look(typeURL, value)
	}
	return c.known[sum]
}

func look(typeURL string, value []byte) *Content {
	c := &Content{Size: len(value)}
	if len(value) <= fewBytes {
		c.bytes = bytes.Clone(value)
	}
	for _, name := range inner(value, 1) { // all four types have it there
		c.Name = string(name)
	}
	switch typeURL {
	case resource.ClusterType:
		c.Children = endpointsOf(c.Name, value)
	case resource.ListenerType:
		c.Children = routesOf(value)
	}
	return c
}

// The fields that lead to the names of what a resource refers to.
const (
	clusterType     protowire.Number = 2 // Cluster.type
	edsClusterType                   = 3 // the value of it that says EDS
	edsConfig       protowire.Number = 3 // Cluster.eds_cluster_config
	edsServiceName  protowire.Number = 2
	filterChains    protowire.Number = 3  // Listener.filter_chains
	defaultChain    protowire.Number = 25 // Listener.default_filter_chain
	filters         protowire.Number = 3  // FilterChain.filters
	typedConfig     protowire.Number = 4  // Filter.typed_config, an Any
	rds             protowire.Number = 3  // HttpConnectionManager.rds
	routeConfigName protowire.Number = 2
)

const managerType = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

// endpointsOf gives what a cluster asks endpoints for: nothing unless its type is EDS.
func endpointsOf(name string, cluster []byte) []string {
	isEDS := false
	for rest := cluster; len(rest) > 0; {
		field, typ, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return nil
		}
		if field == clusterType && typ == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(rest[n:])
			isEDS = v == edsClusterType
		}
		size := protowire.ConsumeFieldValue(field, typ, rest[n:])
		if size < 0 {
			return nil
		}
		rest = rest[n+size:]
	}
	if !isEDS {
		return nil
	}
	for _, service := range inner(cluster, edsConfig, edsServiceName) {
		return []string{string(service)}
	}
	return []string{name}
}

// routesOf gives the route configurations that a listener refers to.
func routesOf(listener []byte) []string {
	var names []string
	for _, chain := range slices.Concat(inner(listener, filterChains), inner(listener, defaultChain)) {
		for _, config := range inner(chain, filters, typedConfig) {
			for _, typeURL := range inner(config, 1) {
				if !bytes.Equal(typeURL, []byte(managerType)) {
					continue
				}
				for _, name := range inner(config, 2, rds, routeConfigName) {
					names = append(names, string(name))
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
