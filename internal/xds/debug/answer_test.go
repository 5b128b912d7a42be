package debug

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds"
	"github.com/meshd/meshd/internal/xds/resource"
)

// tool is a client as istioctl is one: of generator "event", with a nonce that it makes up, and two namespaces.
func (r *rig) tool() *xdsclient.Client {
	return r.client("sidecar~192.0.2.2~test-1.default~default.svc.cluster.local", func(o *xdsclient.Options) {
		o.Metadata = map[string]any{"GENERATOR": "event", "NAMESPACE": "istio-system", "SERVICE_ACCOUNT": "default"}
	})
}

// question asks as istioctl does, in either protocol.
func (r *rig) question(c *xdsclient.Client, typeURL string, names ...string) *discoveryv3.DiscoveryResponse {
	r.t.Helper()
	before := len(c.State().Of(typeURL))
	const nonce = "2026-12-01 00:00:00.0 +0000 UTC m=+0.1"
	var err error
	if r.delta {
		err = c.SendDelta(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: typeURL, ResponseNonce: nonce, ResourceNamesSubscribe: names})
	} else {
		err = c.Send(&discoveryv3.DiscoveryRequest{TypeUrl: typeURL, ResponseNonce: nonce, ResourceNames: names})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return r.wait(c, typeURL, before+1).Of(typeURL)[before]
}

// istioctl proxy-status asks for the state of every proxy.
func TestStatesOverXDS(t *testing.T) {
	protocols(t, func(t *testing.T, r *rig) {
		r.sidecar(frontID)
		refusing := r.client("sidecar~10.30.0.9~other-0.away~away.svc.cluster.local", func(o *xdsclient.Options) {
			o.Judge = func(*discoveryv3.DiscoveryResponse) error { return errors.New("I do not like it") }
		})
		r.ask(refusing, resource.ClusterType)
		silent := r.client("sidecar~10.30.0.8~silent-0.away~away.svc.cluster.local", func(o *xdsclient.Options) { o.Manual = true })
		r.ask(silent, resource.ClusterType)
		r.eventually("the refusal came", func() bool { return r.table.List()[1].Types[0].Refused != "" })

		c := r.tool()
		answer := r.question(c, SyncType)
		if len(answer.GetResources()) != 3 {
			t.Fatalf("%d proxies: the tool must not be one of them", len(answer.GetResources()))
		}
		want := []struct {
			id, namespace string
			status        statusv3.ConfigStatus
			types         int
		}{
			{frontID, "shop", statusv3.ConfigStatus_SYNCED, 5},
			{"sidecar~10.30.0.9~other-0.away~away.svc.cluster.local", "away", statusv3.ConfigStatus_ERROR, 1},
			{"sidecar~10.30.0.8~silent-0.away~away.svc.cluster.local", "away", statusv3.ConfigStatus_STALE, 1},
		}
		for i, a := range answer.GetResources() {
			var config statusv3.ClientConfig
			if err := a.UnmarshalTo(&config); err != nil {
				t.Fatal(err)
			}
			meta := config.GetNode().GetMetadata().AsMap()
			if config.GetNode().GetId() != want[i].id || meta["NAMESPACE"] != want[i].namespace || meta["CLUSTER_ID"] != "Kubernetes" || meta["ISTIO_VERSION"] != "1.31.0" {
				t.Errorf("%v", config.GetNode())
			}
			if len(config.GetGenericXdsConfigs()) != want[i].types {
				t.Fatalf("%s: %d types", want[i].id, len(config.GetGenericXdsConfigs()))
			}
			x := config.GetGenericXdsConfigs()[0]
			if x.GetTypeUrl() != resource.ClusterType || x.GetConfigStatus() != want[i].status || x.GetLastUpdated() == nil || x.GetVersionInfo() == "" {
				t.Errorf("%s: %v", want[i].id, x)
			}
			if failed := want[i].status == statusv3.ConfigStatus_ERROR; failed != (x.GetErrorState().GetDetails() == "I do not like it") {
				t.Errorf("%s: %v", want[i].id, x)
			}
		}
		identifier := answer.GetControlPlane().GetIdentifier()
		if r.delta {
			identifier = c.State().DeltasOf(SyncType)[0].GetControlPlane().GetIdentifier()
		}
		var who struct {
			Component, ID string
			Info          struct{ Version string }
		}
		if err := json.Unmarshal([]byte(identifier), &who); err != nil || who.ID != "meshd-0" || who.Info.Version != "1.2.3" {
			t.Errorf("%q: %v", identifier, err)
		}
	})
}

// istioctl proxy-status of one proxy compares the dump with Envoy's.
func TestDumpOverXDS(t *testing.T) {
	protocols(t, func(t *testing.T, r *rig) {
		r.sidecar(frontID)
		c := r.tool()
		var d dumped
		for _, a := range r.question(c, DumpType, "front-0.shop").GetResources() {
			section, err := a.UnmarshalNew()
			if err != nil {
				t.Fatal(err)
			}
			d.add(section)
		}
		if len(d.clusters.GetDynamicActiveClusters()) == 0 || len(d.listeners.GetDynamicListeners()) == 0 || len(d.routes.GetDynamicRouteConfigs()) != 1 {
			t.Errorf("%v", d.order)
		}
		if s := d.secrets.String(); strings.Contains(s, "very private") || strings.Contains(s, "geheim") {
			t.Error(s)
		}
		// That the proxy is elsewhere is the only resource, so that istioctl asks the next replica.
		answer := r.question(c, DumpType, "nobody.shop").GetResources()
		if len(answer) != 1 || !strings.Contains(string(answer[0].GetValue()), "Proxy not connected to this Pilot instance") {
			t.Errorf("%v", answer)
		}
	})
}

// istioctl x internal-debug asks for pages.
func TestPagesOverXDS(t *testing.T) {
	protocols(t, func(t *testing.T, r *rig) {
		r.sidecar(frontID)
		c := r.tool()
		for name, want := range map[string]string{
			"syncz": frontID, "list": `"syncz"`, "edsz?proxyID=front-0.shop": "10.30.0.1", "edsz": "You must provide a proxyID in the query string",
			"config_dump?proxyID=nobody.shop": "Proxy not connected to this Pilot instance.", "none": "404 page not found",
			"../metrics": "404 page not found", "": "/debug/syncz",
		} {
			answer := r.question(c, PageType, name)
			if len(answer.GetResources()) != 1 {
				t.Fatalf("%s: %d resources", name, len(answer.GetResources()))
			}
			a := answer.GetResources()[0]
			if a.GetTypeUrl() != PageType || !strings.Contains(string(a.GetValue()), want) {
				t.Errorf("%q: %s %.300q, want %q", name, a.GetTypeUrl(), a.GetValue(), want)
			}
		}
		// The same as over HTTP.
		if _, page := r.get("registryz"); string(r.question(c, PageType, "registryz").GetResources()[0].GetValue()) != page {
			t.Error("the page over xDS is another one")
		}
		// A proxy may ask too: its agent passes questions on.
		proxy := r.client("sidecar~10.30.0.9~other-0.away~away.svc.cluster.local")
		r.ask(proxy, resource.ClusterType)
		r.question(proxy, PageType, "syncz")
	})
}

// Who may not ask, or asks wrongly, is told so by the end of the stream.
func TestRefusedOverXDS(t *testing.T) {
	protocols(t, func(t *testing.T, r *rig) {
		end := func(want codes.Code, text, typeURL string, names ...string) {
			t.Helper()
			c := r.tool()
			if err := c.Subscribe(typeURL, names...); err != nil {
				t.Fatal(err)
			}
			s, err := c.Wait(r.ctx, "the end", func(s xdsclient.State) bool { return s.Ended })
			if err != nil || status.Code(s.Err) != want || !strings.Contains(s.Err.Error(), text) || len(s.Responses) > 0 {
				t.Errorf("%s %q: %v %v", typeURL, names, s.Err, err)
			}
		}
		end(codes.InvalidArgument, "exactly one name, not 0", PageType)
		end(codes.InvalidArgument, "exactly one name, not 2", DumpType, "a.b", "c.d")
		end(codes.InvalidArgument, "is not the name of a page", PageType, "%zz")
		r.deny = errors.New("not you")
		for _, typeURL := range []string{PageType, SyncType, DumpType} {
			end(codes.Unauthenticated, "not you", typeURL, "syncz")
		}
	})
}

// A page that never ends is cut off, and is no answer.
func TestEndlessPage(t *testing.T) {
	endless := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for chunk := make([]byte, 1<<20); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	a := NewAnswerer(nil, endless, func(xds.Question) error { return nil }, func() string { return "" }, "")
	if _, err := a.Answer(context.Background(), xds.Question{TypeURL: PageType, Names: []string{"endless"}}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%v", err)
	}
}
