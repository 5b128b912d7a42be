package snapshot

import (
	"maps"
	"reflect"
	"slices"

	"github.com/meshd/meshd/internal/model"
)

// sameService reports that two services have equal content.
func sameService(a, b *model.Service) bool { return reflect.DeepEqual(a, b) }

// sameRecord reports that two records have equal content. They are of one service if, and only if, it is one pointer.
func sameRecord(a, b *Service) bool {
	return a.Service == b.Service && slices.Equal(a.Identities, b.Identities) && slices.Equal(a.Aliases, b.Aliases) &&
		slices.Equal(a.Mutual, b.Mutual) && slices.Equal(a.ShownTo, b.ShownTo)
}

// sameEndpoint reports that two endpoints have equal content. It is written out because endpoints are compared by the
// thousand; a test holds it to the fields of the type.
func sameEndpoint(a, b *model.Endpoint) bool {
	return slices.Equal(a.Addresses, b.Addresses) && a.Port == b.Port && a.Health == b.Health &&
		a.Locality == b.Locality && a.Weight == b.Weight && a.Hostname == b.Hostname &&
		a.Pod == b.Pod && a.Namespace == b.Namespace && a.Workload == b.Workload &&
		a.ServiceAccount == b.ServiceAccount && maps.Equal(a.Labels, b.Labels) && a.Node == b.Node &&
		a.ClusterID == b.ClusterID && a.Network == b.Network && a.MutualTLS == b.MutualTLS
}
