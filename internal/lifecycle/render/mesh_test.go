package render

import (
	"github.com/meshd/meshd/internal/lifecycle"
	"go.uber.org/fx"
)

// A larger application, of the size and shape of a real control plane, for the drawing.

type (
	Env        struct{}
	Client     struct{}
	MeshConfig struct{}
	Networks   struct{}
	Filter     struct{}
	CA         struct{}
	Bundle     struct{}
	OwnCert    struct{}
	Synced     struct{}
	Caught     struct{}
	Snapshot   struct{}
	XDS        struct{}
	Secure     struct{}
	Plain      struct{}
	Service    struct{}
	Probe      struct{}
	Page       struct{}
)

type sockets struct {
	fx.Out
	Check lifecycle.Step `name:"listeners.check" phase:"preflight" budget:"2s"`
}

func newSockets() sockets { return sockets{} }

type adminIn struct {
	fx.In
	Pages []Page `group:"pages"`
}

type adminOut struct {
	fx.Out
	Health     lifecycle.Step `name:"admin.health" phase:"admin" listener:"http-addr" rank:"1"`
	Monitoring lifecycle.Step `name:"admin.monitoring" phase:"admin" listener:"monitoring-addr" rank:"2"`
}

func newAdmin(adminIn) adminOut { return adminOut{} }

type clientOut struct {
	fx.Out
	Client  lifecycle.Published[Client]
	Connect lifecycle.Step `name:"kube.connect" phase:"load" budget:"10s" waits:"the Kubernetes API server" sets:"Client"`
}

func newClient() clientOut { return clientOut{} }

type meshOut struct {
	fx.Out
	Mesh     lifecycle.Published[MeshConfig]
	Networks lifecycle.Published[Networks]
	Page     Page           `group:"pages"`
	Load     lifecycle.Step `name:"mesh-config.load" phase:"load" sets:"Mesh"`
	Read     lifecycle.Step `name:"mesh-config.networks" phase:"load" sets:"Networks"`
}

func newMesh(lifecycle.Loaded[Client]) meshOut { return meshOut{} }

type filterOut struct {
	fx.Out
	Filter lifecycle.Published[Filter]
	Build  lifecycle.Step `name:"discovery-filter.build" phase:"load" sets:"Filter"`
}

func newFilter(lifecycle.Loaded[MeshConfig], lifecycle.Loaded[Client]) filterOut { return filterOut{} }

type caOut struct {
	fx.Out
	CA     lifecycle.Published[CA]
	Create lifecycle.Step `name:"ca.create" phase:"identity" budget:"30s" waits:"the signer" sets:"CA" probe:"ca"`
}

func newCA(lifecycle.Loaded[MeshConfig]) caOut { return caOut{} }

type caServiceOut struct {
	fx.Out
	Service Service `group:"secure services"`
}

func newCAService(lifecycle.Loaded[CA]) caServiceOut { return caServiceOut{} }

type bundleOut struct {
	fx.Out
	Bundle lifecycle.Published[Bundle]
	Load   lifecycle.Step `name:"trust-bundle.load" phase:"identity" sets:"Bundle"`
}

func newBundle(lifecycle.Loaded[CA], lifecycle.Loaded[MeshConfig]) bundleOut { return bundleOut{} }

type certOut struct {
	fx.Out
	Cert  lifecycle.Published[OwnCert]
	Issue lifecycle.Step `name:"own-cert.issue" phase:"identity" sets:"Cert" probe:"own-cert"`
}

func newCert(lifecycle.Loaded[CA], lifecycle.Loaded[Bundle]) certOut { return certOut{} }

type envOut struct {
	fx.Out
	Env      *Env
	Handlers lifecycle.Step `name:"sources.handlers" phase:"register"`
}

func newEnv(lifecycle.Loaded[Filter], lifecycle.Loaded[Client]) envOut { return envOut{} }

type startOut struct {
	fx.Out
	Synced lifecycle.Published[Synced]
	Start  lifecycle.Step `name:"sources.start" phase:"sync" budget:"60s" waits:"informer caches" sets:"Synced" probe:"sources"`
}

func newStart(*Env) startOut { return startOut{} }

type controllersOut struct {
	fx.Out
	Run lifecycle.Step `name:"controllers.run" phase:"register"`
}

func newControllers(*Env, lifecycle.Loaded[MeshConfig]) controllersOut { return controllersOut{} }

type snapshotOut struct {
	fx.Out
	Snapshot *Snapshot
	Compile  lifecycle.Step `name:"snapshot.compiler" phase:"register"`
}

func newSnapshot(*Env) snapshotOut { return snapshotOut{} }

type gateOut struct {
	fx.Out
	Caught lifecycle.Published[Caught]
	Catch  lifecycle.Step `name:"snapshot.catch-up" phase:"sync" budget:"30s" sets:"Caught" probe:"snapshot"`
}

func newGate(*Snapshot, lifecycle.Loaded[Synced]) gateOut { return gateOut{} }

type xdsOut struct {
	fx.Out
	XDS     *XDS
	Service Service        `group:"secure services"`
	Plain   Service        `group:"plaintext services"`
	Page    Page           `group:"pages"`
	Push    lifecycle.Step `name:"xds.push" phase:"register"`
}

func newXDS(*Snapshot, lifecycle.Gate[Caught], lifecycle.Loaded[MeshConfig]) xdsOut { return xdsOut{} }

type openOut struct {
	fx.Out
	Open lifecycle.Step `name:"xds.open" phase:"sync"`
}

func newOpen(*XDS, lifecycle.Loaded[Caught]) openOut { return openOut{} }

type secureIn struct {
	fx.In
	Cert     lifecycle.Loaded[OwnCert]
	Bundle   lifecycle.Loaded[Bundle]
	Services []Service `group:"secure services"`
}

func newSecure(secureIn) *Secure { return nil }

type plainIn struct {
	fx.In
	Services []Service `group:"plaintext services"`
}

func newPlain(plainIn) *Plain { return nil }

type secureListen struct {
	fx.Out
	Listen lifecycle.Step `name:"listeners.secure" phase:"listen" listener:"secure-grpc-addr" rank:"1" stop:"45s"`
}

func listenSecure(*Secure) secureListen { return secureListen{} }

type plainListen struct {
	fx.Out
	Listen lifecycle.Step `name:"listeners.plaintext" phase:"listen" listener:"grpc-addr" rank:"2" stop:"45s"`
}

func listenPlain(*Plain) plainListen { return plainListen{} }

type webhookListen struct {
	fx.Out
	Listen lifecycle.Step `name:"listeners.webhooks" phase:"listen" listener:"https-addr" rank:"3" probe:"webhooks"`
}

func listenWebhooks(lifecycle.Loaded[OwnCert], lifecycle.Loaded[MeshConfig]) webhookListen {
	return webhookListen{}
}

type leadOut struct {
	fx.Out
	Campaign lifecycle.Step `name:"leader-election.campaign" phase:"lead"`
}

func newLead(lifecycle.Loaded[Client]) leadOut { return leadOut{} }

type announceOut struct {
	fx.Out
	Ready lifecycle.Step `name:"readiness.announce" phase:"announce"`
}

func newAnnounce() announceOut { return announceOut{} }

func meshComponents() []lifecycle.Component {
	return []lifecycle.Component{
		{Name: "admin", For: "health and monitoring ports", New: []any{newAdmin}},
		{Name: "kube", For: "the Kubernetes client", New: []any{newClient}},
		{Name: "mesh-config", For: "mesh config and networks, live", New: []any{newMesh}},
		{Name: "discovery-filter", For: "which namespaces are seen", New: []any{newFilter}},
		{Name: "ca", For: "signs certificates", New: []any{newCA, newCAService}},
		{Name: "trust-bundle", For: "the roots that are trusted", New: []any{newBundle}},
		{Name: "own-cert", For: "the certificate of the TLS ports", New: []any{newCert}},
		{Name: "sources", For: "stores and their informers", New: []any{newEnv, newStart}},
		{Name: "controllers", For: "credentials and others", New: []any{newControllers}},
		{Name: "snapshot", For: "compiles stores into a snapshot", New: []any{newSnapshot, newGate}},
		{Name: "xds", For: "streams and pushes", New: []any{newXDS, newOpen}},
		{Name: "grpc", For: "the gRPC servers", New: []any{newSecure, newPlain}},
		{Name: "listeners", For: "the traffic ports", New: []any{newSockets, listenSecure, listenPlain, listenWebhooks}},
		{Name: "leader-election", For: "one replica writes", New: []any{newLead}},
		{Name: "readiness", For: "says ready", New: []any{newAnnounce}},
	}
}
