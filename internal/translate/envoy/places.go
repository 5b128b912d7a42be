package envoy

import (
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	networkingv1alpha3 "istio.io/api/networking/v1alpha3"

	"github.com/meshd/meshd/internal/model"
)

// Shares are the shares of a service's requests that places take, by the mesh config; none if it has none, or if the
// service says which places it prefers.
func Shares(mesh *meshv1alpha1.MeshConfig, service *model.Service) []*networkingv1alpha3.LocalityLoadBalancerSetting_Distribute {
	setting := mesh.GetLocalityLbSetting()
	if service.Distribution != model.DistributeAny || setting.GetEnabled() != nil && !setting.GetEnabled().GetValue() {
		return nil
	}
	return setting.GetDistribute()
}

// PlacesWeighted reports whether requests for a service are shared out among places, and not among endpoints alone.
func PlacesWeighted(mesh *meshv1alpha1.MeshConfig, service *model.Service) bool {
	return service.Distribution != model.DistributeAny || len(Shares(mesh, service)) > 0
}
