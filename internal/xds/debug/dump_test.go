package debug

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// dumped is a dump, parsed strictly into Envoy's own types.
type dumped struct {
	bootstrap  *adminv3.BootstrapConfigDump
	clusters   *adminv3.ClustersConfigDump
	endpoints  *adminv3.EndpointsConfigDump
	listeners  *adminv3.ListenersConfigDump
	routes     *adminv3.RoutesConfigDump
	secrets    *adminv3.SecretsConfigDump
	extensions *adminv3.EcdsConfigDump
	order      []string
}

func parseDump(t *testing.T, body string) (d dumped) {
	t.Helper()
	var dump adminv3.ConfigDump
	if err := protojson.Unmarshal([]byte(body), &dump); err != nil {
		t.Fatalf("%v in %.500s", err, body)
	}
	for _, config := range dump.GetConfigs() {
		section, err := config.UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		d.add(section)
	}
	return d
}

func (d *dumped) add(section proto.Message) {
	d.order = append(d.order, string(section.ProtoReflect().Descriptor().Name()))
	switch s := section.(type) {
	case *adminv3.BootstrapConfigDump:
		d.bootstrap = s
	case *adminv3.ClustersConfigDump:
		d.clusters = s
	case *adminv3.EndpointsConfigDump:
		d.endpoints = s
	case *adminv3.ListenersConfigDump:
		d.listeners = s
	case *adminv3.RoutesConfigDump:
		d.routes = s
	case *adminv3.SecretsConfigDump:
		d.secrets = s
	case *adminv3.EcdsConfigDump:
		d.extensions = s
	}
}

// The dump of a proxy has what it was sent, byte for byte, in Envoy's sections, and nothing secret.
func TestConfigDump(t *testing.T) {
	protocols(t, func(t *testing.T, r *rig) {
		c := r.sidecar(frontID)
		code, body := r.get("config_dump?include_eds&proxyID=front-0.shop")
		if code != http.StatusOK {
			t.Fatalf("%d %s", code, body)
		}
		d := parseDump(t, body)
		want := []string{"BootstrapConfigDump", "ClustersConfigDump", "EndpointsConfigDump", "ListenersConfigDump", "ScopedRoutesConfigDump",
			"RoutesConfigDump", "SecretsConfigDump", "EcdsConfigDump"}
		if !slices.Equal(d.order, want) {
			t.Errorf("sections %v, want %v", d.order, want)
		}
		if d.bootstrap.GetBootstrap().GetNode().GetId() != frontID {
			t.Errorf("bootstrap %v", d.bootstrap)
		}
		state := c.State()
		same := func(short string, typeURL string, got map[string]proto.Message) {
			t.Helper()
			if len(got) == 0 || len(got) != len(state.Resources[typeURL]) {
				t.Errorf("%s: %d shown, %d sent", short, len(got), len(state.Resources[typeURL]))
			}
			for name, msg := range state.Resources[typeURL] {
				if !proto.Equal(msg, got[name]) {
					t.Errorf("%s %s: sent %v, shown %v", short, name, msg, got[name])
				}
			}
		}
		got := map[string]proto.Message{}
		for _, cl := range d.clusters.GetDynamicActiveClusters() {
			msg, err := cl.GetCluster().UnmarshalNew()
			if err != nil {
				t.Fatal(err)
			}
			got[msg.(*clusterv3.Cluster).GetName()] = msg
			if cl.GetVersionInfo() == "" || cl.GetLastUpdated() == nil {
				t.Errorf("%v has no version or time", cl.GetCluster())
			}
		}
		same("clusters", resource.ClusterType, got)
		got = map[string]proto.Message{}
		for _, e := range d.endpoints.GetDynamicEndpointConfigs() {
			msg, err := e.GetEndpointConfig().UnmarshalNew()
			if err != nil {
				t.Fatal(err)
			}
			got[msg.(*endpointv3.ClusterLoadAssignment).GetClusterName()] = msg
		}
		same("endpoints", resource.EndpointType, got)
		got = map[string]proto.Message{}
		for _, l := range d.listeners.GetDynamicListeners() {
			msg, err := l.GetActiveState().GetListener().UnmarshalNew()
			if err != nil {
				t.Fatal(err)
			}
			got[l.GetName()] = msg
		}
		same("listeners", resource.ListenerType, got)
		got = map[string]proto.Message{}
		for _, rc := range d.routes.GetDynamicRouteConfigs() {
			msg, err := rc.GetRouteConfig().UnmarshalNew()
			if err != nil {
				t.Fatal(err)
			}
			got[xdsclient.NameOf(msg)] = msg
		}
		same("routes", resource.RouteType, got)

		secrets := d.secrets.GetDynamicActiveSecrets()
		if len(secrets) != 1 || secrets[0].GetName() != "default" {
			t.Fatalf("secrets %v", secrets)
		}
		var secret tlsv3.Secret
		if err := secrets[0].GetSecret().UnmarshalTo(&secret); err != nil {
			t.Fatal(err)
		}
		cert := secret.GetTlsCertificate()
		if string(cert.GetCertificateChain().GetInlineBytes()) != chain || string(cert.GetPrivateKey().GetInlineBytes()) != "[redacted]" {
			t.Errorf("%v", &secret)
		}
		if _, plain := r.get("config_dump?proxyID=" + frontID); parseDump(t, plain).endpoints != nil {
			t.Error("endpoints are shown though nobody asked for them")
		}
		// What the client itself was sent is not redacted: it needs it.
		sent := state.Resources[resource.SecretType]["default"].(*tlsv3.Secret)
		if string(sent.GetTlsCertificate().GetPrivateKey().GetInlineBytes()) != privateKey {
			t.Errorf("the client was sent %v", sent)
		}
	})
}

// No page shows what is secret.
func TestNoSecretOnAnyPage(t *testing.T) {
	r := newRig(t, true)
	r.sidecar(frontID)
	for _, p := range r.pages.List() {
		for _, query := range []string{"?proxyID=front-0.shop", "?proxyID=front-0.shop&types=sds", "?proxyID=front-0.shop&include_eds&pretty"} {
			_, body := r.get(strings.TrimPrefix(p.Path, "/debug/") + query)
			for _, secret := range []string{"very private", "dmVyeSBwcml2YXRl", "geheim", "Z2VoZWlt"} { // also in base64
				if strings.Contains(body, secret) {
					t.Errorf("%s%s shows %q", p.Path, query, secret)
				}
			}
		}
	}
}

func TestDumpOfSomeTypes(t *testing.T) {
	r := newRig(t, false)
	r.sidecar(frontID)
	for page, want := range map[string]int{
		"edsz?proxyID=front-0.shop":                                               2,
		"config_dump?types=eds,rds&proxyID=front-0.shop":                          3,
		"config_dump?types=EDS&proxyID=front-0.shop":                              2,
		"config_dump?types=" + resource.RouteType + "&proxyID=" + frontID:         1,
		"config_dump?types=" + resource.SecretType + "&proxyID=" + frontID + "-1": 1,
	} {
		code, body := r.get(page)
		var dump adminv3.ConfigDump
		if code != http.StatusOK || protojson.Unmarshal([]byte(body), &dump) != nil || len(dump.GetConfigs()) != want {
			t.Errorf("%s: %d, %d resources, want %d: %.300s", page, code, len(dump.GetConfigs()), want, body)
		}
	}
}

// The name table is of a type that is in no registry, and is read nevertheless.
func TestNameTable(t *testing.T) {
	r := newRig(t, true)
	r.ask(r.client(frontID), resource.NameTableType)
	code, body := r.get("ndsz?proxyID=front-0.shop")
	if code != http.StatusOK || !strings.Contains(body, `"front.shop.svc.cluster.local":{"ips":["10.96.0.10"]`) {
		t.Errorf("%d %s", code, body)
	}
}

func TestProxiesThatAreNotThere(t *testing.T) {
	r := newRig(t, false)
	if _, body := r.get("config_dump?proxyID=front-0.shop"); !strings.Contains(body, "No proxy is connected") {
		t.Errorf("%q", body)
	}
	for i := range 12 {
		c := r.client(fmt.Sprintf("sidecar~10.30.0.1~p-%02d.shop~shop.svc.cluster.local", i))
		r.ask(c, resource.ClusterType)
	}
	for page, want := range map[string]struct {
		code int
		text string
	}{
		"config_dump":                     {400, "You must provide a proxyID in the query string"},
		"edsz":                            {400, "You must provide a proxyID in the query string"},
		"config_dump?proxyID=nobody.shop": {404, "Proxy not connected to this Pilot instance. It may be connected to another instance.\nConnected are 12, such as p-00.shop, p-01.shop"},
		"adsz?proxyID=p":                  {404, "Proxy not connected"}, // a part of a name is not a name
		"ndsz?proxyID=p-00.shop":          {404, "p-00.shop has not asked for nds; it asked for cds"},
		"config_dump?types=cds,x&proxyID=p-00.shop": {404, "p-00.shop has not asked for x"},
	} {
		if code, body := r.get(page); code != want.code || !strings.Contains(body, want.text) {
			t.Errorf("%s: %d %q, want %d %q", page, code, body, want.code, want.text)
		}
	}
}

// A proxy that connects anew is shown as it is now, while its old stream may linger.
func TestNewestStream(t *testing.T) {
	r := newRig(t, false)
	r.sidecar(frontID)
	again := r.client(frontID)
	r.ask(again, resource.ClusterType)
	if code, body := r.get("edsz?proxyID=front-0.shop"); code != http.StatusNotFound || !strings.Contains(body, "has not asked for eds") {
		t.Errorf("%d %s", code, body)
	}
	if code, _ := r.get("edsz?proxyID=" + frontID + "-1"); code != http.StatusOK {
		t.Errorf("the old one by its id: %d", code)
	}
}

// istioctl, where there is one (MESHD_ISTIOCTL names it), reads the dump.
func TestIstioctlReadsDump(t *testing.T) {
	istioctl := os.Getenv("MESHD_ISTIOCTL")
	if istioctl == "" {
		t.Skip("MESHD_ISTIOCTL names no istioctl")
	}
	r := newRig(t, true)
	r.sidecar(frontID)
	_, body := r.get("config_dump?include_eds&proxyID=front-0.shop")
	file := filepath.Join(t.TempDir(), "dump.json")
	if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{
		"cluster": "front.shop.svc.cluster.local", "eds": "10.30.0.1:8080", "listener": "10.96.0.10", "route": "front.shop.svc.cluster.local:80",
		"bootstrap": frontID, "secret": "default",
	} {
		out, err := exec.Command(istioctl, "proxy-config", kind, "--file", file).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("proxy-config %s: %v, no %q in\n%s", kind, err, want, out)
		}
	}
}
