package xdsclient

import (
	"fmt"
	"maps"
	"slices"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// SendDelta sends a request of the delta protocol as it is; the first one of the stream gets the node if it has none.
func (c *Client) SendDelta(r *discoveryv3.DeltaDiscoveryRequest) error {
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	if c.introduce && r.Node == nil {
		r.Node = c.node
	}
	c.introduce = false
	if err := c.delta.Send(r); err != nil {
		return fmt.Errorf("send a delta request for %s: %w", r.GetTypeUrl(), err)
	}
	return nil
}

// subscribeDelta asks for the names that are new and drops those that are missing; if there are none of both it asks
// for all of them again. What is dropped is forgotten.
func (c *Client) subscribeDelta(typeURL string, names []string) error {
	c.mu.Lock()
	before, later := c.names[typeURL]
	r := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL}
	for _, name := range names {
		if !slices.Contains(before, name) {
			r.ResourceNamesSubscribe = append(r.ResourceNamesSubscribe, name)
		}
	}
	for _, name := range before {
		if !slices.Contains(names, name) {
			r.ResourceNamesUnsubscribe = append(r.ResourceNamesUnsubscribe, name)
			delete(c.state.Resources[typeURL], name)
			delete(c.state.Versions[typeURL], name)
		}
	}
	if len(r.ResourceNamesSubscribe)+len(r.ResourceNamesUnsubscribe) == 0 {
		r.ResourceNamesSubscribe = names
	}
	if !later {
		r.InitialResourceVersions = maps.Clone(c.opts.Have[typeURL])
	}
	c.names[typeURL] = slices.Clone(names)
	c.mu.Unlock()
	return c.SendDelta(r)
}

// next waits for a response, which in delta is given in both forms.
func (c *Client) next() (*discoveryv3.DiscoveryResponse, *discoveryv3.DeltaDiscoveryResponse, error) {
	if !c.opts.Delta {
		resp, err := c.stream.Recv()
		return resp, nil, err
	}
	delta, err := c.delta.Recv()
	if err != nil {
		return nil, nil, err
	}
	resp := &discoveryv3.DiscoveryResponse{
		VersionInfo: delta.GetSystemVersionInfo(), TypeUrl: delta.GetTypeUrl(), Nonce: delta.GetNonce(),
	}
	for _, r := range delta.GetResources() {
		resp.Resources = append(resp.Resources, r.GetResource())
	}
	return resp, delta, nil
}

// applyDelta adds a response up.
func (c *Client) applyDelta(resp *discoveryv3.DeltaDiscoveryResponse) {
	t := resp.GetTypeUrl()
	if c.state.Resources[t] == nil {
		c.state.Resources[t] = map[string]proto.Message{}
		c.state.Versions[t] = map[string]string{}
	}
	for _, r := range resp.GetResources() {
		msg, err := r.GetResource().UnmarshalNew()
		if err != nil {
			msg = r.GetResource() // a type that is not linked in
		}
		c.state.Resources[t][r.GetName()], c.state.Versions[t][r.GetName()] = msg, r.GetVersion()
	}
	for _, name := range resp.GetRemovedResources() {
		delete(c.state.Resources[t], name)
		delete(c.state.Versions[t], name)
	}
}
