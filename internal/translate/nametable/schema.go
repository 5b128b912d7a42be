package nametable

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// schema knows the messages of a name table. They are part of what Istio's agents speak but in none of its modules for
// others, so they are described here, as
//
//	message NameTable {
//	  message NameInfo {
//	    repeated string ips = 1;
//	    string registry = 2;
//	    string shortname = 3;
//	    string namespace = 4;
//	  }
//	  map<string, NameInfo> table = 1;
//	}
type schema struct {
	nameTable                           protoreflect.MessageDescriptor
	entries                             protoreflect.FieldDescriptor
	ips, registry, shortname, namespace protoreflect.FieldDescriptor
}

func newSchema() schema {
	const full = ".istio.networking.nds.v1.NameTable"
	field := func(name string, number int32, label descriptorpb.FieldDescriptorProto_Label, typ descriptorpb.FieldDescriptorProto_Type, of string) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{Name: proto.String(name), Number: proto.Int32(number), Label: label.Enum(), Type: typ.Enum()}
		if of != "" {
			f.TypeName = proto.String(of)
		}
		return f
	}
	const (
		one, many = descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, descriptorpb.FieldDescriptorProto_LABEL_REPEATED
		text, msg = descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	)
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("dns/proto/nds.proto"), Package: proto.String("istio.networking.nds.v1"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{{
			Name:  proto.String("NameTable"),
			Field: []*descriptorpb.FieldDescriptorProto{field("table", 1, many, msg, full+".TableEntry")},
			NestedType: []*descriptorpb.DescriptorProto{
				{Name: proto.String("NameInfo"), Field: []*descriptorpb.FieldDescriptorProto{
					field("ips", 1, many, text, ""), field("registry", 2, one, text, ""),
					field("shortname", 3, one, text, ""), field("namespace", 4, one, text, ""),
				}},
				{Name: proto.String("TableEntry"), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
					Field: []*descriptorpb.FieldDescriptorProto{field("key", 1, one, text, ""), field("value", 2, one, msg, full+".NameInfo")}},
			},
		}},
	}, new(protoregistry.Files))
	if err != nil {
		panic("nametable: the schema that is written here is wrong: " + err.Error()) // a test makes one
	}
	table := file.Messages().ByName("NameTable")
	info := table.Messages().ByName("NameInfo").Fields()
	return schema{
		nameTable: table, entries: table.Fields().ByName("table"),
		ips: info.ByName("ips"), registry: info.ByName("registry"), shortname: info.ByName("shortname"), namespace: info.ByName("namespace"),
	}
}

// message makes a name table.
func (s schema) message(names map[string]entry) proto.Message {
	m := dynamicpb.NewMessage(s.nameTable)
	table := m.Mutable(s.entries).Map()
	for name, e := range names {
		info := table.NewValue().Message()
		ips := info.Mutable(s.ips).List()
		for _, ip := range e.ips {
			ips.Append(protoreflect.ValueOfString(ip))
		}
		info.Set(s.registry, protoreflect.ValueOfString(registry))
		info.Set(s.shortname, protoreflect.ValueOfString(e.short))
		info.Set(s.namespace, protoreflect.ValueOfString(e.namespace))
		table.Set(protoreflect.ValueOfString(name).MapKey(), protoreflect.ValueOfMessage(info))
	}
	return m
}
