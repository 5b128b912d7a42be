package validate

import (
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// plans say for each type of message which fields are worth a visit: those that may lead to an Any or to a regular
// expression. Everything that has a rule of its own is on the way to one of them.
type plans struct{ byType sync.Map } // *plan by protoreflect.MessageDescriptor

type plan struct {
	fields []protoreflect.FieldDescriptor
	ways   map[protowire.Number]way
}

// way is where a field leads.
type way struct {
	to      destination
	message protoreflect.MessageDescriptor // of the field; that of a map is an entry, with the value in field 2
}

type destination uint8

const (
	further destination = iota
	anAny
	aHost
	aRegex
)

const (
	anyName   protoreflect.FullName = "google.protobuf.Any"
	hostName  protoreflect.FullName = "envoy.config.route.v3.VirtualHost"
	regexName protoreflect.FullName = "envoy.type.matcher.v3.RegexMatcher"
)

func (p *plans) of(d protoreflect.MessageDescriptor) *plan {
	if known, ok := p.byType.Load(d); ok {
		return known.(*plan)
	}
	out := &plan{ways: map[protowire.Number]way{}}
	for i := range d.Fields().Len() {
		field := d.Fields().Get(i)
		if sub := field.Message(); sub != nil && leads(sub, map[protoreflect.FullName]bool{}) {
			out.fields = append(out.fields, field)
			out.ways[field.Number()] = way{destinationOf(sub), sub}
		}
	}
	p.byType.Store(d, out)
	return out
}

func destinationOf(d protoreflect.MessageDescriptor) destination {
	switch d.FullName() {
	case anyName:
		return anAny
	case hostName:
		return aHost
	case regexName:
		return aRegex
	}
	return further
}

// leads reports whether a message of the type may hold what is looked for, or is that itself.
func leads(d protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) bool {
	if destinationOf(d) != further {
		return true
	}
	if seen[d.FullName()] {
		return false
	}
	seen[d.FullName()] = true
	for i := range d.Fields().Len() {
		if sub := d.Fields().Get(i).Message(); sub != nil && leads(sub, seen) {
			return true
		}
	}
	return false
}
