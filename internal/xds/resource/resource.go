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
	"strconv"

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
	frame   mem.Buffer // the end of delta: they share their bytes
	delta   mem.Buffer
	size    int // of the frame, with its pieces
	sum     digest
	pieces  []*Resource // what follows, if it was put together
}

// digest is the identity of a resource's content.
type digest [sha256.Size]byte

// Name of the resource, as clients ask for it.
func (r *Resource) Name() string { return r.name }

// Version is a hash of type, name and content in 16 hexadecimal digits. Every replica gives equal content the same.
func (r *Resource) Version() string { return r.version }

// Hash is the version as a number. It is never 0, so that 0 can mean "nothing".
func (r *Resource) Hash() uint64 { return r.hash }

// Frame is the resource as field 2 of a DiscoveryResponse: tag, length and Any. Its buffers need no freeing and must not
// be changed. The same frame is field 2 of the delta protocol's Resource.
func (r *Resource) Frame() mem.BufferSlice { return r.appendFrame(nil, false) }

// DeltaFrame is the resource as field 2 of a DeltaDiscoveryResponse: tag, length and Resource, with name and version
// before the frame. Its buffers need no freeing and must not be changed.
func (r *Resource) DeltaFrame() mem.BufferSlice { return r.appendFrame(nil, true) }

// Size is the length of the frame, in bytes.
func (r *Resource) Size() int { return r.size }

// Claim is a resource that a client says it has, in that version, known by nothing else: it has no frames and cannot be
// sent. A version that meshd did not give is that of no resource.
func Claim(name, version string) *Resource {
	const unknown = 1
	hash, err := strconv.ParseUint(version, 16, 64)
	if err != nil || len(version) != versionLen {
		hash = unknown
	}
	return &Resource{name: name, version: version, hash: max(hash, 1)}
}

// Claimed says that the resource was made by Claim.
func (r *Resource) Claimed() bool { return r.frame == nil }

// Any gives the serialised google.protobuf.Any without tag and length, for debug pages and tests.
func (r *Resource) Any() []byte {
	b := r.Frame().Materialize()
	_, _, n := protowire.ConsumeTag(b)
	body, _ := protowire.ConsumeBytes(b[n:])
	return body
}

// The other fields of a delta Resource, and of an Any.
const (
	versionField protowire.Number = 1
	nameField    protowire.Number = 3
	urlField     protowire.Number = 1
	valueField   protowire.Number = 2
)

// versionLen is the length of a version, in bytes.
const versionLen = 16

// serialised is a message on its way to become a resource: space for the head of a delta frame, then the frame, or its
// beginning if the rest is in pieces.
type serialised struct {
	bytes []byte
	head  int // the length of that space
	inner int // the length of the delta Resource
	size  int // the length of the frame
}

// How resources came about is part of their identity, so that none is taken for one that is sent in another way.
const (
	whole     byte = 0
	assembled byte = 1
	piece     byte = 2
)

// serialise gives the bytes of a message.
func serialise(msg proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(msg)
	if err != nil {
		return nil, fmt.Errorf("serialise: %w", err)
	}
	return b, nil
}

// identify gives the identity of a content, in parts.
func identify(name string, how byte, parts ...[]byte) (sum digest) {
	h := sha256.New()
	h.Write([]byte(name))
	h.Write([]byte{how})
	for _, part := range parts {
		h.Write(part)
	}
	h.Sum(sum[:0])
	return sum
}

// enclose gives the frame of a message, of which length bytes more are in pieces. What comes before the frame in the delta
// protocol holds the version, which depends on the content: it is left to newResource.
func enclose(typeURL, name string, body []byte, more int) serialised {
	length := len(body) + more
	size := protowire.SizeTag(urlField) + protowire.SizeBytes(len(typeURL)) +
		protowire.SizeTag(valueField) + protowire.SizeBytes(length)
	frame := protowire.SizeTag(framedField) + protowire.SizeBytes(size)
	inner := protowire.SizeTag(nameField) + protowire.SizeBytes(len(name)) +
		protowire.SizeTag(versionField) + protowire.SizeBytes(versionLen) + frame
	out := serialised{head: protowire.SizeTag(framedField) + protowire.SizeBytes(inner) - frame, inner: inner, size: frame}
	b := make([]byte, out.head, out.head+frame-more)
	b = protowire.AppendTag(b, framedField, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	b = protowire.AppendTag(b, urlField, protowire.BytesType)
	b = protowire.AppendString(b, typeURL)
	b = protowire.AppendTag(b, valueField, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(length))
	out.bytes = append(b, body...)
	return out
}

func newResource(name string, from serialised, sum digest) *Resource {
	hash := max(binary.BigEndian.Uint64(sum[:8]), 1)
	version := FormatVersion(hash)
	head := protowire.AppendTag(from.bytes[:0], framedField, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(from.inner))
	head = protowire.AppendTag(head, nameField, protowire.BytesType)
	head = protowire.AppendString(head, name)
	head = protowire.AppendTag(head, versionField, protowire.BytesType)
	protowire.AppendString(head, version)
	return &Resource{
		name: name, hash: hash, version: version, size: from.size, sum: sum,
		frame: mem.SliceBuffer(from.bytes[from.head:]), delta: mem.SliceBuffer(from.bytes),
	}
}

func newPiece(message []byte, sum digest) *Resource {
	return &Resource{hash: max(binary.BigEndian.Uint64(sum[:8]), 1), size: len(message), sum: sum, frame: mem.SliceBuffer(message)}
}

// FormatVersion writes a hash as a version: 16 hexadecimal digits.
func FormatVersion(hash uint64) string { return fmt.Sprintf("%016x", hash) }
