// Package validate tells whether Envoy would accept resources, as far as that can be told without an Envoy.
//
// The generated validators know the rules of single fields, but stop at every Any, and know nothing of what holds
// between fields and between resources. This package adds that, in two ways: Resource says what is wrong with one
// resource and where, and a Checker tells fast that nothing is, for every resource that is made. Set is about resources
// together.
package validate

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// Resource checks one resource and everything inside of it. The error has a line for each thing that is wrong, which
// begins with the path to it.
func Resource(m proto.Message) error {
	v := &visitor{plans: &plans{}}
	var problems []error
	add := func(err error) {
		if err != nil {
			problems = append(problems, v.at(err))
		}
	}
	v.visit = func(m proto.Message) {
		if v.content() {
			add(fields(m))
		}
		for _, err := range rules(m, v.top()) {
			add(err)
		}
	}
	v.open = func(_ *anypb.Any, open func() error) { add(open()) }
	v.walk(m)
	return errors.Join(problems...)
}

// fields holds a message to the rules of single fields, to where an Any begins.
func fields(m proto.Message) error {
	if checked, ok := m.(interface{ ValidateAll() error }); ok {
		return checked.ValidateAll()
	}
	return nil
}

// unpack gives the content of an Any. A type that is not known is an error that names it.
func unpack(packed *anypb.Any) (proto.Message, error) {
	m, err := packed.UnmarshalNew()
	if err != nil {
		return nil, fmt.Errorf("an Any of type %q cannot be read: %w", packed.GetTypeUrl(), err)
	}
	return m, nil
}
