package validate

import (
	"hash/maphash"
	"sync"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// Checker checks resources as they are made. It finds what is inside of a resource in its serialised form, where that is
// cheap, and looks into one and the same Any or virtual host once. It is safe for concurrent use.
type Checker struct {
	plans plans
	seed  maphash.Seed

	mu   sync.Mutex
	good map[uint64]struct{} // hashes of parts that were found good
}

// maxGood bounds the parts that are remembered: there are two or three for each service, and a few dozen besides. Beyond
// it all are looked at again.
const maxGood = 1 << 16

// New makes a checker.
func New() *Checker {
	return &Checker{seed: maphash.MakeSeed(), good: map[uint64]struct{}{}}
}

// Resource checks one resource, given its serialised form too. The error is that of Resource.
func (c *Checker) Resource(m proto.Message, serialised []byte) error {
	if c.content(m, serialised, true) {
		return nil
	}
	return Resource(m)
}

// content reports whether all is well with a resource, or the content of an Any. It need not be right when it says no.
func (c *Checker) content(m proto.Message, serialised []byte, top bool) bool {
	if fields(withoutHosts(m)) != nil || len(rules(m, top)) > 0 {
		return false
	}
	// The one rule for what is neither a resource nor the content of an Any, besides that for regular expressions.
	if manager, ok := m.(*hcmv3.HttpConnectionManager); ok && len(rules(manager.GetRouteConfig(), false)) > 0 {
		return false
	}
	if table, ok := m.(*routev3.RouteConfiguration); ok && !c.hosts(table, serialised) {
		return false
	}
	return c.inside(c.plans.of(m.ProtoReflect().Descriptor()), serialised)
}

// hosts checks the virtual hosts of a table that were not seen before. They are serialised in their order.
func (c *Checker) hosts(table *routev3.RouteConfiguration, b []byte) bool {
	const virtualHosts protowire.Number = 2
	for _, host := range table.GetVirtualHosts() {
		for {
			number, kind, n := protowire.ConsumeTag(b)
			if n < 0 {
				return false
			}
			field := protowire.ConsumeFieldValue(number, kind, b[n:])
			if field < 0 {
				return false
			}
			value := b[n : n+field]
			b = b[n+field:]
			if number == virtualHosts && kind == protowire.BytesType {
				value, _ = protowire.ConsumeBytes(value)
				if !c.once(value, func(b []byte) bool { return c.content(host, b, false) }) {
					return false
				}
				break
			}
		}
	}
	return true
}

// inside looks for what is worth a visit in a serialised message.
func (c *Checker) inside(p *plan, b []byte) bool {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
				return false
			}
			b = b[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return false
		}
		b = b[n:]
		if way, ok := p.ways[number]; ok && !c.take(way, value) {
			return false
		}
	}
	return true
}

// withoutHosts is a message without its virtual hosts. A new service is one more of them in a table of a thousand, so
// they are checked one by one, and those that were seen before are not.
func withoutHosts(m proto.Message) proto.Message {
	table, ok := m.(*routev3.RouteConfiguration)
	if !ok {
		return m
	}
	out := (&routev3.RouteConfiguration{}).ProtoReflect()
	table.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Message() == nil || field.Message().FullName() != hostName {
			out.Set(field, value)
		}
		return true
	})
	return out.Interface()
}

func (c *Checker) take(w way, value []byte) bool {
	switch w.to {
	case anAny:
		return c.once(value, c.any)
	case aHost:
		return c.once(value, c.host)
	case aRegex:
		m := &matcherv3.RegexMatcher{}
		return proto.Unmarshal(value, m) == nil && len(expression(m)) == 0
	}
	return c.inside(c.plans.of(w.message), value)
}

// once looks into what was not found good before.
func (c *Checker) once(serialised []byte, look func([]byte) bool) bool {
	sum := maphash.Bytes(c.seed, serialised)
	if c.isGood(sum) {
		return true
	}
	good := look(serialised)
	if good {
		c.remember(sum)
	}
	return good
}

func (c *Checker) any(serialised []byte) bool {
	packed := &anypb.Any{}
	if proto.Unmarshal(serialised, packed) != nil {
		return false
	}
	m, err := unpack(packed)
	return err == nil && c.content(m, packed.GetValue(), false)
}

func (c *Checker) host(serialised []byte) bool {
	m := &routev3.VirtualHost{}
	return proto.Unmarshal(serialised, m) == nil && c.content(m, serialised, false)
}

func (c *Checker) isGood(sum uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.good[sum]
	return ok
}

func (c *Checker) remember(sum uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.good) >= maxGood {
		clear(c.good)
	}
	c.good[sum] = struct{}{}
}
