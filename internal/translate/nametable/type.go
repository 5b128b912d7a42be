package nametable

import (
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Type is the message type of a name table, for who reads one: it is in no registry.
func Type() protoreflect.MessageType { return dynamicpb.NewMessageType(newSchema().nameTable) }
