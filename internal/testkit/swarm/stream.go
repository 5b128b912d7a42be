package swarm

import (
	"fmt"
	"maps"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"

	"github.com/meshd/meshd/internal/xds/resource"
)

// conversation is one stream as the client sees it. Only the goroutine that runs it uses it.
type conversation struct {
	*Client
	stream     grpc.ClientStream
	introduced bool
	nonces     map[string]string // of the last response by type
	asked      map[string]bool   // types that were asked for on this stream
}

// run speaks until the stream ends, and says why it did.
func (c *Client) run(stream grpc.ClientStream) error {
	conv := &conversation{Client: c, stream: stream, nonces: map[string]string{}, asked: map[string]bool{}}
	if err := conv.begin(); err != nil {
		return err
	}
	for {
		var f frame
		if err := stream.RecvMsg(&f); err != nil {
			return err
		}
		err := conv.response(&f)
		f.Free()
		if err != nil {
			return err
		}
	}
}

// begin asks for clusters, and for everything else that was asked for on an earlier stream.
func (c *conversation) begin() error {
	for i, typeURL := range types {
		c.mu.Lock()
		names, again := c.names[typeURL]
		c.mu.Unlock()
		if again || i == 0 {
			if err := c.ask(typeURL, names); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask sends the first request of a type.
func (c *conversation) ask(typeURL string, names []string) error {
	c.mu.Lock()
	c.names[typeURL] = names
	var version string
	var have map[string]string
	if t := c.state.Types[typeURL]; t != nil {
		version, have = t.version, maps.Clone(t.Versions)
	}
	c.mu.Unlock()
	c.asked[typeURL] = true
	if c.opts.Delta {
		return c.send(typeURL, &discoveryv3.DeltaDiscoveryRequest{
			Node: c.introduce(), TypeUrl: typeURL, ResourceNamesSubscribe: names, InitialResourceVersions: have,
		})
	}
	return c.send(typeURL, &discoveryv3.DiscoveryRequest{
		Node: c.introduce(), TypeUrl: typeURL, VersionInfo: version, ResourceNames: names,
	})
}

func (c *conversation) introduce() *corev3.Node {
	if c.introduced {
		return nil
	}
	c.introduced = true
	return c.node
}

// response takes one in, accepts it, and asks for what it leads to.
func (c *conversation) response(f *frame) error {
	scratch := c.opts.Contents.scratch.Get().(*[]byte)
	defer c.opts.Contents.scratch.Put(scratch)
	r, err := parse(f.BufferSlice, c.opts.Delta, scratch)
	if err != nil {
		return fmt.Errorf("a response that cannot be read: %w", err)
	}
	child := childOf(r.typeURL)
	var names, added, dropped []string
	c.mu.Lock()
	renewed := c.state.apply(r, f.Len(), c.names[r.typeURL], c.opts.Contents, c.opts.Delta)
	if child != "" {
		names, added, dropped = c.state.Types[r.typeURL].wanted(c.names[child])
		if t := c.state.Types[child]; t != nil {
			for _, name := range dropped {
				t.remove(name)
			}
		}
		if c.asked[child] {
			c.names[child] = names
		} else {
			c.state.Types[r.typeURL].again() // they are not kept, so they are to be found again
		}
	}
	subscribed := c.names[r.typeURL]
	c.wake()
	c.mu.Unlock()

	c.nonces[r.typeURL] = r.nonce
	if err := c.accept(r, subscribed); err != nil {
		return err
	}
	if child != "" && c.asked[child] {
		// A cluster that is replaced begins without endpoints, so a proxy asks for them anew. Route configurations
		// are shared by listeners and stay.
		again := renewed && child == resource.EndpointType
		if err := c.change(child, names, added, dropped, again); err != nil {
			return err
		}
	}
	next := c.next()
	if next == "" {
		return nil
	}
	if parent := resource.TypeOf(next).Parent; parent == r.typeURL {
		return c.ask(next, names)
	}
	return c.ask(next, nil)
}

// next gives the type to ask for now: the first that was not, if all before it were answered.
func (c *conversation) next() string {
	for _, typeURL := range types {
		switch {
		case !c.asked[typeURL]:
			return typeURL
		case c.nonces[typeURL] == "":
			return ""
		}
	}
	return ""
}

func (c *conversation) accept(r response, names []string) error {
	if c.opts.Delta {
		return c.send(r.typeURL, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.typeURL, ResponseNonce: r.nonce})
	}
	return c.send(r.typeURL, &discoveryv3.DiscoveryRequest{
		TypeUrl: r.typeURL, VersionInfo: r.version, ResponseNonce: r.nonce, ResourceNames: names,
	})
}

// change tells of names that are new, gone or, in the state of the world, wanted again.
func (c *conversation) change(typeURL string, names, added, dropped []string, again bool) error {
	changed := len(added)+len(dropped) > 0
	switch {
	case c.opts.Delta && changed:
		return c.send(typeURL, &discoveryv3.DeltaDiscoveryRequest{
			TypeUrl: typeURL, ResourceNamesSubscribe: added, ResourceNamesUnsubscribe: dropped,
		})
	case !c.opts.Delta && (changed || again):
		c.mu.Lock()
		version := ""
		if t := c.state.Types[typeURL]; t != nil {
			version = t.version
		}
		c.mu.Unlock()
		return c.send(typeURL, &discoveryv3.DiscoveryRequest{
			TypeUrl: typeURL, VersionInfo: version, ResponseNonce: c.nonces[typeURL], ResourceNames: names,
		})
	}
	return nil
}

func (c *conversation) send(typeURL string, request any) error {
	if err := c.stream.SendMsg(request); err != nil {
		// RecvMsg knows why.
		var f frame
		if err := c.stream.RecvMsg(&f); err != nil {
			return err
		}
		f.Free()
		return fmt.Errorf("send a request for %s: %w", resource.TypeOf(typeURL).Short, err)
	}
	return nil
}

// childOf gives the type whose names the resources of a type have.
func childOf(typeURL string) string {
	for _, t := range types {
		if resource.TypeOf(t).Parent == typeURL {
			return t
		}
	}
	return ""
}
