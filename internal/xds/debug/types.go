package debug

import (
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/meshd/meshd/internal/translate/nametable"
)

// messages finds the types of everything that clients are sent: those that are linked in, and Istio's name table, which
// is in no module that could be.
type messages struct {
	*protoregistry.Types
	nameTable protoreflect.MessageType
}

func newMessages() messages { return messages{protoregistry.GlobalTypes, nametable.Type()} }

// FindMessageByURL is that of protoregistry.MessageTypeResolver.
func (m messages) FindMessageByURL(url string) (protoreflect.MessageType, error) {
	if url == nametable.TypeURL {
		return m.nameTable, nil
	}
	return m.Types.FindMessageByURL(url)
}
