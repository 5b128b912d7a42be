package xds

import (
	"errors"
	"hash/maphash"
	"unicode/utf8"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// namesField is resource_names of a DiscoveryRequest.
const namesField protowire.Number = 3

const (
	// manyNames is how many names are worth a look whether they are the same.
	manyNames = 16
	// maxTypes bounds the types whose names are known again; clients have a dozen.
	maxTypes = 32
)

// incoming reads the requests of one stream of the state-of-the-world protocol. A client repeats all names that it wants
// in each of them, and each answer to a response is one: thousands of names that mostly say nothing new.
type incoming struct {
	request *discoveryv3.DiscoveryRequest
	// same says that the names are those of the request of that type before; they are left out.
	same bool

	seed maphash.Seed
	last map[string]uint64 // what names hash to, by type URL
}

func newIncoming() *incoming { return &incoming{seed: maphash.MakeSeed(), last: map[string]uint64{}} }

// read takes in a serialised request.
func (in *incoming) read(data mem.BufferSlice) error {
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	b := buffer.ReadOnlyData()
	var hash maphash.Hash
	hash.SetSeed(in.seed)
	var rest []byte
	count := 0
	if err := fields(b, func(name []byte) {
		hash.Write(name)
		hash.WriteByte(0)
		count++
	}, func(field []byte) { rest = append(rest, field...) }); err != nil {
		return err
	}
	in.request = &discoveryv3.DiscoveryRequest{}
	if err := proto.Unmarshal(rest, in.request); err != nil {
		return err
	}
	url, sum := in.request.GetTypeUrl(), hash.Sum64()
	last, known := in.last[url]
	if in.same = known && last == sum && count >= manyNames; in.same {
		return nil
	}
	if len(in.last) >= maxTypes {
		clear(in.last)
	}
	in.last[url] = sum
	names, valid := make([]string, 0, count), true
	if err := fields(b, func(name []byte) {
		valid = valid && utf8.Valid(name)
		names = append(names, string(name))
	}, func([]byte) {}); err != nil {
		return err
	}
	if !valid {
		return errors.New("a resource name is not UTF-8")
	}
	in.request.ResourceNames = names
	return nil
}

// fields goes through the names of a serialised request, and through all other fields of it with their tags.
func fields(b []byte, name, other func([]byte)) error {
	for len(b) > 0 {
		number, typ, tag := protowire.ConsumeTag(b)
		if tag < 0 {
			return protowire.ParseError(tag)
		}
		n := protowire.ConsumeFieldValue(number, typ, b[tag:])
		if n < 0 {
			return protowire.ParseError(n)
		}
		if number == namesField && typ == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(b[tag:])
			name(value)
		} else {
			other(b[:tag+n])
		}
		b = b[tag+n:]
	}
	return nil
}
