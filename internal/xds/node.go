package xds

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/meshd/meshd/internal/model"
)

// proxyFromNode reads who a client says it is.
func proxyFromNode(node *corev3.Node) (*model.Proxy, error) {
	p, err := model.NewProxy(node.GetId(), node.GetMetadata().AsMap())
	if err != nil {
		return nil, err
	}
	if l := node.GetLocality(); l != nil {
		p.Locality = model.Locality{Region: l.GetRegion(), Zone: l.GetZone(), SubZone: l.GetSubZone()}
	}
	return p, nil
}
