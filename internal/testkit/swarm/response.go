package swarm

import (
	"encoding/binary"
	"fmt"
	"io"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// response is what a client reads of a response in either protocol. It refers to the bytes that it was read from.
type response struct {
	typeURL, version, nonce string
	resources               []item
	removed                 []string // delta only
}

// item is one resource of a response.
type item struct {
	version string // delta only
	value   []byte
}

// parse reads a response. Both protocols have the same numbers for what they share. What has to be put together is in
// scratch, or in what it becomes.
func parse(message mem.BufferSlice, delta bool, scratch *[]byte) (response, error) {
	var r response
	c := cursor{rest: message, scratch: (*scratch)[:0]}
	defer func() { *scratch = c.scratch }()
	for c.more() {
		field, value, err := c.field()
		if err != nil {
			return r, err
		}
		switch field {
		case 1:
			r.version = string(value)
		case 2:
			res, err := parseItem(value, delta)
			if err != nil {
				return r, err
			}
			r.resources = append(r.resources, res)
		case 4:
			r.typeURL = string(value)
		case 5:
			r.nonce = string(value)
		case 6:
			if delta {
				r.removed = append(r.removed, string(value))
			}
		}
	}
	if r.typeURL == "" || r.nonce == "" {
		return r, fmt.Errorf("a response without type or nonce")
	}
	return r, nil
}

// cursor goes through a message in several buffers. To put one of megabytes together would cost more than to read it.
type cursor struct {
	rest    mem.BufferSlice
	at      []byte
	scratch []byte // only appended to
}

// more reports whether there is anything left.
func (c *cursor) more() bool {
	for len(c.at) == 0 && len(c.rest) > 0 {
		c.at, c.rest = c.rest[0].ReadOnlyData(), c.rest[1:]
	}
	return len(c.at) > 0
}

// field reads a field; its value is nil if it is a number. What lies in one buffer is not copied.
func (c *cursor) field() (protowire.Number, []byte, error) {
	tag, err := c.number()
	if err != nil {
		return 0, nil, err
	}
	field, typ := protowire.DecodeTag(tag)
	n, err := c.number()
	if err != nil || typ == protowire.VarintType {
		return field, nil, err
	}
	if typ != protowire.BytesType {
		return 0, nil, fmt.Errorf("a field of type %d in a response", typ)
	}
	value, err := c.take(n)
	return field, value, err
}

func (c *cursor) number() (uint64, error) {
	if v, n := protowire.ConsumeVarint(c.at); n > 0 {
		c.at = c.at[n:]
		return v, nil
	}
	var b []byte
	for len(b) < binary.MaxVarintLen64 && c.more() {
		b, c.at = append(b, c.at[0]), c.at[1:]
		if v, n := protowire.ConsumeVarint(b); n > 0 {
			return v, nil
		}
	}
	return 0, io.ErrUnexpectedEOF
}

func (c *cursor) take(n uint64) ([]byte, error) {
	if n <= uint64(len(c.at)) {
		value := c.at[:n]
		c.at = c.at[n:]
		return value, nil
	}
	if free := cap(c.scratch) - len(c.scratch); n > uint64(free) {
		c.scratch = make([]byte, 0, max(n, uint64(2*cap(c.scratch)))) // earlier values keep the old one
	}
	begin := len(c.scratch)
	for n > 0 {
		if !c.more() {
			return nil, io.ErrUnexpectedEOF
		}
		part := min(n, uint64(len(c.at)))
		c.scratch, c.at, n = append(c.scratch, c.at[:part]...), c.at[part:], n-part
	}
	return c.scratch[begin:], nil
}

// parseItem reads an Any or, in delta, the Resource that an Any is in.
func parseItem(value []byte, delta bool) (out item, err error) {
	content := value
	if delta {
		content = nil
		err = fields(value, func(field protowire.Number, v []byte) error {
			switch field {
			case 1:
				out.version = string(v)
			case 2:
				content = v
			}
			return nil
		})
		if err != nil {
			return out, err
		}
	}
	err = fields(content, func(field protowire.Number, v []byte) error {
		if field == 2 {
			out.value = v
		}
		return nil
	})
	return out, err
}

// fields calls a function with each field of a message that is a string, bytes or a message.
func fields(message []byte, f func(field protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		field, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		n = protowire.ConsumeFieldValue(field, typ, message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if typ == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message[:n])
			if err := f(field, value); err != nil {
				return err
			}
		}
		message = message[n:]
	}
	return nil
}

// inner gives the parts of a message that a path of fields leads to.
func inner(message []byte, path ...protowire.Number) (out [][]byte) {
	if len(path) == 0 {
		return [][]byte{message}
	}
	// What cannot be read has no parts: a real proxy would refuse it, and a test sees that something is missing.
	_ = fields(message, func(field protowire.Number, value []byte) error {
		if field == path[0] {
			out = append(out, inner(value, path[1:]...)...)
		}
		return nil
	})
	return out
}
