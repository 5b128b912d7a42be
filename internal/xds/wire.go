package xds

import (
	"context"
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// wire is a stream in one of the two protocols. Beyond it, a stream does not know which one its client speaks.
type wire interface {
	encoding() subscription.Encoding
	// receive waits for the next request; the node is that of the client, or nil where it says it no more.
	receive() (*corev3.Node, subscription.Request, error)
	// send sends a response, most of which is likely to be of a set; nil if that is not known.
	send(subscription.Response, *resource.Set) error
	answer(typeURL, nonce string, a Answer) error
	Context() context.Context
}

// sotw is the state-of-the-world protocol.
type sotw struct {
	discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer
	in *incoming
}

func (sotw) encoding() subscription.Encoding { return subscription.StateOfTheWorld }

func (w sotw) receive() (*corev3.Node, subscription.Request, error) {
	if err := w.RecvMsg(w.in); err != nil {
		return nil, subscription.Request{}, err
	}
	r := w.in.request
	return r.GetNode(), subscription.Request{
		TypeURL: r.GetTypeUrl(), Nonce: r.GetResponseNonce(), Refused: refusal(r.GetErrorDetail()),
		Names: r.GetResourceNames(), Same: w.in.same,
	}, nil
}

func (w sotw) send(r subscription.Response, of *resource.Set) error {
	return w.SendMsg(encodeSotW(r, of))
}

func (w sotw) answer(typeURL, nonce string, a Answer) error {
	out := &discoveryv3.DiscoveryResponse{TypeUrl: typeURL, Nonce: nonce, VersionInfo: nonce, ControlPlane: controlPlane(a.Identifier)}
	for _, r := range a.Resources {
		out.Resources = append(out.Resources, r.GetResource())
	}
	return w.Send(out)
}

// delta is the incremental protocol.
type delta struct {
	discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer
}

func (delta) encoding() subscription.Encoding { return subscription.Delta }

func (w delta) receive() (*corev3.Node, subscription.Request, error) {
	r, err := w.Recv()
	if err != nil {
		return nil, subscription.Request{}, err
	}
	return r.GetNode(), subscription.Request{
		TypeURL: r.GetTypeUrl(), Nonce: r.GetResponseNonce(), Refused: refusal(r.GetErrorDetail()),
		Subscribe: r.GetResourceNamesSubscribe(), Unsubscribe: r.GetResourceNamesUnsubscribe(), Have: r.GetInitialResourceVersions(),
	}, nil
}

func (w delta) send(r subscription.Response, of *resource.Set) error {
	return w.SendMsg(encodeDelta(r, of))
}

func (w delta) answer(typeURL, nonce string, a Answer) error {
	return w.Send(&discoveryv3.DeltaDiscoveryResponse{
		TypeUrl: typeURL, Nonce: nonce, SystemVersionInfo: nonce, ControlPlane: controlPlane(a.Identifier), Resources: a.Resources,
	})
}

func controlPlane(identifier string) *corev3.ControlPlane {
	if identifier == "" {
		return nil
	}
	return &corev3.ControlPlane{Identifier: identifier}
}

// maxText bounds what is kept of a client's error text, in bytes.
const maxText = 2048

// refusal gives the text of a refusal, or nil for none.
func refusal(detail *rpcstatus.Status) *string {
	if detail == nil {
		return nil
	}
	text := fmt.Sprintf("%.*s", maxText, detail.GetMessage())
	return &text
}
