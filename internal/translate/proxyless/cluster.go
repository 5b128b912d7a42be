package proxyless

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/cluster"
	"github.com/meshd/meshd/internal/translate/envoy"
	"github.com/meshd/meshd/internal/translate/names"
)

// clusterClass is whose clusters a client has: their content depends on nothing of it.
type clusterClass struct{ scope snapshot.Scope }

type clusters struct{ base }

func (clusters) TypeURL() string { return cluster.TypeURL }

func (clusters) Class(s *snapshot.Snapshot, p *model.Proxy) clusterClass {
	return clusterClass{s.Scope(p.Namespace)}
}

func (g clusters) List(c clusterClass) translate.Listing {
	return list(c.scope, func(s *snapshot.Snapshot, service *snapshot.Service, port uint32) (translate.Recipe, bool) {
		return g.Named(s, c, names.Outbound(service.Hostname, port))
	})
}

// clusterKey is empty: the name says everything.
type clusterKey struct{}

func (clusters) Named(s *snapshot.Snapshot, c clusterClass, name string) (translate.Recipe, bool) {
	hostname, port, ok := names.ParseOutbound(name)
	if !ok {
		return translate.Recipe{}, false
	}
	if _, ok := find(s.View(c.scope), hostname, port, ""); !ok {
		return translate.Recipe{}, false
	}
	return translate.Recipe{Name: name, Key: clusterKey{}, Build: func() (proto.Message, error) {
		return &clusterv3.Cluster{
			Name:                 name,
			AltStatName:          names.StatPrefix(name),
			ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
			EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{ServiceName: name, EdsConfig: envoy.OverADS()},
			// Round robin, which all clients have. Not all have least request.
			LbPolicy: clusterv3.Cluster_ROUND_ROBIN,
		}, nil
	}}, true
}
