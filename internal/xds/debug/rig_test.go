package debug

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/admin"
	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/scenario"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/cluster"
	"github.com/meshd/meshd/internal/translate/endpoint"
	"github.com/meshd/meshd/internal/translate/extension"
	"github.com/meshd/meshd/internal/translate/listener"
	"github.com/meshd/meshd/internal/translate/nametable"
	"github.com/meshd/meshd/internal/translate/proxyless"
	"github.com/meshd/meshd/internal/translate/route"
	"github.com/meshd/meshd/internal/translate/trustbundle"
	"github.com/meshd/meshd/internal/xds"
	"github.com/meshd/meshd/internal/xds/admission"
	"github.com/meshd/meshd/internal/xds/push"
	"github.com/meshd/meshd/internal/xds/resource"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const manifests = `
apiVersion: v1
kind: Service
metadata: {name: front, namespace: shop, creationTimestamp: "2026-01-02T03:04:05Z"}
spec:
  clusterIP: 10.96.0.10
  selector: {app: front}
  ports: [{name: http, port: 80, targetPort: 8080}, {name: tcp-admin, port: 9000}]
---
apiVersion: v1
kind: Service
metadata: {name: empty, namespace: shop}
spec:
  clusterIP: 10.96.0.11
  selector: {app: empty}
  ports: [{name: http, port: 81}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: front-1, namespace: shop, labels: {kubernetes.io/service-name: front}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}, {name: tcp-admin, port: 9000, protocol: TCP}]
endpoints:
- addresses: [10.30.0.1]
  conditions: {ready: true}
  targetRef: {kind: Pod, namespace: shop, name: front-0}
- addresses: [10.30.0.2]
  conditions: {ready: false, terminating: false}
---
apiVersion: v1
kind: Pod
metadata: {name: front-0, namespace: shop, labels: {app: front, security.istio.io/tlsMode: istio}}
spec: {serviceAccountName: front, nodeName: n1}
status: {podIP: 10.30.0.1, podIPs: [{ip: 10.30.0.1}]}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/region: r1, topology.kubernetes.io/zone: z1}}
`

const (
	privateKey = "-----BEGIN PRIVATE KEY----- very private"
	chain      = "-----BEGIN CERTIFICATE----- public"
)

// secrets makes Secrets, which no generator of production does yet.
type secrets struct{}

func (secrets) TypeURL() string                               { return resource.SecretType }
func (secrets) Flavor() model.Flavor                          { return model.FlavorEnvoy }
func (secrets) Wildcard() bool                                { return false }
func (secrets) Class(*snapshot.Snapshot, *model.Proxy) string { return "" }
func (secrets) List(string) translate.Listing                 { return translate.Listing{} }

func (secrets) Named(_ *snapshot.Snapshot, _ string, name string) (translate.Recipe, bool) {
	return translate.Recipe{Name: name, Key: name, Build: func() (proto.Message, error) {
		inline := func(s string) *corev3.DataSource {
			return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: []byte(s)}}
		}
		return &tlsv3.Secret{Name: name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
			CertificateChain: inline(chain), PrivateKey: inline(privateKey), Password: inline("geheim"),
		}}}, nil
	}}, true
}

// rig is a server on a real port over a compiled mesh, and its pages.
type rig struct {
	t     *testing.T
	delta bool
	addr  string
	site  *admin.Site
	table *xds.Connections
	ctx   context.Context
	deny  error
	pages *Pages
	// refuse names a resource that is taken for invalid.
	refuse string
}

func newRig(t *testing.T, delta bool) *rig { return newRigOf(t, delta, manifests, "") }

// newRigOf serves other manifests, and withholds a resource.
func newRigOf(t *testing.T, delta bool, manifests, refuse string) *rig {
	t.Helper()
	sc := scenario.Parse(t, manifests)
	live := snapshot.NewLive(sc.Snapshot(t, nil))
	meshConfig := mesh.Default()
	meshConfig.DefaultConfig.Tracing = &meshv1alpha1.Tracing{Tracer: &meshv1alpha1.Tracing_Lightstep_{
		Lightstep: &meshv1alpha1.Tracing_Lightstep{Address: "satellite:80", AccessToken: "geheim"}}}
	meshLive := mesh.NewLive(meshConfig)
	r := &rig{t: t, delta: delta, table: xds.NewConnections(), refuse: refuse}
	var err error
	if r.pages, err = New(Deps{
		Connections: r.table, Live: func() (*snapshot.Live, bool) { return live, true }, Mesh: func() (*mesh.Live, bool) { return meshLive, true },
		Stores: sc.Stores, Synced: func() (config.Synced, bool) { return sc.Synced, true }, ClusterID: "Kubernetes",
	}); err != nil {
		t.Fatal(err)
	}
	r.site = siteOf(t, r.pages)
	r.serve(live)
	return r
}

func siteOf(t *testing.T, pages *Pages) *admin.Site {
	t.Helper()
	var all []admin.Page
	for _, p := range pages.List() {
		all = append(all, admin.Page(p))
	}
	site, err := admin.NewSite(all)
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// serve opens a port until the test ends.
func (r *rig) serve(live *snapshot.Live) {
	t := r.t
	t.Helper()
	registry := prometheus.NewRegistry()
	table, err := xds.NewTable(append(proxyless.Generators(), cluster.New(), endpoint.New(model.FlavorEnvoy), listener.New(), route.New(),
		translate.Typed(secrets{}), extension.New(), nametable.New(model.FlavorEnvoy), nametable.New(model.FlavorGRPC),
		trustbundle.New(model.FlavorEnvoy, trustbundle.None), trustbundle.New(model.FlavorGRPC, trustbundle.None)))
	if err != nil {
		t.Fatal(err)
	}
	queue, err := admission.New(admission.Options{}, zap.NewNop(), registry)
	if err != nil {
		t.Fatal(err)
	}
	pushes, err := push.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	allowed := func(xds.Question) error { return r.deny }
	server, err := xds.New(xds.Deps{
		Table: table, Store: resource.NewStore(r.check), Live: func() (*snapshot.Live, bool) { return live, true },
		Gate:      func(context.Context) (*snapshot.Live, error) { return live, nil },
		Admission: queue, Connections: r.table, Pushes: pushes,
		Answerer: NewAnswerer(r.pages, r.site, allowed, func() string { return "meshd-0" }, "1.2.3"),
		Log:      zap.NewNop(), Registerer: registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = port.Addr().String()
	g := grpc.NewServer(grpc.ForceServerCodecV2(xds.Codec()))
	server.Register(g)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	r.ctx = ctx
	run, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { _ = server.Run(run) })
	work.Go(func() { _ = g.Serve(port) })
	t.Cleanup(func() { stop(); g.Stop(); work.Wait(); cancel() })
}

func (r *rig) check(m proto.Message, _ []byte) error {
	if c, ok := m.(*clusterv3.Cluster); ok && c.Name == r.refuse {
		return errors.New("Envoy would not like it")
	}
	return nil
}

// protocols runs a test in both.
func protocols(t *testing.T, test func(*testing.T, *rig)) {
	t.Run("sotw", func(t *testing.T) { test(t, newRig(t, false)) })
	t.Run("delta", func(t *testing.T) { test(t, newRig(t, true)) })
}

const frontID = "sidecar~10.30.0.1~front-0.shop~shop.svc.cluster.local"

func (r *rig) client(id string, change ...func(*xdsclient.Options)) *xdsclient.Client {
	r.t.Helper()
	o := xdsclient.Options{NodeID: id, Delta: r.delta, Metadata: map[string]any{
		"CLUSTER_ID": "Kubernetes", "ISTIO_VERSION": "1.31.0", "LABELS": map[string]any{"app": "front"}, "BEARER_TOKEN": "geheim",
	}}
	for _, f := range change {
		f(&o)
	}
	c, err := xdsclient.Connect(r.ctx, r.addr, o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// ask subscribes to a type and waits for the answer.
func (r *rig) ask(c *xdsclient.Client, typeURL string, names ...string) xdsclient.State {
	r.t.Helper()
	if err := c.Subscribe(typeURL, names...); err != nil {
		r.t.Fatal(err)
	}
	return r.wait(c, typeURL, 1)
}

func (r *rig) wait(c *xdsclient.Client, typeURL string, n int) xdsclient.State {
	r.t.Helper()
	s, err := c.Wait(r.ctx, typeURL, func(s xdsclient.State) bool { return len(s.Of(typeURL)) >= n })
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// sidecar is a proxy that has everything that it asks for, and has acknowledged it.
func (r *rig) sidecar(id string) *xdsclient.Client {
	r.t.Helper()
	c := r.client(id)
	r.ask(c, resource.ClusterType)
	r.ask(c, resource.EndpointType, "outbound|80||front.shop.svc.cluster.local", "outbound|81||empty.shop.svc.cluster.local")
	r.ask(c, resource.ListenerType)
	r.ask(c, resource.RouteType, "80")
	r.ask(c, resource.SecretType, "default")
	r.eventually("everything is acknowledged", func() bool {
		for _, conn := range r.table.List() {
			for _, s := range conn.Types {
				if conn.Proxy.ID == id && s.Unacknowledged {
					return false
				}
			}
		}
		return true
	})
	return c
}

func (r *rig) eventually(what string, condition func() bool) {
	r.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-r.ctx.Done():
			r.t.Fatalf("still not: %s", what)
		}
	}
}

// get reads a page below /debug/.
func (r *rig) get(page string) (int, string) {
	r.t.Helper()
	w := httptest.NewRecorder()
	r.site.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/"+page, nil))
	return w.Code, w.Body.String()
}

// read parses a page, strictly: it is an error if it has a field that the shape has not.
func (r *rig) read(page string, into any) string {
	r.t.Helper()
	code, body := r.get(page)
	if code != http.StatusOK {
		r.t.Fatalf("%s: %d %s", page, code, body)
	}
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		r.t.Fatalf("%s: %v in\n%s", page, err, body)
	}
	return body
}
