package endpoint

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate/validate"
)

// TestAssignment: who is behind a service port, by place, with weights, and who is not.
func TestAssignment(t *testing.T) {
	a, b := model.Locality{Region: "r", Zone: "a"}, model.Locality{Region: "r", Zone: "b"}
	ep := func(address string, place model.Locality, health model.Health, weight uint32) *model.Endpoint {
		return &model.Endpoint{Addresses: []string{address}, Port: 80, Health: health, Locality: place, Weight: weight}
	}
	all := []*model.Endpoint{
		ep("10.0.0.1", b, model.Healthy, 0),
		ep("10.0.0.2", a, model.Healthy, 5),
		ep("10.0.0.3", a, model.Unhealthy, 1),
		ep("10.0.0.4", a, model.Draining, 1),
		ep("10.0.0.8", a, model.Terminating, 1),
		ep("10.0.0.5", a, model.Healthy, 3),
		ep("10.0.0.6", model.Locality{}, model.Healthy, math.MaxUint32),
		ep("10.0.0.7", model.Locality{}, model.Healthy, 9),
		ep("a.name.example", a, model.Healthy, 1),
		{Locality: a, Port: 80},
	}
	type place struct {
		Zone    string
		Weight  uint32
		Members []string
	}
	m := assignment("c", key{endpoints: &snapshot.Endpoints{Service: &model.Service{KeepDraining: true}, All: all}})
	if err := validate.Resource(m); err != nil {
		t.Error(err)
	}
	var got []place
	for _, l := range m.GetEndpoints() {
		p := place{Zone: l.GetLocality().GetZone(), Weight: l.GetLoadBalancingWeight().GetValue()}
		for _, e := range l.GetLbEndpoints() {
			p.Members = append(p.Members, fmt.Sprintf("%s %d %s",
				e.GetEndpoint().GetAddress().GetSocketAddress().GetAddress(), e.GetLoadBalancingWeight().GetValue(), e.GetHealthStatus()))
		}
		got = append(got, p)
	}
	want := []place{
		{"", math.MaxUint32, []string{"10.0.0.6 4294967295 HEALTHY", "10.0.0.7 9 HEALTHY"}},
		{"a", 10, []string{"10.0.0.2 5 HEALTHY", "10.0.0.3 1 UNHEALTHY", "10.0.0.4 1 DRAINING", "10.0.0.5 3 HEALTHY"}},
		{"b", 1, []string{"10.0.0.1 1 HEALTHY"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func TestCanonical(t *testing.T) {
	tests := []struct {
		labels            map[string]string
		service, revision string
	}{
		{nil, "work", ""},
		{map[string]string{"app": "a", "version": "v1"}, "a", "v1"},
		{map[string]string{"app": "a", "app.kubernetes.io/name": "b", "app.kubernetes.io/version": "v2", "version": "v1"}, "b", "v2"},
		{map[string]string{
			"service.istio.io/canonical-name": "c", "service.istio.io/canonical-revision": "latest", "app": "a", "version": "v1",
		}, "c", ""},
	}
	for _, test := range tests {
		service, revision := canonical(&model.Endpoint{Labels: test.labels, Workload: "work"})
		if service != test.service || revision != test.revision {
			t.Errorf("%v is %q, %q; want %q, %q", test.labels, service, revision, test.service, test.revision)
		}
	}
}
