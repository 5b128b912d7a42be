package lifecycle_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.uber.org/fx"

	"github.com/meshd/meshd/internal/lifecycle"
)

// The toy is a small control plane: every kind of edge, both kinds of slots (made by the setting constructor, and by
// a separate one), groups, ranks, a method value and an instance of a generic function.

type (
	toyConfig   struct{ domain string }
	toyClient   struct{}
	toyCA       struct{}
	toyRoots    struct{}
	toyCert     struct{}
	toySynced   struct{}
	toySnapshot struct{}
	toyServer   struct{}
	toySockets  struct{}
	toyInformer struct{ name string }
	toyService  struct{ name string }
	toyPage     struct{ name string }
)

// journal is what the steps of the toy do: they note that they did, and then what a test says they do.
type journal struct {
	mu     sync.Mutex
	events []string
	start  map[string]func(context.Context) error
	stop   map[string]func(context.Context) error
	run    map[string]func(context.Context) error
}

func newJournal() *journal {
	type does = map[string]func(context.Context) error
	return &journal{start: does{}, stop: does{}, run: does{}}
}

func (j *journal) note(event string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, event)
}

// noted gives the steps of the events of one kind ("start", "stop", "run"), in order.
func (j *journal) noted(kind string) (out []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.events {
		if k, step, _ := strings.Cut(e, " "); k == kind {
			out = append(out, step)
		}
	}
	return out
}

func (j *journal) self() *journal { return j }

// step makes a step that notes what it does. Each of first is done in Start before what the test says.
func (j *journal) step(name string, first ...func(context.Context) error) lifecycle.Step {
	s := lifecycle.Step{
		Start: func(ctx context.Context) error {
			j.note("start " + name)
			for _, f := range append(first, j.start[name]) {
				if f != nil {
					if err := f(ctx); err != nil {
						return err
					}
				}
			}
			return nil
		},
		Stop: func(ctx context.Context) error {
			j.note("stop " + name)
			if f := j.stop[name]; f != nil {
				return f(ctx)
			}
			return nil
		},
	}
	if f := j.run[name]; f != nil {
		s.Run = func(ctx context.Context) error {
			j.note("run " + name)
			return f(ctx)
		}
	}
	return s
}

func sets[T any](slot *lifecycle.Slot[T], v T) func(context.Context) error {
	return func(ctx context.Context) error { return slot.Set(ctx, v) }
}

// reads is what a step does that reads a value: it fails if it is not there.
func reads[T any](l lifecycle.Loaded[T]) func(context.Context) error {
	return func(ctx context.Context) error { _, err := l.Get(ctx); return err }
}

type configOut struct {
	fx.Out
	Config lifecycle.Published[*toyConfig]
	Load   lifecycle.Step `name:"config.load" phase:"load" sets:"Config" waits:"the mesh config file"`
}

func newConfig(j *journal) configOut {
	slot := lifecycle.NewSlot[*toyConfig]()
	return configOut{Config: slot.Publish(), Load: j.step("config.load", sets(slot, &toyConfig{"toy.local"}))}
}

type clientOut struct {
	fx.Out
	Client  lifecycle.Published[*toyClient]
	Connect lifecycle.Step `name:"kube.connect" phase:"load" budget:"2s" sets:"Client" waits:"the API server"`
}

func newClient(j *journal) clientOut {
	slot := lifecycle.NewSlot[*toyClient]()
	return clientOut{Client: slot.Publish(), Connect: j.step("kube.connect", sets(slot, &toyClient{}))}
}

type filterOut struct {
	fx.Out
	Load lifecycle.Step `name:"filter.load" phase:"load"`
}

func newFilter(j *journal, config lifecycle.Loaded[*toyConfig], client lifecycle.Loaded[*toyClient]) filterOut {
	return filterOut{Load: j.step("filter.load", reads(config), reads(client))}
}

type caOut struct {
	fx.Out
	CA     lifecycle.Published[*toyCA]
	Create lifecycle.Step `name:"ca.create" phase:"identity" sets:"CA"`
}

func newCA(j *journal, config lifecycle.Loaded[*toyConfig]) caOut {
	slot := lifecycle.NewSlot[*toyCA]()
	return caOut{CA: slot.Publish(), Create: j.step("ca.create", reads(config), sets(slot, &toyCA{}))}
}

type rootsOut struct {
	fx.Out
	Roots   lifecycle.Published[*toyRoots]
	Collect lifecycle.Step `name:"roots.collect" phase:"identity" sets:"Roots"`
}

func newRoots(j *journal, ca lifecycle.Loaded[*toyCA]) rootsOut {
	slot := lifecycle.NewSlot[*toyRoots]()
	return rootsOut{Roots: slot.Publish(), Collect: j.step("roots.collect", reads(ca), sets(slot, &toyRoots{}))}
}

type certOut struct {
	fx.Out
	Cert  lifecycle.Published[*toyCert]
	Issue lifecycle.Step `name:"cert.issue" phase:"identity" sets:"Cert"`
}

func newCert(j *journal, ca lifecycle.Loaded[*toyCA]) certOut {
	slot := lifecycle.NewSlot[*toyCert]()
	return certOut{Cert: slot.Publish(), Issue: j.step("cert.issue", reads(ca), sets(slot, &toyCert{}))}
}

// The slot of synced is made apart from the steps, so that contributors to the group may read it.
type syncedOut struct {
	fx.Out
	Slot   *lifecycle.Slot[toySynced]
	Synced lifecycle.Published[toySynced]
}

func newSynced() syncedOut {
	slot := lifecycle.NewSlot[toySynced]()
	return syncedOut{Slot: slot, Synced: slot.Publish()}
}

type informersIn struct {
	fx.In
	Journal   *journal
	Informers []toyInformer `group:"informers"`
	Client    lifecycle.Loaded[*toyClient]
	Slot      *lifecycle.Slot[toySynced]
}

type informersOut struct {
	fx.Out
	Build lifecycle.Step `name:"informers.build" phase:"register"`
	Wait  lifecycle.Step `name:"informers.wait" phase:"sync" waits:"the first lists" sets:"Synced"`
}

func newInformers(in informersIn) informersOut {
	return informersOut{Build: in.Journal.step("informers.build", reads(in.Client)), Wait: in.Journal.step("informers.wait", sets(in.Slot, toySynced{}))}
}

type controllerOut struct {
	fx.Out
	Informer toyInformer    `group:"informers"`
	Wire     lifecycle.Step `name:"services.wire" phase:"register"`
	Sync     lifecycle.Step `name:"services.sync" phase:"sync"`
}

func newServices(j *journal, synced lifecycle.Loaded[toySynced]) controllerOut {
	return controllerOut{Informer: toyInformer{"services"}, Wire: j.step("services.wire"), Sync: j.step("services.sync", reads(synced))}
}

// Wire of the services must not take Synced in an earlier phase, so the real one splits it; see servicesWire.
type wireOut struct {
	fx.Out
	Informer toyInformer    `group:"informers"`
	Wire     lifecycle.Step `name:"services.wire" phase:"register"`
}

type syncOut struct {
	fx.Out
	Sync lifecycle.Step `name:"services.sync" phase:"sync"`
}

func newServicesWire(j *journal) wireOut {
	return wireOut{Informer: toyInformer{"services"}, Wire: j.step("services.wire")}
}

func newServicesSync(j *journal, synced lifecycle.Loaded[toySynced]) syncOut {
	return syncOut{Sync: j.step("services.sync", reads(synced))}
}

type snapshotOut struct {
	fx.Out
	Snapshot lifecycle.Published[*toySnapshot]
	CatchUp  lifecycle.Step `name:"snapshot.catch-up" phase:"sync" sets:"Snapshot"`
}

func newSnapshot(j *journal, synced lifecycle.Loaded[toySynced], _ lifecycle.Peek[toySynced]) snapshotOut {
	slot := lifecycle.NewSlot[*toySnapshot]()
	return snapshotOut{Snapshot: slot.Publish(), CatchUp: j.step("snapshot.catch-up", reads(synced), sets(slot, &toySnapshot{}))}
}

type serverOut struct {
	fx.Out
	Server *toyServer
	Push   lifecycle.Step `name:"xds.push" phase:"register"`
}

func newServer(in struct {
	fx.In
	Journal  *journal
	Services []toyService `group:"services"`
	Snapshot lifecycle.Gate[*toySnapshot]
}) serverOut {
	return serverOut{Server: &toyServer{}, Push: in.Journal.step("xds.push")}
}

type socketsOut struct {
	fx.Out
	Sockets *toySockets
	Bind    lifecycle.Step `name:"listeners.bind" phase:"preflight"`
}

func newSockets(j *journal) socketsOut {
	return socketsOut{Sockets: &toySockets{}, Bind: j.step("listeners.bind")}
}

type secureOut struct {
	fx.Out
	Secure lifecycle.Step `name:"listeners.secure" phase:"listen" rank:"1" listener:"--secure-addr"`
}

func newSecure(j *journal, _ *toySockets, _ *toyServer, cert lifecycle.Loaded[*toyCert], roots lifecycle.Loaded[*toyRoots]) secureOut {
	return secureOut{Secure: j.step("listeners.secure", reads(cert), reads(roots))}
}

type plainOut struct {
	fx.Out
	Plain lifecycle.Step `name:"listeners.plain" phase:"listen" rank:"2" listener:"--plain-addr"`
}

func newPlain(j *journal, _ *toySockets, _ *toyServer) plainOut {
	return plainOut{Plain: j.step("listeners.plain")}
}

type adminOut struct {
	fx.Out
	Health lifecycle.Step `name:"admin.health" phase:"admin" listener:"--health-addr"`
	Debug  lifecycle.Step `name:"admin.debug" phase:"admin" listener:"--debug-addr"`
}

type adminIn struct {
	fx.In
	Journal *journal
	Trace   *lifecycle.Trace
	Pages   []toyPage `group:"pages"`
	Config  lifecycle.Peek[*toyConfig]
}

func newAdmin(in adminIn) adminOut {
	return adminOut{Health: in.Journal.step("admin.health"), Debug: in.Journal.step("admin.debug")}
}

type pageOut[T any] struct {
	fx.Out
	Page toyPage `group:"pages"`
}

func newPage[T any](peek lifecycle.Peek[T]) pageOut[T] {
	return pageOut[T]{Page: toyPage{fmt.Sprintf("%T", peek)}}
}

type serviceOut struct {
	fx.Out
	Service toyService `group:"services"`
}

func newIssuing(_ lifecycle.Gate[*toyCA]) serviceOut {
	return serviceOut{Service: toyService{"issuing"}}
}

type leadOut struct {
	fx.Out
	Campaign lifecycle.Step `name:"leader.campaign" phase:"lead"`
}

func newLeader(j *journal, client lifecycle.Loaded[*toyClient]) leadOut {
	return leadOut{Campaign: j.step("leader.campaign", reads(client))}
}

type readyOut struct {
	fx.Out
	Announce lifecycle.Step `name:"ready.announce" phase:"announce"`
}

func newReady(j *journal) readyOut { return readyOut{Announce: j.step("ready.announce")} }

// toy lists the toy's components; its steps note what they do in j.
func toy(j *journal) []lifecycle.Component {
	one := func(name string, ctors ...any) lifecycle.Component {
		return lifecycle.Component{Name: name, For: "the toy", New: ctors}
	}
	return []lifecycle.Component{
		one("journal", j.self), one("config", newConfig, newPage[*toyConfig]), one("kube", newClient), one("filter", newFilter),
		one("ca", newCA, newIssuing), one("roots", newRoots), one("cert", newCert), one("informers", newSynced, newInformers),
		one("services", newServicesWire, newServicesSync), one("snapshot", newSnapshot, newPage[*toySnapshot]), one("xds", newServer),
		one("listeners", newSockets, newSecure, newPlain), one("admin", newAdmin), one("leader", newLeader), one("ready", newReady),
	}
}

// toySteps are the toy's steps, sorted.
var toySteps = []string{"admin.debug", "admin.health", "ca.create", "cert.issue", "config.load", "filter.load", "informers.build", "informers.wait",
	"kube.connect", "leader.campaign", "listeners.bind", "listeners.plain", "listeners.secure", "ready.announce", "roots.collect",
	"services.sync", "services.wire", "snapshot.catch-up", "xds.push"}

// with gives the components with one of them replaced by another list of constructors.
func with(cs []lifecycle.Component, name string, ctors ...any) []lifecycle.Component {
	out := slices.Clone(cs)
	i := slices.IndexFunc(out, func(c lifecycle.Component) bool { return c.Name == name })
	out[i].New = ctors
	return out
}
