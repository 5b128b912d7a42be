package debug

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds"
	"github.com/meshd/meshd/internal/xds/resource"
)

// SyncStatus and what follows are the shapes of istiod's pages, with the names that istioctl and scripts read.
type (
	SyncStatus struct {
		ClusterID     string                    `json:"cluster_id"`
		ProxyID       string                    `json:"proxy"`
		ProxyType     string                    `json:"proxy_type"`
		IstioVersion  string                    `json:"istio_version"`
		ClusterSent   string                    `json:"cluster_sent"`
		ClusterAcked  string                    `json:"cluster_acked"`
		ListenerSent  string                    `json:"listener_sent"`
		ListenerAcked string                    `json:"listener_acked"`
		RouteSent     string                    `json:"route_sent"`
		RouteAcked    string                    `json:"route_acked"`
		EndpointSent  string                    `json:"endpoint_sent"`
		EndpointAcked string                    `json:"endpoint_acked"`
		Resources     map[string]ResourceStatus `json:"resources"`
	}
	ResourceStatus struct {
		Sent      string    `json:"sent"`
		Acked     string    `json:"acked"`
		SentTime  time.Time `json:"sentTime"`
		LastError string    `json:"lastError"`
	}
	AdsClients struct {
		Total     int         `json:"totalClients"`
		Connected []AdsClient `json:"clients"`
	}
	AdsClient struct {
		ConnectionID string              `json:"connectionId"`
		ConnectedAt  time.Time           `json:"connectedAt"`
		PeerAddress  string              `json:"address"`
		Labels       map[string]string   `json:"labels"`
		Metadata     map[string]any      `json:"metadata"`
		Watches      map[string][]string `json:"watches"`
		// meshd's own:
		Proxy, Flavor, Protocol string
		Types                   []map[string]any
	}
	Shards struct {
		Shards          map[string][]map[string]any
		ServiceAccounts map[string]struct{}
	}
)

func TestSyncz(t *testing.T) {
	protocols(t, func(t *testing.T, r *rig) {
		r.sidecar(frontID)
		other := r.client("sidecar~10.30.0.9~other-0.away~away.svc.cluster.local", func(o *xdsclient.Options) { o.Manual = true })
		r.ask(other, resource.ClusterType)
		r.client("sidecar~10.30.0.9~tool-0.shop~shop.svc.cluster.local", func(o *xdsclient.Options) { o.Metadata["GENERATOR"] = "event" })
		var all []SyncStatus
		r.read("syncz", &all)
		if len(all) != 2 {
			t.Fatalf("%d proxies: %+v", len(all), all)
		}
		front := all[0]
		if front.ProxyID != frontID || front.ProxyType != "sidecar" || front.ClusterID != "Kubernetes" || front.IstioVersion != "1.31.0" {
			t.Errorf("%+v", front)
		}
		for name, v := range map[string][2]string{
			"clusters": {front.ClusterSent, front.ClusterAcked}, "listeners": {front.ListenerSent, front.ListenerAcked},
			"routes": {front.RouteSent, front.RouteAcked}, "endpoints": {front.EndpointSent, front.EndpointAcked},
		} {
			if v[0] == "" || v[0] != v[1] {
				t.Errorf("%s: sent %q, accepted %q", name, v[0], v[1])
			}
		}
		if s := front.Resources[resource.ClusterType]; s.Sent != front.ClusterSent || s.Acked != front.ClusterAcked || s.SentTime.IsZero() || len(front.Resources) != 5 {
			t.Errorf("%+v", front.Resources)
		}
		if o := all[1]; o.ClusterSent == "" || o.ClusterAcked != "" {
			t.Errorf("not acknowledged: %+v", o)
		}
		// A client that refuses has its text shown.
		if err := other.Nack(other.State().Of(resource.ClusterType)[0], "I do not like it"); err != nil {
			t.Fatal(err)
		}
		r.eventually("the refusal is shown", func() bool {
			all = nil
			r.read("syncz?namespace=away", &all)
			return len(all) == 1 && all[0].Resources[resource.ClusterType].LastError == "I do not like it"
		})
		var problems map[string]map[string]map[string]string
		r.read("push_status", &problems)
		want := map[string]map[string]map[string]string{
			"pilot_eds_no_instances": {"outbound|81||empty.shop.svc.cluster.local": {"message": "there is no endpoint behind it"}},
			"pilot_xds_cds_reject":   {all[0].ProxyID + "-2": {"proxy": all[0].ProxyID, "message": "I do not like it"}},
		}
		if d := cmp.Diff(want, problems); d != "" {
			t.Error(d)
		}
	})
}

func TestAdszAndConnections(t *testing.T) {
	protocols(t, func(t *testing.T, r *rig) {
		r.sidecar(frontID)
		r.client("sidecar~10.30.0.9~tool-0.shop~shop.svc.cluster.local", func(o *xdsclient.Options) { o.Metadata["GENERATOR"] = "event" })
		var all AdsClients
		r.read("adsz?proxyID=front-0.shop", &all)
		if all.Total != 1 || len(all.Connected) != 1 {
			t.Fatalf("%+v", all)
		}
		c := all.Connected[0]
		if c.ConnectionID != frontID+"-1" || c.ConnectedAt.IsZero() || !strings.HasPrefix(c.PeerAddress, "127.0.0.1:") || c.Labels["app"] != "front" {
			t.Errorf("%+v", c)
		}
		if c.Metadata["CLUSTER_ID"] != "Kubernetes" || c.Metadata["BEARER_TOKEN"] != "[redacted]" {
			t.Errorf("metadata %v", c.Metadata)
		}
		want := map[string][]string{
			resource.ClusterType: {"*"}, resource.ListenerType: {"*"}, resource.RouteType: {"80"}, resource.SecretType: {"default"},
			resource.EndpointType: {"outbound|80||front.shop.svc.cluster.local", "outbound|81||empty.shop.svc.cluster.local"},
		}
		if d := cmp.Diff(want, c.Watches); d != "" {
			t.Error(d)
		}
		if code, body := r.get("adsz?push=true"); code != http.StatusBadRequest || !strings.Contains(body, "no push to ask for") {
			t.Errorf("push: %d %s", code, body)
		}
		all = AdsClients{}
		r.read("connections", &all)
		if c := all.Connected[0]; c.ConnectionID != frontID+"-1" || c.Proxy != "front-0.shop" || c.Flavor != "envoy" || len(c.Types) != 5 || c.Types[0]["acked"] == "" {
			t.Errorf("%+v", c)
		}
		if want := map[bool]string{false: "sotw", true: "delta"}[r.delta]; all.Connected[0].Protocol != want {
			t.Errorf("protocol %s, want %s", all.Connected[0].Protocol, want)
		}
	})
}

func TestRegistryAndEndpoints(t *testing.T) {
	r := newRig(t, false)
	var services []map[string]any
	r.read("registryz", &services)
	want := map[string]any{
		"Attributes": map[string]any{"ServiceRegistry": "Kubernetes", "Name": "front", "Namespace": "shop", "LabelSelectors": map[string]any{"app": "front"}},
		"ports": []any{
			map[string]any{"name": "http", "port": 80.0, "protocol": "HTTP"}, map[string]any{"name": "tcp-admin", "port": 9000.0, "protocol": "TCP"}},
		"serviceAccounts": []any{"spiffe://cluster.local/ns/shop/sa/front"},
		"creationTime":    "2026-01-02T03:04:05Z",
		"hostname":        "front.shop.svc.cluster.local",
		"clusterVIPs":     map[string]any{"Addresses": map[string]any{"Kubernetes": []any{"10.96.0.10"}}},
		"defaultAddress":  "10.96.0.10", "Resolution": 0.0, "MeshExternal": false,
	}
	if len(services) != 2 {
		t.Fatalf("%d services", len(services))
	}
	if d := cmp.Diff(want, services[1]); d != "" {
		t.Error(d)
	}

	var endpoints map[string]map[string]Shards
	r.read("endpointz", &endpoints)
	shard := endpoints["front.shop.svc.cluster.local"]["shop"]
	list := shard.Shards["Kubernetes/Kubernetes"]
	if len(endpoints) != 1 || len(list) != 4 || len(shard.ServiceAccounts) != 1 {
		t.Fatalf("%+v", endpoints)
	}
	if e := list[0]; e["ServicePortName"] != "http" || e["EndpointPort"] != 8080.0 || e["HealthStatus"] != 1.0 || e["TLSMode"] != "istio" ||
		e["ServiceAccount"] != "front" || e["NodeName"] != "n1" || cmp.Diff(e["Locality"], map[string]any{"Label": "r1/z1", "ClusterID": "Kubernetes"}) != "" {
		t.Errorf("%+v", e)
	}
	if e := list[1]; e["HealthStatus"] != 2.0 {
		t.Errorf("not ready: %+v", e)
	}
	_, brief := r.get("endpointz?brief")
	lines := strings.Split(strings.TrimSpace(brief), "\n")
	if len(lines) != 4 || lines[0] != "front.shop.svc.cluster.local:80 10.30.0.1:8080 healthy r1/z1 front-0 front" ||
		lines[1] != "front.shop.svc.cluster.local:80 10.30.0.2:8080 unhealthy - - -" {
		t.Errorf("brief:\n%s", brief)
	}
}

func TestConfigz(t *testing.T) {
	r := newRig(t, false)
	var all []struct {
		APIVersion, Kind string
		Metadata         struct {
			Name, Namespace, CreationTimestamp string
			Labels                             map[string]string
		}
		Spec, Status map[string]any
		AddressType  string
		Endpoints    []any
		Ports        []any
	}
	r.read("configz", &all)
	var got []string
	for _, o := range all {
		got = append(got, o.APIVersion+" "+o.Kind+" "+o.Metadata.Namespace+"/"+o.Metadata.Name)
	}
	want := []string{"v1 Service shop/empty", "v1 Service shop/front", "discovery.k8s.io/v1 EndpointSlice shop/front-1", "v1 Pod shop/front-0", "v1 Node /n1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for query, n := range map[string]int{"?kind=Pod": 1, "?namespace=shop": 4, "?kind=Secret": 0, "?kind=Service&namespace=none": 0} {
		all = nil
		if r.read("configz"+query, &all); len(all) != n {
			t.Errorf("%s: %d objects, want %d", query, len(all), n)
		}
	}
}

func TestMeshAndNetworks(t *testing.T) {
	r := newRig(t, false)
	_, body := r.get("mesh?pretty")
	var config meshv1alpha1.MeshConfig
	if err := protojson.Unmarshal([]byte(body), &config); err != nil {
		t.Fatal(err)
	}
	tracer := config.GetDefaultConfig().GetTracing().GetLightstep()
	if config.GetTrustDomain() != "cluster.local" || tracer.GetAddress() != "satellite:80" || tracer.GetAccessToken() != "[redacted]" {
		t.Errorf("%s", body)
	}
	if strings.Contains(body, "geheim") {
		t.Error("a token is shown")
	}
	if live, _ := r.pages.deps.Mesh(); live.Current().GetDefaultConfig().GetTracing().GetLightstep().GetAccessToken() != "geheim" {
		t.Error("the mesh config itself was redacted")
	}
	if code, body := r.get("networkz"); code != http.StatusOK || body != "[]\n" {
		t.Errorf("%d %q", code, body)
	}
}

// What is not there yet is said to be so, by every page that shows it.
func TestNotYet(t *testing.T) {
	pages, err := New(Deps{
		Connections: xds.NewConnections(), Live: func() (*snapshot.Live, bool) { return nil, false }, Mesh: func() (*mesh.Live, bool) { return nil, false },
		Stores: config.NewStores(func(model.Change) {}), Synced: func() (config.Synced, bool) { return config.Synced{}, false },
	})
	if err != nil {
		t.Fatal(err)
	}
	site := siteOf(t, pages)
	for _, page := range []string{"endpointz", "endpointz?brief", "endpointShardz", "registryz", "configz", "push_status", "mesh", "networkz"} {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/"+page, nil))
		if w.Code != http.StatusServiceUnavailable || !strings.HasPrefix(w.Body.String(), "not yet: ") {
			t.Errorf("%s: %d %q", page, w.Code, w.Body)
		}
	}
	if _, err := New(Deps{}); err == nil {
		t.Error("pages without anything to show were made")
	}
}

// Pages are there to be read, and nothing else.
func TestOnlyReading(t *testing.T) {
	r := newRig(t, false)
	for _, p := range r.pages.List() {
		w := httptest.NewRecorder()
		r.site.ServeHTTP(w, httptest.NewRequest(http.MethodPost, p.Path, strings.NewReader("x")))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", p.Path, w.Code)
		}
	}
}
