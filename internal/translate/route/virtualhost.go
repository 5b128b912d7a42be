package route

import (
	"strconv"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/translate/names"
)

// hostName names the virtual host of a service, and is what hosts are sorted by.
func hostName(service *model.Service, port uint32) string {
	return service.Hostname + ":" + strconv.FormatUint(uint64(port), 10)
}

// virtualHost sends all requests for a service to its cluster.
func (b *builder) virtualHost(service *model.Service, port uint32, domains []string) *routev3.VirtualHost {
	name := hostName(service, port)
	return &routev3.VirtualHost{
		Name:                       name,
		Domains:                    domains,
		IncludeRequestAttemptCount: true,
		Routes: []*routev3.Route{{
			Name:      "default",
			Match:     anyPath(),
			Decorator: &routev3.Decorator{Operation: name + "/*"},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: names.Outbound(service.Hostname, port)},
				Timeout:          durationpb.New(0),
				//lint:ignore SA1019 Istio's proxies are configured by this field; its successor also bounds streams that have no timeout.
				MaxGrpcTimeout: durationpb.New(0),
				RetryPolicy:    b.retries,
			}},
		}},
	}
}

// anythingElse takes the names of no service: by the mesh's policy they go where the client was going, or nowhere.
func (b *builder) anythingElse() *routev3.VirtualHost {
	host := func(name string, route *routev3.Route) *routev3.VirtualHost {
		route.Name, route.Match = name, anyPath()
		return &routev3.VirtualHost{
			Name: name, Domains: []string{"*"}, IncludeRequestAttemptCount: true, Routes: []*routev3.Route{route},
		}
	}
	if b.mesh.Config.GetOutboundTrafficPolicy().GetMode() == meshv1alpha1.MeshConfig_OutboundTrafficPolicy_REGISTRY_ONLY {
		return host("block_all", &routev3.Route{Action: &routev3.Route_DirectResponse{
			DirectResponse: &routev3.DirectResponseAction{Status: 502},
		}})
	}
	return host("allow_any", &routev3.Route{Action: &routev3.Route_Route{Route: &routev3.RouteAction{
		ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: names.Passthrough},
		Timeout:          durationpb.New(0),
		//lint:ignore SA1019 see virtualHost
		MaxGrpcTimeout: durationpb.New(0),
	}}})
}

func anyPath() *routev3.RouteMatch {
	return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}}
}
