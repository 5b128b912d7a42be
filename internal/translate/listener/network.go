package listener

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	mongov3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/mongo_proxy/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/translate/envoy"
)

// connection are the filters that carry a connection to a cluster.
func (b *builder) connection(inbound bool, protocol model.Protocol, cluster string) []*listenerv3.Filter {
	var out []*listenerv3.Filter
	if inbound {
		out = b.exchange() // outbound, it is a filter of the cluster
	}
	out = append(out, b.stats(inbound)...)
	if protocol == model.ProtocolMongo {
		out = append(out, filter("envoy.filters.network.mongo_proxy", b.Any(&mongov3.MongoProxy{StatPrefix: cluster})))
	}
	return append(out, b.tcpProxy(cluster, b.AccessLog(b.mesh.Config)))
}

func (b *builder) tcpProxy(cluster string, log []*accesslogv3.AccessLog) *listenerv3.Filter {
	return filter("envoy.filters.network.tcp_proxy", b.Any(&tcpv3.TcpProxy{
		StatPrefix:       cluster,
		ClusterSpecifier: &tcpv3.TcpProxy_Cluster{Cluster: cluster},
		AccessLog:        log,
	}))
}

// exchange comes before all other filters, so that what they deny or count has a peer's name on it.
func (b *builder) exchange() []*listenerv3.Filter {
	if !b.istioBuild {
		return nil
	}
	return []*listenerv3.Filter{filter(envoy.MetadataExchangeName, b.MetadataExchangeTCP())}
}

// stats is there if the mesh config wants Istio's metrics and the proxy can keep them.
func (b *builder) stats(inbound bool) []*listenerv3.Filter {
	if !b.istioBuild || !envoy.StatsWanted(b.mesh.Config) {
		return nil
	}
	return []*listenerv3.Filter{filter(envoy.StatsName, b.Stats(inbound))}
}

func filter(name string, config *anypb.Any) *listenerv3.Filter {
	return &listenerv3.Filter{Name: name, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: config}}
}
