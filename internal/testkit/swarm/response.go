package swarm

import (
	"fmt"

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

// parse reads a response. Both protocols have the same numbers for what they share.
func parse(message []byte, delta bool) (response, error) {
	var r response
	err := fields(message, func(field protowire.Number, value []byte) error {
		switch field {
		case 1:
			r.version = string(value)
		case 2:
			res, err := parseItem(value, delta)
			if err != nil {
				return err
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
		return nil
	})
	if err == nil && (r.typeURL == "" || r.nonce == "") {
		err = fmt.Errorf("a response without type or nonce")
	}
	return r, err
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
