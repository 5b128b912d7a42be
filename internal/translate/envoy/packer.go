// Package envoy has the pieces of Envoy configuration that several kinds of resources share.
package envoy

import (
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	udpav1 "github.com/cncf/xds/go/udpa/type/v1"
)

// Packer packs messages into Any values. It keeps the first error, so that a tree of messages can be written as one
// expression and checked once at its end. The zero value is ready; a Packer is for one goroutine.
type Packer struct{ err error }

// Err is the first error of any method, or nil.
func (p *Packer) Err() error { return p.err }

// Any packs a message, with the same bytes for equal messages.
func (p *Packer) Any(m proto.Message) *anypb.Any {
	out := &anypb.Any{}
	if err := anypb.MarshalFrom(out, m, proto.MarshalOptions{Deterministic: true}); err != nil && p.err == nil {
		p.err = fmt.Errorf("pack %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return out
}

// TypedStruct packs the configuration of an extension that has no Go type: Istio's own filters.
func (p *Packer) TypedStruct(typeURL string, value map[string]any) *anypb.Any {
	fields, err := structpb.NewStruct(value)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("pack %s: %w", typeURL, err)
	}
	return p.Any(&udpav1.TypedStruct{TypeUrl: typeURL, Value: fields})
}

// Address is a TCP socket's address.
func Address(address string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: SocketAddress(address, port)}}
}

// SocketAddress is Address without its wrapping.
func SocketAddress(address string, port uint32) *corev3.SocketAddress {
	return &corev3.SocketAddress{Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port}}
}

// OverADS says that a resource comes on the stream that its user came on, and that Envoy waits for it without limit:
// a proxy that gives up waiting would serve errors where patience serves answers.
func OverADS() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		InitialFetchTimeout:   durationpb.New(0),
		ResourceApiVersion:    corev3.ApiVersion_V3,
	}
}
