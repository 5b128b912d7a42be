package snapshot_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/testkit/scenario"
)

// TestScenarioBookinfo holds the records to what istiod told proxies about the same cluster.
func TestScenarioBookinfo(t *testing.T) {
	sc := scenario.Load(t, scenario.Shared(t, "s01-bookinfo"))
	s := sc.Snapshot(t, nil)

	t.Run("identities", func(t *testing.T) {
		want := map[string][]string{
			"details.default.svc.cluster.local":     {"spiffe://cluster.local/ns/default/sa/bookinfo-details"},
			"productpage.default.svc.cluster.local": {"spiffe://cluster.local/ns/default/sa/bookinfo-productpage"},
			"ratings.default.svc.cluster.local":     {"spiffe://cluster.local/ns/default/sa/bookinfo-ratings"},
			"reviews.default.svc.cluster.local":     {"spiffe://cluster.local/ns/default/sa/bookinfo-reviews"},
		}
		got := map[string][]string{}
		for _, svc := range s.Services() {
			if len(svc.Identities) > 0 {
				got[svc.Hostname] = svc.Identities
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("identities (-want +got):\n%s", diff)
		}
	})

	t.Run("endpoints", func(t *testing.T) {
		for cluster, want := range expectedEndpoints(t, sc.Clients[0]) {
			f := strings.Split(cluster, "|")
			svc := s.Service(f[3])
			if svc == nil {
				if !strings.HasPrefix(f[3], "kubernetes.default.") {
					t.Errorf("no service %s", f[3])
				}
				continue
			}
			var port uint32
			for _, p := range svc.Ports {
				if f[1] == itoa(p.Number) {
					port = p.Number
				}
			}
			var got []string
			for _, ep := range s.Endpoints(f[3], port).All {
				got = append(got, ep.Locality.String()+" "+ep.Addresses[0]+":"+itoa(ep.Port)+" "+strings.Join([]string{
					ep.Workload, ep.Namespace, ep.Labels["service.istio.io/canonical-name"], ep.Labels["service.istio.io/canonical-revision"], ep.ClusterID}, ";"))
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", cluster, diff)
			}
		}
	})

	t.Run("inbound", func(t *testing.T) {
		p, err := model.ParseNodeID("sidecar~10.244.0.4~reviews-v1-7d4f8c9b6-p0000.default~default.svc.cluster.local")
		if err != nil {
			t.Fatal(err)
		}
		in := s.Inbound(p)
		if len(in.Targets) != 1 || in.Targets[0].Service != s.Service("reviews.default.svc.cluster.local").Service || in.Targets[0].TargetPort != 9080 {
			t.Errorf("inbound of reviews-v1: %+v", in.Targets)
		}
		p2, _ := model.ParseNodeID("sidecar~10.244.0.5~reviews-v2-7d4f8c9b6-p0000.default~default.svc.cluster.local")
		if s.Inbound(p2) != in {
			t.Errorf("workloads behind the same services do not share their inbound")
		}
	})
}

// expectedEndpoints reads what istiod sent to a proxy, as "locality address:port workload" by cluster.
func expectedEndpoints(t *testing.T, client scenario.Client) map[string][]string {
	t.Helper()
	data, err := json.Marshal(client.Expected["endpoints"])
	if err != nil {
		t.Fatal(err)
	}
	var assignments map[string]struct {
		Endpoints []struct {
			Locality    struct{ Region, Zone, SubZone string }
			LbEndpoints []struct {
				Endpoint struct {
					Address struct {
						SocketAddress struct {
							Address   string
							PortValue uint32
						}
					}
				}
				Metadata struct {
					FilterMetadata struct {
						Istio struct{ Workload string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(data, &assignments); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for cluster, cla := range assignments {
		var list []string
		for _, group := range cla.Endpoints {
			l := model.Locality{Region: group.Locality.Region, Zone: group.Locality.Zone, SubZone: group.Locality.SubZone}
			for _, e := range group.LbEndpoints {
				a := e.Endpoint.Address.SocketAddress
				list = append(list, l.String()+" "+a.Address+":"+itoa(a.PortValue)+" "+e.Metadata.FilterMetadata.Istio.Workload)
			}
		}
		slices.Sort(list)
		out[cluster] = list
	}
	if len(out) == 0 {
		t.Fatal("no endpoints in the expected answer")
	}
	return out
}

func itoa(n uint32) string { return strconv.Itoa(int(n)) }
