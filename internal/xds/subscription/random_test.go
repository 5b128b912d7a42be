package subscription

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/meshd/meshd/internal/xds/resource"
)

// player is a client that keeps what it is sent, over one machine after another.
type player struct {
	t       *testing.T
	machine *Machine
	world   *conversation
	has     map[string]map[string]string // versions by type and name
	names   map[string][]string
	flying  []Response
	begun   map[string]bool
	said    []string // all that was sent
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
		p.said = append(p.said, p.tell(r))
		if p.flying = append(p.flying, r); len(p.flying) > len(played) {
			p.t.Fatal("more than one response of a type is not acknowledged")
		}
	}
}

// tell writes a response down.
func (p *player) tell(r Response) string {
	out := fmt.Sprint(r.Type.Short, " ", r.Version, " ", r.Nonce, " -", r.Removed)
	for _, res := range r.Resources {
		out += " " + res.Name() + "=" + res.Version()
	}
	return out
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

// Whatever happens in whatever order, a client ends with what there is, in both protocols. And it is sent the same whether
// sources say what is new in them, so that only that is looked at, or not.
func TestRandomly(t *testing.T) {
	for seed := range uint64(400) {
		told, silent := play(t, seed, false), play(t, seed, true)
		for i := range min(len(told), len(silent)) {
			if told[i] != silent[i] {
				t.Fatalf("seed %d: response %d is %q, and %q if the source says nothing", seed, i, told[i], silent[i])
			}
		}
		if len(told) != len(silent) {
			t.Fatalf("seed %d: %d responses, and %d if the source says nothing", seed, len(told), len(silent))
		}
	}
}

// play is one random play, to its end. It gives what was sent.
func play(t *testing.T, seed uint64, silent bool) (said []string) {
	names := []string{"a", "b", "c", "d", "e"}
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
		world.sources[urls[short]] = &fakeSource{c: world, url: urls[short], content: content, silent: silent}
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
		said = append(said, p.said...)
	}
	return said
}
