package xds

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/mesh"
	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/randommesh"
	"github.com/meshd/meshd/internal/translate/cluster"
	"github.com/meshd/meshd/internal/translate/endpoint"
	"github.com/meshd/meshd/internal/translate/listener"
	"github.com/meshd/meshd/internal/translate/nametable"
	"github.com/meshd/meshd/internal/translate/proxyless"
	"github.com/meshd/meshd/internal/translate/route"
	"github.com/meshd/meshd/internal/xds/resource"
)

// line is generations of a mesh, one made of the other, with all generators that read one.
type line struct {
	t          testing.TB
	store      *resource.Store
	generators []*generator
	now        *generation
	last       map[string]*class // by generator and proxy, as a stream remembers it
}

func newLine(t testing.TB) *line {
	l := &line{t: t, store: resource.NewStore(nil), last: map[string]*class{}}
	fail := func(f resource.Failure) { t.Errorf("%s %q: %v", f.TypeURL, f.Name, f.Err) }
	for _, g := range append(proxyless.Generators(), cluster.New(), endpoint.New(model.FlavorEnvoy), listener.New(), route.New(),
		nametable.New(model.FlavorEnvoy)) {
		l.generators = append(l.generators, &generator{
			Generator: g, store: l.store, pool: l.store.NewPool(g.Flavor(), g.TypeURL(), fail), typ: resource.TypeOf(g.TypeURL()), report: fail,
		})
	}
	return l
}

// advance goes over to another snapshot.
func (l *line) advance(s *snapshot.Snapshot) { l.now = newGeneration(s, l.now, newWorkers(1)) }

// class is what a stream of a proxy gets now.
func (l *line) class(g *generator, p *model.Proxy) *class {
	l.t.Helper()
	id := fmt.Sprint(g.Flavor(), g.TypeURL(), p.ID, p.Type, p.Flavor)
	c, err := l.now.class(g, p, l.last[id])
	if err != nil {
		l.t.Fatal(err)
	}
	l.last[id] = c
	return c
}

// contents are the versions of all resources of a class, by name, as they are listed and as they are found by name.
func contents(c *class) (listed, named map[string]string) {
	listed, named = map[string]string{}, map[string]string{}
	names := []string{"nothing", "outbound|80||nothing", "0.0.0.0_1", "2"}
	for _, r := range c.All().List() {
		listed[r.Name()] = r.Version()
		names = append(names, r.Name())
	}
	for i, r := range c.Named(names) {
		if r != nil {
			named[names[i]] = r.Version()
		}
	}
	return listed, named
}

// TestClassesFollowTheMesh makes random edits, and holds classes that were derived from each other, edit by edit and
// several at once, to classes that were made from scratch: whatever a generator reads, they have the same bytes.
func TestClassesFollowTheMesh(t *testing.T) {
	edits := 30
	if testing.Short() {
		edits = 15
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := randommesh.Random{Rand: rand.New(rand.NewPCG(seed, 7))}
			source := randommesh.New(mesh.Default())
			compiler := source.Compiler()
			compile := func(c *snapshot.Compiler, changes map[model.Change]struct{}) *snapshot.Snapshot {
				s, err := c.Compile(context.Background(), source.Stores.MarkSynced(), changes)
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			for range 60 {
				r.Edit()(source)
			}
			each, some := newLine(t), newLine(t)
			for i := range edits {
				changes, _ := source.Changes.Take()
				now := compile(compiler, changes)
				each.advance(now)
				lines := []*line{each}
				if r.One(4) || i == edits-1 {
					some.advance(now)
					lines = append(lines, some)
				}
				scratch := newLine(t)
				scratch.advance(compile(source.Compiler(), nil))
				for _, p := range clients() {
					for n, g := range scratch.generators {
						if g.Flavor() != p.Flavor || r.One(3) && i < edits-1 {
							continue // that stream looks later
						}
						listed, named := contents(scratch.class(g, p))
						for _, l := range lines {
							before := l.last[fmt.Sprint(g.Flavor(), g.TypeURL(), p.ID, p.Type, p.Flavor)]
							c := l.class(l.generators[n], p)
							sinceIsRight(t, c, before)
							gotListed, gotNamed := contents(c)
							if diff := cmp.Diff([]map[string]string{listed, named}, []map[string]string{gotListed, gotNamed}); diff != "" {
								t.Fatalf("edit %d: %s of %s: listed and named are not as from scratch (-scratch +derived):\n%s", i, g.TypeURL(), p.ID, diff)
							}
						}
					}
				}
				r.Edit()(source)
			}
		})
	}
}

// sinceIsRight holds what a class says is new in it to what is.
func sinceIsRight(t *testing.T, c, before *class) {
	t.Helper()
	if before == nil {
		return
	}
	d := c.Since(before)
	if d == nil {
		if c.value == before.value {
			t.Fatal("what is new is not known")
		}
		return
	}
	told := map[string]bool{}
	for _, names := range [][]string{d.Added, d.Changed, d.Removed} {
		for _, name := range names {
			told[name] = true
		}
	}
	for _, r := range before.state().named.List() {
		if now := c.Named([]string{r.Name()})[0]; now != r && !told[r.Name()] {
			t.Fatalf("%s is another, and it is not told", r.Name())
		}
	}
}

// clients differ in what generators read, and find themselves behind the services of a random mesh.
func clients() []*model.Proxy {
	var out []*model.Proxy
	for i, p := range randommesh.Proxies() {
		if i%11 != 0 {
			continue
		}
		p.Type, p.Flavor, p.DNSDomain = model.Sidecar, model.FlavorEnvoy, p.Namespace+".svc.cluster.local"
		p.Metadata.IstioVersion = "1.31.0"
		grpc, router := *p, *p
		grpc.Flavor, router.Type = model.FlavorGRPC, model.Router
		out = append(out, p, &grpc, &router)
	}
	return out
}
