// Package resource makes xDS resources once and lets everyone who needs them share the bytes.
//
// A resource is built from a recipe at most once, serialised at most once, and interned by content. It is kept as the
// very bytes that go to the wire, in a form that every response can hold without a copy. A resource lives as long as
// someone refers to it: the store holds only weak references, so there are no reference counts to get wrong.
package resource

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The field that a frame is: `resources` of a DiscoveryResponse, an Any. The `resource` of a delta Resource has the
// same number and type, so the same frame serves both.
const framedField protowire.Number = 2

// Resource is one resource, serialised. It is immutable and safe for concurrent use.
type Resource struct {
	name    string
	version string
	hash    uint64
	frame   mem.Buffer
}

// digest is the identity of a resource's content.
type digest [sha256.Size]byte

// Name of the resource, as clients ask for it.
func (r *Resource) Name() string { return r.name }

// Version is a hash of type, name and content in 16 hexadecimal digits. Every replica gives equal content the same.
func (r *Resource) Version() string { return r.version }

// Hash is the version as a number. It is never 0, so that 0 can mean "nothing".
func (r *Resource) Hash() uint64 { return r.hash }

// Frame is the resource as field 2 of a DiscoveryResponse: tag, length and Any. It needs no freeing and must not be
// changed. The same frame is field 2 of the delta protocol's Resource.
func (r *Resource) Frame() mem.Buffer { return r.frame }

// Any gives the serialised google.protobuf.Any without tag and length, for debug pages and tests.
func (r *Resource) Any() []byte {
	b := r.frame.ReadOnlyData()
	_, _, n := protowire.ConsumeTag(b)
	body, _ := protowire.ConsumeBytes(b[n:])
	return body
}

// serialise gives the frame of a message and the identity of its content.
func serialise(typeURL, name string, msg proto.Message) ([]byte, digest, error) {
	var sum digest
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(msg)
	if err != nil {
		return nil, sum, fmt.Errorf("serialise: %w", err)
	}
	const urlField, valueField protowire.Number = 1, 2 // of google.protobuf.Any
	size := protowire.SizeTag(urlField) + protowire.SizeBytes(len(typeURL)) +
		protowire.SizeTag(valueField) + protowire.SizeBytes(len(body))
	frame := make([]byte, 0, protowire.SizeTag(framedField)+protowire.SizeBytes(size))
	frame = protowire.AppendTag(frame, framedField, protowire.BytesType)
	frame = protowire.AppendVarint(frame, uint64(size))
	frame = protowire.AppendTag(frame, urlField, protowire.BytesType)
	frame = protowire.AppendString(frame, typeURL)
	frame = protowire.AppendTag(frame, valueField, protowire.BytesType)
	frame = protowire.AppendBytes(frame, body)

	h := sha256.New()
	h.Write([]byte(name))
	h.Write([]byte{0})
	h.Write(frame)
	h.Sum(sum[:0])
	return frame, sum, nil
}

func newResource(name string, frame []byte, sum digest) *Resource {
	hash := max(binary.BigEndian.Uint64(sum[:8]), 1)
	return &Resource{name: name, hash: hash, version: FormatVersion(hash), frame: mem.SliceBuffer(frame)}
}

// FormatVersion writes a hash as a version: 16 hexadecimal digits.
func FormatVersion(hash uint64) string { return fmt.Sprintf("%016x", hash) }
