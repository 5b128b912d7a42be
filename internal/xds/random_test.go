package xds

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/translate/cluster"
	"github.com/meshd/meshd/internal/translate/endpoint"
	"github.com/meshd/meshd/internal/translate/listener"
	"github.com/meshd/meshd/internal/translate/route"
	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// source is a mesh of real objects, compiled for real.
type source struct {
	t        *testing.T
	stores   *config.Stores
	changes  *config.Changes
	mesh     *meshv1alpha1.MeshConfig
	compiler *snapshot.Compiler
	cursed   map[model.NamespacedName]bool // services with a cursed port
}

func newSource(t *testing.T) *source {
	s := &source{t: t, changes: config.NewChanges(), mesh: mesh.Default(), cursed: map[model.NamespacedName]bool{}}
	s.stores = config.NewStores(s.changes.Add)
	s.compiler = s.newCompiler()
	return s
}

func (s *source) newCompiler() *snapshot.Compiler {
	return snapshot.NewCompiler(s.stores, func() *meshv1alpha1.MeshConfig { return s.mesh }, snapshot.Options{})
}

// compile takes in what changed.
func (s *source) compile(c *snapshot.Compiler) *snapshot.Snapshot {
	s.t.Helper()
	changes, _ := s.changes.Take()
	snap, err := c.Compile(context.Background(), s.stores.MarkSynced(), changes)
	if err != nil {
		s.t.Fatal(err)
	}
	return snap
}

// remesh gives a snapshot that differs from all others by its mesh config.
func (s *source) remesh() *snapshot.Snapshot {
	s.mesh = mesh.Default()
	s.mesh.IngressClass = fmt.Sprint(rand.Uint64())
	s.changes.Add(model.Change{Kind: model.KindMeshConfig})
	return s.compile(s.compiler)
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// edit makes one random change of objects of which there are so few that they collide often.
func (s *source) edit(r *rand.Rand) {
	meta := metav1.ObjectMeta{Namespace: pick(r, "ns-a", "ns-b"), Name: pick(r, "a", "b", "c", "d")}
	n := model.NamespacedName{Namespace: meta.Namespace, Name: meta.Name}
	remove := r.IntN(5) == 0
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		if remove {
			s.stores.Services.Delete(n)
			return
		}
		svc := randomService(r, meta)
		s.cursed[n] = len(svc.Spec.Ports) > 1
		s.stores.Services.Put(svc)
	case 4, 5, 6:
		if remove {
			s.stores.EndpointSlices.Delete(n)
			return
		}
		ready, name := r.IntN(4) > 0, "http"
		number := pick[int32](r, 80, 8080)
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &number}},
		}
		slice.Labels = map[string]string{discoveryv1.LabelServiceName: meta.Name}
		for i := range r.IntN(4) {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{fmt.Sprint("10.1.0.", i+1)}, Conditions: discoveryv1.EndpointConditions{Ready: &ready},
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: pick(r, "a", "b"), Namespace: meta.Namespace},
			})
		}
		s.stores.EndpointSlices.Put(slice)
	case 7, 8, 9:
		meta.Labels = map[string]string{"app": pick(r, "x", "y")}
		if remove {
			s.stores.Pods.Delete(n)
			return
		}
		s.stores.Pods.Put(&corev1.Pod{
			ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: pick(r, "n1", "n2"), ServiceAccountName: pick(r, "sa1", "sa2")},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: pick(r, "10.1.0.1", "10.1.0.2")}}},
		})
	case 10:
		s.stores.Nodes.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: pick(r, "n1", "n2"), Labels: map[string]string{corev1.LabelTopologyRegion: pick(r, "east", "west")},
		}})
	default:
		if r.IntN(3) > 0 {
			return
		}
		s.mesh = mesh.Default()
		s.mesh.TrustDomain = pick(r, "cluster.local", "other")
		s.changes.Add(model.Change{Kind: model.KindMeshConfig})
	}
}

func randomService(r *rand.Rand, meta metav1.ObjectMeta) *corev1.Service {
	meta.Annotations = map[string]string{
		"networking.istio.io/exportTo":             pick(r, "*", "*", "*", ".", "~", "ns-b"),
		"networking.istio.io/traffic-distribution": pick(r, "", "", "PreferClose"),
	}
	svc := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		ClusterIP: pick(r, "10.0.0.1", "10.0.0.2", "10.0.0.3", corev1.ClusterIPNone),
		Ports: []corev1.ServicePort{
			{Name: pick(r, "http", "http", "tcp"), Port: pick[int32](r, 80, 81), TargetPort: intstr.FromInt32(8080)},
		},
	}}
	if r.IntN(3) > 0 {
		svc.Spec.Selector = map[string]string{"app": pick(r, "x", "y")}
	}
	if r.IntN(10) == 0 {
		svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: cursed, Port: 90})
	}
	return svc
}

// cursed is the name of a port that a generator does not bear.
const cursed = "http-cursed"

// delicate is a generator that panics at a service that has a cursed port.
type delicate struct{ translate.Generator }

func (g delicate) List(c model.ProxyClass) translate.Listing {
	l := g.Generator.List(c)
	if list := l.Service; list != nil {
		l.Service = func(s *snapshot.Snapshot, svc *snapshot.Service) []translate.Recipe {
			if slices.ContainsFunc(svc.Ports, func(p model.Port) bool { return p.Name == cursed }) {
				panic(cursed)
			}
			return list(s, svc)
		}
	}
	return l
}

// side is what all streams of a server share.
type side struct {
	generators map[string]*generator
	generation *generation
}

func newSide() *side {
	s := &side{generators: map[string]*generator{}}
	store := resource.NewStore(nil)
	for _, g := range []translate.Generator{cluster.New(), endpoint.New(model.FlavorEnvoy), listener.New(), route.New()} {
		ignore := func(resource.Failure) {}
		s.generators[g.TypeURL()] = &generator{
			Generator: delicate{g}, store: store, report: ignore,
			pool: store.NewPool(g.Flavor(), g.TypeURL(), ignore), typ: resource.TypeOf(g.TypeURL()),
		}
	}
	return s
}

func (s *side) follow(snap *snapshot.Snapshot) {
	s.generation = newGeneration(snap, s.generation, newWorkers(1))
}

// lagger is a client of one stream after another, which answers when it likes and looks at few snapshots.
type lagger struct {
	t        *testing.T
	side     *side
	random   *rand.Rand
	encoding subscription.Encoding
	proxy    *model.Proxy

	machine *subscription.Machine
	names   map[string][]string            // wanted, by type
	has     map[string]map[string]*version // by type and name
	nonces  map[string]string
	flying  []subscription.Response
	refused map[string]map[string]bool
}

type version = resource.Resource

var byName = []string{resource.EndpointType, resource.RouteType}

func (l *lagger) connect() {
	l.machine = subscription.New(l.encoding, func(url string) bool { return l.side.generators[url].Wildcard() }, subscription.Nonces("n"))
	l.flying, l.nonces, l.refused = nil, map[string]string{}, map[string]map[string]bool{}
	if l.encoding == subscription.StateOfTheWorld || l.has == nil {
		l.has = map[string]map[string]*version{}
	}
	for _, url := range []string{resource.ClusterType, resource.EndpointType, resource.ListenerType, resource.RouteType} {
		r := subscription.Request{TypeURL: url, Names: l.names[url], Subscribe: l.names[url], Have: map[string]string{}}
		if l.has[url] == nil {
			l.has[url] = map[string]*version{}
		}
		for name, v := range l.has[url] {
			r.Have[name] = v.Version()
		}
		l.machine.Request(r)
	}
}

// want changes at random which names the client wants, of all that there ever were.
func (l *lagger) want(known map[string][]string) {
	url := pick(l.random, byName...)
	if len(known[url]) == 0 {
		return
	}
	r := subscription.Request{TypeURL: url, Nonce: l.nonces[url]}
	if l.encoding == subscription.Delta {
		r.Nonce = ""
	} else if slices.ContainsFunc(l.flying, func(f subscription.Response) bool { return f.Type.URL == url }) {
		return // the next answer says it
	}
	var now []string
	for _, name := range l.names[url] {
		if l.random.IntN(6) == 0 {
			r.Unsubscribe = append(r.Unsubscribe, name)
			delete(l.has[url], name)
			delete(l.refused[url], name)
			continue
		}
		now = append(now, name)
	}
	for range 3 {
		name := pick(l.random, known[url]...)
		if !slices.Contains(now, name) && !slices.Contains(r.Unsubscribe, name) {
			now = append(now, name)
			r.Subscribe = append(r.Subscribe, name)
		}
	}
	l.names[url], r.Names = now, now
	l.machine.Request(r)
}

// look takes what is due at the newest snapshot, as a stream does.
func (l *lagger) look() {
	for {
		out, ok := l.machine.Next(func(url string, last subscription.Source) subscription.Source {
			before, _ := last.(*class)
			c, err := l.side.generation.class(l.side.generators[url], l.proxy, before)
			if err != nil {
				l.t.Fatal(err)
			}
			return c
		})
		if !ok {
			return
		}
		l.flying = append(l.flying, out)
	}
}

// answer answers the oldest response.
func (l *lagger) answer(refuse bool) {
	if len(l.flying) == 0 {
		return
	}
	out := l.flying[0]
	l.flying = l.flying[1:]
	url := out.Type.URL
	l.nonces[url] = out.Nonce
	r := subscription.Request{TypeURL: url, Nonce: out.Nonce, Names: l.names[url]}
	if l.refused[url] == nil {
		l.refused[url] = map[string]bool{}
	}
	if refuse {
		text := "no"
		r.Refused = &text
		for _, res := range out.Resources {
			l.refused[url][res.Name()] = true
		}
		for _, name := range out.Removed {
			l.refused[url][name] = true
		}
		l.machine.Request(r)
		return
	}
	has := l.has[url]
	if l.encoding == subscription.StateOfTheWorld && out.Type.FullState {
		clear(has)
		clear(l.refused[url])
	}
	for _, res := range out.Resources {
		if out.Type.FullState || slices.Contains(l.names[url], res.Name()) {
			has[res.Name()] = res
		}
		delete(l.refused[url], res.Name())
	}
	for _, name := range out.Removed {
		delete(has, name)
		delete(l.refused[url], name)
	}
	l.machine.Request(r)
}

// settle answers all until there is nothing more to say.
func (l *lagger) settle() {
	for l.look(); len(l.flying) > 0; l.look() {
		l.answer(false)
	}
}

// refusing reports whether the client refused anything for which nothing that it took came since.
func (l *lagger) refusing() bool {
	for _, s := range l.machine.Status() {
		if s.Refused != "" || len(l.refused[s.Type.URL]) > 0 {
			return true
		}
	}
	return false
}

// check holds what the client has to what a process that begins now has for it.
func (l *lagger) check(fresh *side) {
	l.t.Helper()
	for url, g := range fresh.generators {
		c, err := fresh.generation.class(g, l.proxy, nil)
		if err != nil {
			l.t.Fatal(err)
		}
		want := map[string]*version{}
		if g.Wildcard() {
			for _, r := range c.All().List() {
				want[r.Name()] = r
			}
		} else {
			for i, r := range c.Named(l.names[url]) {
				if r != nil {
					want[l.names[url][i]] = r
				}
			}
		}
		for name, r := range want {
			if had := l.has[url][name]; !l.refused[url][name] && (had == nil || had.Hash() != r.Hash()) {
				l.t.Errorf("%s %s: %s %q is not what a fresh client has (there at all: %t)", l.encoding, l.proxy.ID, g.typ.Short, name, had != nil)
			}
		}
		for name := range l.has[url] {
			// As long as a client refuses something, what that may refer to stays.
			if want[name] == nil && g.Wildcard() && !l.refusing() {
				l.t.Errorf("%s %s: %s %q stays, which a fresh client does not have", l.encoding, l.proxy.ID, g.typ.Short, name)
			}
		}
	}
}

// TestClientsEndAlike makes random changes of real objects under clients that look at few of the snapshots, answer late,
// refuse, change what they want and come back. Whenever all is quiet, they have what a client of a fresh process has.
func TestClientsEndAlike(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			clientsEndAlike(t, rand.New(rand.NewPCG(seed, 3)))
		})
	}
}

func clientsEndAlike(t *testing.T, r *rand.Rand) {
	src, shared := newSource(t), newSide()
	for range 30 {
		src.edit(r)
	}
	shared.follow(src.compile(src.compiler))
	known := map[string][]string{
		resource.EndpointType: {"outbound|80||nobody.ns-a.svc.cluster.local"}, resource.RouteType: {"80", "81", "90"},
	}
	for _, ns := range []string{"ns-a", "ns-b"} {
		for _, n := range []string{"a", "b", "c", "d"} {
			for _, port := range []string{"80", "81", "90"} {
				known[resource.EndpointType] = append(known[resource.EndpointType], "outbound|"+port+"||"+n+"."+ns+".svc.cluster.local")
			}
		}
	}
	var clients []*lagger
	for i := range 12 {
		ns := pick(r, "ns-a", "ns-b")
		l := &lagger{t: t, side: shared, random: r, encoding: subscription.Encoding(i % 2), names: map[string][]string{}, proxy: &model.Proxy{
			ID: fmt.Sprint("client ", i), Type: model.Sidecar, Flavor: model.FlavorEnvoy, Namespace: ns, Pod: pick(r, "a", "b", "none"),
			IPs: []string{pick(r, "10.1.0.1", "10.1.0.2")}, DNSDomain: ns + ".svc.cluster.local",
			Metadata: model.Metadata{Labels: map[string]string{"app": pick(r, "x", "y")}},
		}}
		l.connect()
		clients = append(clients, l)
	}
	compared, strict := 0, 0
	for i := range 400 {
		for range r.IntN(3) {
			src.edit(r)
		}
		shared.follow(src.compile(src.compiler))
		for _, l := range clients {
			switch r.IntN(12) {
			case 0, 1:
				l.look()
			case 2, 3:
				l.answer(false)
			case 4:
				l.answer(r.IntN(4) == 0)
			case 5:
				l.want(known)
			case 6:
				if r.IntN(4) == 0 {
					l.connect()
				}
			}
		}
		if i%40 != 39 {
			continue
		}
		// What no generator bears goes, so that nothing stays as it was.
		for n, cursed := range src.cursed {
			if cursed {
				src.stores.Services.Delete(n)
			}
		}
		shared.follow(src.compile(src.compiler))
		fresh := newSide()
		fresh.follow(src.compile(src.newCompiler()))
		for _, l := range clients {
			l.settle()
			l.check(fresh)
			if l.refusing() {
				l.connect() // what it refused is forgotten with the stream
				l.settle()
				l.check(fresh)
			} else {
				strict++
			}
			for _, has := range l.has {
				compared += len(has)
			}
		}
		if t.Failed() {
			t.Fatalf("after %d steps", i+1)
		}
	}
	if compared < 1000 || strict < 20 {
		t.Errorf("%d resources compared, and %d clients that refused nothing, prove little", compared, strict)
	}
}
