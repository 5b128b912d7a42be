package cluster

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	httpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/envoy"
	"github.com/meshd/meshd/internal/translate/names"
)

// never is the longest duration that Envoy takes, in seconds: it keeps durations in 64 bits of nanoseconds.
const never = 9223372035

type inboundKey struct {
	mesh     *snapshot.Mesh
	inbound  *snapshot.Inbound
	families envoy.Families
}

// inbound is the cluster of one of the workload's own ports.
func inbound(mesh *snapshot.Mesh, port translate.InboundPort, c class) translate.Recipe {
	name := names.Inbound(port.Number)
	return translate.Recipe{
		Name: name,
		Key:  inboundKey{mesh, c.inbound, c.families},
		Build: build(mesh, func(b *builder) *clusterv3.Cluster {
			return b.inbound(name, port, c)
		}),
	}
}

func (b *builder) inbound(name string, port translate.InboundPort, c class) *clusterv3.Cluster {
	protocol := port.Port.Protocol
	cluster := &clusterv3.Cluster{
		Name:            name,
		AltStatName:     names.StatPrefix(name),
		ConnectTimeout:  b.mesh.Config.GetConnectTimeout(),
		CircuitBreakers: unlimited(),
		CommonLbConfig:  &clusterv3.Cluster_CommonLbConfig{},
		Metadata:        serviceMetadata(port.Services),
	}
	b.protocol(cluster, protocol.IsHTTP2(), protocol == model.ProtocolAuto)
	if b.mesh.Config.GetInboundTrafficPolicy().GetMode() == meshv1alpha1.MeshConfig_InboundTrafficPolicy_LOCALHOST {
		cluster.ClusterDiscoveryType = discovery(clusterv3.Cluster_STATIC)
		cluster.LoadAssignment = &endpointv3.ClusterLoadAssignment{
			ClusterName: name,
			Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
					Address: envoy.Address(c.families.Localhost(), port.Number),
				}},
			}}}},
		}
		return cluster
	}
	cluster.ClusterDiscoveryType = discovery(clusterv3.Cluster_ORIGINAL_DST)
	cluster.LbPolicy = clusterv3.Cluster_CLUSTER_PROVIDED
	// The workload has one address; forgetting and learning it again would only cost connections.
	cluster.CleanupInterval = &durationpb.Duration{Seconds: never}
	if cluster.UpstreamBindConfig = ownSource(c.families); c.families.Dual() {
		extraSource(cluster.UpstreamBindConfig)
	}
	return cluster
}

// ownSource makes the proxy's connections to its own workload known to the pod's redirection rules.
func ownSource(f envoy.Families) *corev3.BindConfig {
	return &corev3.BindConfig{SourceAddress: envoy.SocketAddress(f.InboundSource(), 0)}
}

// extraSource is the source address for a workload that is reached in the other family.
func extraSource(b *corev3.BindConfig) {
	b.ExtraSourceAddresses = []*corev3.ExtraSourceAddress{
		{Address: envoy.SocketAddress(envoy.Families{V6: true}.InboundSource(), 0)},
	}
}

type fixedKey struct {
	mesh       *snapshot.Mesh
	istioBuild bool
	families   envoy.Families
}

// fixed are the clusters for traffic that belongs to no service.
func fixed(mesh *snapshot.Mesh, c class, name string) (translate.Recipe, bool) {
	if !c.sidecar && name != names.BlackHole {
		return translate.Recipe{}, false
	}
	recipe := func(key fixedKey, make func(*builder) *clusterv3.Cluster) (translate.Recipe, bool) {
		return translate.Recipe{Name: name, Key: key, Build: build(mesh, make)}, true
	}
	switch name {
	case names.BlackHole:
		return recipe(fixedKey{mesh: mesh}, func(*builder) *clusterv3.Cluster {
			return &clusterv3.Cluster{
				Name:                 name,
				AltStatName:          names.StatPrefix(name),
				ClusterDiscoveryType: discovery(clusterv3.Cluster_STATIC),
				ConnectTimeout:       mesh.Config.GetConnectTimeout(),
			}
		})
	case names.Passthrough:
		return recipe(fixedKey{mesh: mesh, istioBuild: c.istioBuild}, func(b *builder) *clusterv3.Cluster {
			cluster := b.passthrough(name)
			if c.istioBuild {
				cluster.Filters = []*clusterv3.Filter{{Name: envoy.MetadataExchangeName, TypedConfig: b.MetadataExchangeTCP()}}
			}
			return cluster
		})
	case names.InboundPassthrough:
		return recipe(fixedKey{mesh: mesh, families: c.families}, func(b *builder) *clusterv3.Cluster {
			cluster := b.passthrough(name)
			cluster.UpstreamBindConfig = ownSource(c.families)
			if c.families.V4 && c.families.V6 {
				extraSource(cluster.UpstreamBindConfig)
			}
			return cluster
		})
	}
	return translate.Recipe{}, false
}

// passthrough sends to wherever the client was going. Both passthrough clusters count under one name in statistics.
func (b *builder) passthrough(name string) *clusterv3.Cluster {
	cluster := &clusterv3.Cluster{
		Name:                 name,
		AltStatName:          names.StatPrefix(names.Passthrough),
		ClusterDiscoveryType: discovery(clusterv3.Cluster_ORIGINAL_DST),
		LbPolicy:             clusterv3.Cluster_CLUSTER_PROVIDED,
		ConnectTimeout:       b.mesh.Config.GetConnectTimeout(),
		CircuitBreakers:      unlimited(),
	}
	b.httpOptions(cluster, &httpv3.HttpProtocolOptions{
		// Connections to unknown places should not linger for the hour that is Envoy's default.
		CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{IdleTimeout: &durationpb.Duration{Seconds: 300}},
		UpstreamProtocolOptions:   clientProtocol(),
	})
	return cluster
}
