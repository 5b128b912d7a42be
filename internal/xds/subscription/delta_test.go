package subscription

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/meshd/meshd/internal/xds/resource"
)

func TestDelta(t *testing.T) {
	for _, tc := range []struct{ name, script string }{
		{"the first request is answered, an acknowledgement is not", `
			= cds a=1 b=1
			> cds @none
			< cds a=1 b=1
			:Subscribed
			> cds
			:Acknowledged`},
		{"the first request is answered though there is nothing", `
			= cds
			> cds @none
			< cds
			> cds
			> eds @none
			< eds
			> eds`},
		{"what is not known is not answered as nothing", `
			? cds
			> cds ^a=1
			= cds b=1
			< cds b=1
			> cds
			< cds -a`},
		{"only what changed is sent", `
			= cds a=1 b=1 c=1
			> cds
			< cds a=1 b=1 c=1
			> cds
			= cds a=1 b=2 c=1 d=1
			< cds d=1 b=2
			> cds
			= lds l=1 m=1
			> lds
			< lds l=1 m=1
			> lds
			= lds l=1
			< lds -m
			> lds
			= lds l=1`},
		{"one unacknowledged response, and only the newest waits", `
			= cds a=1 b=1
			> cds
			< cds a=1 b=1
			= cds a=2 b=1
			= cds a=3 b=1
			> cds
			< cds a=3
			= cds a=4 b=1
			= cds a=3 b=1
			> cds`},
		// Case B15.
		{"what is gone of clusters and listeners is said once, and of endpoints and routes not at all", `
			= cds a=1 b=1
			= eds a=1 b=1
			= rds r=1
			> cds
			< cds a=1 b=1
			> cds
			> eds +a +b
			< eds a=1 b=1
			> eds
			> rds +r
			< rds r=1
			> rds
			= cds a=1
			< cds -b
			> cds
			= eds a=1
			= rds
			= cds a=1
			= eds a=1 b=1
			< eds b=1
			> eds
			= rds r=1
			< rds r=1`},
		{"a name that does not exist is answered as removed, once", `
			= eds a=1
			> eds +a +x
			< eds a=1 -x
			> eds
			= eds a=2
			< eds a=2
			> eds
			> eds @none +x
			< eds -x
			> eds
			= eds a=2 x=1
			< eds x=1`},
		{"named clusters", `
			= cds a=1 b=1
			> cds +a +x
			< cds a=1 -x
			> cds
			> cds @none +b
			< cds b=1
			> cds
			= cds b=1
			< cds -a
			> cds
			= cds a=1 b=2
			< cds a=1 b=2`},
		// Case B7, and B9.
		{"a name that is asked for again is sent again", `
			= eds a=1 b=1
			> eds +a +b
			< eds a=1 b=1
			> eds
			> eds @none +a
			:Changed
			< eds a=1
			> eds
			> eds @none -b
			> eds @none +b
			< eds b=1
			> eds
			> eds @none -b +b
			< eds b=1
			> eds +a
			:Acknowledged
			< eds a=1`},
		// Case B13.
		{"names that are dropped are not answered, of new ones only they are", `
			= rds a=1 b=1 c=1
			> rds +a +b
			< rds a=1 b=1
			> rds
			> rds @none -a
			> rds @none -x
			= rds a=2 b=1 c=1
			> rds @none +c
			< rds c=1
			> rds -b
			= rds b=2 c=1`},
		// Case B4: its three runs.
		{"a request without nonce changes the subscription and answers nothing", `
			= eds a=1 c=1 d=1
			> eds +a
			< eds a=1
			> eds @none +c
			:Changed
			> eds @last
			:Acknowledged
			< eds c=1
			> eds @old +d
			:Stale
			> eds @last
			:Acknowledged
			< eds d=1
			> eds @junk !bad
			:Stale
			> eds @last`},
		// Case B10.
		{"refused: not again until it changes", `
			= lds a=1
			> lds
			< lds a=1
			> lds !bad
			:Refused
			> lds @none
			= lds a=1
			= lds a=2
			< lds a=2
			> lds`},
		{"refused: other ones go on; the rest follows once what was wrong is accepted", `
			= lds a=1 b=1 c=1
			> lds
			< lds a=1 b=1 c=1
			> lds !bad
			= lds a=1 b=1 c=2
			< lds c=2
			> lds
			< lds a=1 b=1
			> lds !bad
			= lds a=2 b=1 c=2
			< lds a=2
			> lds
			< lds b=1
			> lds`},
		{"refused, and gone before the rest is due", `
			= lds a=1 b=1 c=1
			> lds
			< lds a=1 b=1 c=1
			> lds !bad
			= lds a=2 b=1 c=1
			< lds a=2
			= lds a=2 c=1
			> lds
			< lds c=1 -b`},
		{"refused endpoints", `
			= eds a=1 b=1
			> eds +a +b
			< eds a=1 b=1
			> eds !bad
			= eds a=2 b=1
			< eds a=2
			> eds
			< eds b=1`},
		// Case B1.
		{"an empty request after the parent was sent: everything", `
			= cds a=1 b=1
			= eds a=1 b=1
			> cds
			< cds a=1 b=1
			> cds
			> eds +a +b
			< eds a=1 b=1
			> eds
			= cds a=2 b=1
			< cds a=2
			< eds a=1
			> cds
			> eds
			> eds
			:Changed
			< eds a=1 b=1
			> eds
			> eds`},
		{"the names again after the parent was sent: those", `
			= lds l=1
			= rds r=1 q=1
			> lds
			< lds l=1
			> lds
			> rds +r +q
			< rds q=1 r=1
			> rds
			= lds l=2
			< lds l=2
			> lds
			> rds @none +r +q
			< rds q=1 r=1
			> rds
			= lds l=3
			< lds l=3
			> lds
			> rds @none +r
			< rds r=1`},
		// Case B2, and B6 for the deferred one.
		{"endpoints follow a changed cluster, also a deferred one", `
			= cds a=1 b=1
			= eds a=1 b=1
			> cds
			< cds a=1 b=1
			> eds +a +b
			< eds a=1 b=1
			= cds a=2 b=1
			> cds
			< cds a=2
			> eds
			< eds a=1
			> cds
			> eds`},
		{"endpoints follow a cluster that has their name and comes later (B9)", `
			= cds s=1 t=1
			= eds c=1 s=1 t=1
			> eds +t
			< eds t=1
			> eds
			> cds
			< cds s=1 t=1
			< eds t=1
			> cds
			> eds +c +s
			< eds c=1 s=1`},
		{"a new cluster asks for its own endpoints only", `
			= cds a=1
			= eds a=1 b=1
			> cds
			< cds a=1
			> cds
			> eds +a
			< eds a=1
			> eds
			= cds a=1 b=1
			< cds b=1
			> cds
			> eds @none +b
			< eds b=1`},
		{"a client that comes back: what it has is not sent again", `
			= cds a=1 b=2
			= eds a=1 b=1
			> cds ^a=1 ^b=2
			< cds
			> cds
			> eds +a +b ^a=1 ^b=0
			< eds b=1
			> eds
			= cds a=1 b=3
			< cds b=3
			< eds b=1`},
		{"a client that comes back: what changed, what is new, what another control plane gave it, and what is gone", `
			= lds a=1 b=2 c=1 d=1
			= eds a=1
			> lds ^a=1 ^b=1 ^d=? ^x=1
			< lds c=1 b=2 d=1 -x
			> lds
			> eds +a +x ^a=1 ^x=1
			< eds -x`},
		{"a client that comes back: endpoints of a cluster that is new to it are sent again (B2)", `
			= cds a=2 b=1
			= eds a=1 b=1
			> cds ^a=1 ^b=1
			< cds a=2
			> eds +a +b ^a=1 ^b=1
			< eds a=1
			> cds
			> eds`},
		{"a client that comes back: clusters that are gone go when no route can refer to them (B26)", `
			= cds v2=1
			= lds l=2
			> cds ^v1=1
			< cds v2=1
			> lds ^l=1
			< lds l=2
			> cds
			> lds
			< cds -v1`},
		{"names beside a wildcard", `
			= cds a=1 b=1
			> cds +*
			< cds a=1 b=1
			> cds
			> cds @none +a
			< cds a=1
			> cds
			= cds a=2 b=1
			< cds a=2
			> cds
			> cds @none -a
			< cds a=2
			> cds
			> cds @none +x
			< cds -x
			> cds
			> cds @none -x
			< cds -x
			> cds
			> cds @none +b
			< cds b=1
			> cds
			= cds a=2
			< cds -b`},
		{"a wildcard that is taken back, and asked for again", `
			= cds a=1 b=1
			> cds
			< cds a=1 b=1
			> cds
			> cds @none +a
			< cds a=1
			> cds
			> cds @none -*
			= cds a=1 b=2
			= cds a=2 b=2
			< cds a=2
			> cds
			> cds @none +*
			< cds a=2 b=2
			> cds
			> cds @none +*
			< cds a=2 b=2`},
		{"listeners and routes wait for clusters, endpoints do not", `
			= cds a=1
			= eds a=1
			= lds l=1
			= rds r=1
			> cds
			< cds a=1
			> cds
			> eds +a
			< eds a=1
			> eds
			> lds
			< lds l=1
			> lds
			> rds +r
			< rds r=1
			> rds
			= cds a=1 b=1
			< cds b=1
			= cds a=1 b=1 c=1
			= rds r=2
			= lds l=2
			= eds a=2
			< eds a=2
			> eds
			> cds
			< cds c=1
			< lds l=2
			< rds r=2`},
		// Case B26.
		{"a cluster goes when no route refers to it any more", `
			= cds v1=1
			= lds l=1
			= rds r=1
			> cds
			< cds v1=1
			> cds
			> lds
			< lds l=1
			> lds
			> rds +r
			< rds r=1
			> rds
			& cds v2=1
			= rds r=2
			< cds v2=1
			< rds r=2
			> cds
			> rds
			< cds -v1`},
		{"a cluster that is wanted by name too goes no earlier", `
			= cds v1=1
			= lds l=1
			> cds +* +v1
			< cds v1=1
			> cds
			> lds
			< lds l=1
			> lds
			& cds
			= lds l=2
			< lds l=2
			> lds
			< cds -v1`},
		{"a cluster that is wanted by name too, and comes back before it went", `
			= cds v1=1
			= lds l=1
			> cds +* +v1
			< cds v1=1
			> cds
			> lds
			< lds l=1
			> lds
			& cds
			= lds l=2
			< lds l=2
			= cds v1=1
			> lds
			= cds
			< cds -v1
			> cds
			= cds v1=1
			< cds v1=1`},
		{"what is no longer part of everything, and still there by name", `
			= cds a=1 b=1
			> cds +* +a
			< cds a=1 b=1
			> cds
			= cds a=0 b=0
			< cds a=0 -b
			> cds
			= cds a=0 b=1
			< cds b=1`},
		{"clusters stay until the rest of what was refused is there", `
			= cds a=1 b=1
			= lds k=1 l=1
			> cds
			< cds a=1 b=1
			> cds
			> lds
			< lds k=1 l=1
			> lds
			& cds a=1
			= lds k=2 l=2
			< lds k=2 l=2
			> lds !no
			= lds k=3 l=2
			< lds k=3
			> lds
			< lds l=2
			> lds
			< cds -b`},
		{"clusters stay while listeners without them are refused", `
			= cds a=1 b=1
			= lds k=1 l=1
			> cds
			< cds a=1 b=1
			> cds
			> lds
			< lds k=1 l=1
			> lds
			& cds a=1
			= lds k=1 l=2
			< lds l=2
			> lds !no
			= lds k=2 l=2
			< lds k=2
			> lds
			= lds k=2 l=3
			< lds l=3
			> lds
			< cds -b`},
	} {
		t.Run(tc.name, func(t *testing.T) { converse(t, Delta).run(tc.script) })
	}
}

// player is a client that keeps what it is sent, over one machine after another.
type player struct {
	t       *testing.T
	machine *Machine
	world   *conversation
	has     map[string]map[string]string // versions by type and name
	names   map[string][]string
	flying  []Response
	begun   map[string]bool
}

var played = []string{"cds", "eds", "lds", "rds"}

func newPlayer(t *testing.T, encoding Encoding, world *conversation) *player {
	p := &player{t: t, world: world, has: map[string]map[string]string{}, names: map[string][]string{}}
	for _, short := range played {
		p.has[urls[short]] = map[string]string{}
	}
	p.connect(encoding)
	return p
}

// connect begins a new stream; a delta client says what it has, another one forgets nothing and says nothing.
func (p *player) connect(encoding Encoding) {
	p.machine = New(encoding, func(url string) bool { return resource.TypeOf(url).FullState }, Nonces("p"))
	p.flying, p.begun = nil, map[string]bool{}
	for _, short := range played {
		p.want(short, p.names[short])
	}
}

func (p *player) want(short string, names []string) {
	url := urls[short]
	r := Request{TypeURL: url}
	if p.machine.encoding == StateOfTheWorld {
		r.Names = names
	} else if first := !p.begun[url]; first {
		r.Have, r.Subscribe = maps.Clone(p.has[url]), names
	}
	for _, old := range p.names[short] {
		if !slices.Contains(names, old) {
			r.Unsubscribe = append(r.Unsubscribe, old)
			if p.machine.encoding == Delta || !resource.TypeOf(url).FullState {
				delete(p.has[url], old) // beside a wildcard it has to be told again
			}
		}
	}
	for _, name := range names {
		if !slices.Contains(p.names[short], name) {
			r.Subscribe = append(r.Subscribe, name)
		}
	}
	if p.machine.encoding == StateOfTheWorld {
		r.Subscribe, r.Unsubscribe = nil, nil
	}
	p.names[short], p.begun[url] = names, true
	p.machine.Request(r)
	p.pump()
}

func (p *player) pump() {
	for {
		r, ok := p.machine.Next(p.world.source)
		if !ok {
			return
		}
		if p.flying = append(p.flying, r); len(p.flying) > len(played) {
			p.t.Fatal("more than one response of a type is not acknowledged")
		}
	}
}

// answer accepts or refuses one response that waits.
func (p *player) answer(i int, refuse bool) {
	r := p.flying[i]
	p.flying = slices.Delete(p.flying, i, i+1)
	has := p.has[r.Type.URL]
	in := Request{TypeURL: r.Type.URL, Nonce: r.Nonce}
	short := r.Type.Short
	if p.machine.encoding == StateOfTheWorld {
		in.Names = p.names[short]
	}
	if refuse {
		text := "no"
		in.Refused = &text
	} else {
		if p.machine.encoding == StateOfTheWorld && r.Type.FullState {
			clear(has)
		}
		for _, res := range r.Resources {
			if r.Type.FullState || slices.Contains(p.names[short], res.Name()) {
				has[res.Name()] = res.Version()
			}
		}
		for _, name := range r.Removed {
			delete(has, name)
		}
	}
	p.machine.Request(in)
	p.pump()
}

// check compares with the world when nothing is under way.
func (p *player) check(what string) {
	for _, short := range played {
		url := urls[short]
		want := map[string]string{}
		for _, r := range p.world.sources[url].All().List() {
			if resource.TypeOf(url).FullState || slices.Contains(p.names[short], r.Name()) {
				want[r.Name()] = r.Version()
			}
		}
		got := maps.Clone(p.has[url])
		if !resource.TypeOf(url).FullState {
			// That one is gone is known from its parent.
			maps.DeleteFunc(got, func(name, _ string) bool { return want[name] == "" })
		}
		if !maps.Equal(got, want) {
			p.t.Fatalf("%s: %s in %s: has %v, want %v", what, short, p.machine.encoding, got, want)
		}
	}
}

// Whatever happens in whatever order, a client ends with what there is, in both protocols.
func TestRandomly(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	for seed := range uint64(400) {
		refusals := seed%2 == 1
		rnd := rand.New(rand.NewPCG(seed, 0))
		world := newConversation(t)
		set := func(short string, absent bool, fresh string) {
			var content = map[string]string{}
			for _, name := range names {
				if v := rnd.IntN(3); v > 0 || !absent {
					content[name] = fmt.Sprint(v) + fresh
				}
			}
			world.sources[urls[short]] = &fakeSource{c: world, url: urls[short], content: content}
		}
		for _, short := range played {
			set(short, true, "")
		}
		var players []*player
		for _, encoding := range []Encoding{StateOfTheWorld, Delta} {
			players = append(players, newPlayer(t, encoding, world))
		}
		quiet := func() {
			for _, p := range players {
				for p.pump(); len(p.flying) > 0; {
					p.answer(rnd.IntN(len(p.flying)), false)
				}
			}
		}
		for range 60 {
			what := rnd.IntN(12)
			switch short := played[rnd.IntN(len(played))]; what {
			case 0, 1, 2, 3:
				set(short, true, "")
				for _, p := range players {
					p.pump()
				}
			case 4, 5:
				wanted := slices.DeleteFunc(slices.Clone(names), func(string) bool { return rnd.IntN(2) == 0 })
				if resource.TypeOf(urls[short]).FullState {
					wanted = append(wanted, all)
				}
				for _, p := range players {
					if len(wanted) > 0 {
						p.want(short, wanted)
					}
				}
			case 6:
				if p := players[1]; rnd.IntN(4) == 0 {
					p.connect(Delta)
				}
			case 7:
				if !refusals {
					quiet()
					for _, p := range players {
						p.check(fmt.Sprint("seed ", seed))
					}
				}
			default:
				for _, p := range players {
					if len(p.flying) > 0 {
						p.answer(rnd.IntN(len(p.flying)), refusals && rnd.IntN(3) == 0)
					}
				}
			}
		}
		// What was refused comes again only when it changes.
		for _, short := range played {
			set(short, false, strings.Repeat("x", 1))
		}
		quiet()
		for _, p := range players {
			p.check(fmt.Sprint("seed ", seed, ", at the end"))
		}
	}
}

// Of the versions that a client says it has, none stay when it is answered (case B16).
func TestCaseB16(t *testing.T) {
	const clients, resources = 200, 5000
	world := newConversation(t)
	content := map[string]string{}
	for i := range resources {
		content[fmt.Sprint("outbound|80||service-", i, ".default.svc.cluster.local")] = "1"
	}
	source := &fakeSource{c: world, url: resource.ClusterType, content: content}
	same := fixed{source.All()}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	var machines []*Machine
	for range clients {
		m := New(Delta, func(string) bool { return true }, Nonces("n"))
		have := make(map[string]string, resources)
		for _, r := range same.set.List() {
			have[strings.Clone(r.Name())] = strings.Clone(r.Version())
		}
		delete(have, same.set.List()[0].Name())
		m.Request(Request{TypeURL: resource.ClusterType, Have: have})
		r, ok := m.Next(func(string, Source) Source { return same })
		if !ok || len(r.Resources) != 1 || len(r.Removed) != 0 {
			t.Fatalf("%d resources, %d removed: want the one it does not have", len(r.Resources), len(r.Removed))
		}
		m.Request(Request{TypeURL: resource.ClusterType, Nonce: r.Nonce})
		machines = append(machines, m)
	}
	if got := (heap() - before) / clients; got > 4<<10 {
		t.Errorf("%d bytes stay for each client", got)
	}
	runtime.KeepAlive(machines)
	runtime.KeepAlive(source)
}

// fixed is a source that has one set.
type fixed struct{ set *resource.Set }

func (f fixed) All() *resource.Set                  { return f.set }
func (f fixed) Named([]string) []*resource.Resource { return nil }

// Both protocols give the same contents the same version, so that what a client has can be compared.
func TestVersionsAgreeInBothProtocols(t *testing.T) {
	sotw, delta := newConversation(t), converse(t, Delta)
	sotw.run(`
		= cds a=1 b=2
		= eds a=1 b=2
		> cds
		< cds a=1 b=2
		> cds
		> eds a b
		< eds a=1 b=2`)
	delta.run(`
		= cds a=1 b=1 c=1
		= eds a=1 b=1
		> cds
		< cds a=1 b=1 c=1
		> cds
		= cds a=1 b=2
		< cds b=2 -c
		> cds
		> eds +a
		< eds a=1
		> eds @none +b
		> eds
		< eds b=1
		> eds
		= eds a=1 b=2
		< eds b=2`)
	for i, s := range sotw.machine.Status() {
		if d := delta.machine.Status()[i]; d.Sent != s.Sent || d.Sent == "" {
			t.Errorf("%s: version %q in delta, %q in the state of the world", s.Type.Short, d.Sent, s.Sent)
		}
	}
}
