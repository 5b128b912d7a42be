package subscription

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/translate"
	"github.com/meshd/meshd/internal/xds/resource"
)

// A script is a conversation, one line each:
//
//	= cds a=1 b=1        the resources of a type are these from now on
//	& cds a=1 b=1        the same, together with the next = line
//	? cds                the type is not known from now on
//	> cds                a request; names may follow, and then
//	                     @last (the nonce of the last response; the default), @none, @old (the one before), @junk
//	                     !text refuses
//	< cds a=1 b=1        the next response has exactly these resources
//	:Acknowledged        the last request came to this
//
// After each = and > all responses that are due must be listed.
type conversation struct {
	t       *testing.T
	machine *Machine
	pools   map[string]*resource.Pool
	sources map[string]*fakeSource
	nonces  map[string][]string
	nonce   string
	queue   []Response
	outcome Outcome
}

type fakeSource struct {
	c       *conversation
	url     string
	content map[string]string
	unknown bool
	// looked counts the names that were looked up.
	looked int
}

func (f *fakeSource) make(name string) *resource.Resource {
	value, ok := f.content[name]
	if !ok {
		return nil
	}
	r, err := f.c.pools[f.url].Get(translate.Recipe{Name: name, Key: value, Build: func() (proto.Message, error) {
		return wrapperspb.String(value), nil
	}})
	if err != nil {
		f.c.t.Fatal(err)
	}
	return r
}

func (f *fakeSource) All() *resource.Set {
	if f.unknown {
		return nil
	}
	var list []*resource.Resource
	for _, name := range slices.Sorted(maps.Keys(f.content)) {
		list = append(list, f.make(name))
	}
	return resource.NewSet(list)
}

func (f *fakeSource) Named(names []string) []*resource.Resource {
	out := make([]*resource.Resource, len(names))
	for i, name := range names {
		f.looked++
		out[i] = f.make(name)
	}
	return out
}

var urls = map[string]string{
	"cds": resource.ClusterType, "eds": resource.EndpointType, "lds": resource.ListenerType, "rds": resource.RouteType,
	"other": "type.googleapis.com/other",
}

func newConversation(t *testing.T) *conversation {
	c := &conversation{t: t, pools: map[string]*resource.Pool{}, sources: map[string]*fakeSource{}, nonces: map[string][]string{}}
	store := resource.NewStore()
	for short, url := range urls {
		c.pools[url] = store.NewPool(model.FlavorEnvoy, url, func(f resource.Failure) { t.Error(f.Err) })
		c.sources[url] = &fakeSource{c: c, url: url}
		c.nonces[short] = []string{""}
	}
	c.machine = New(func(url string) bool { return url == resource.ClusterType || url == resource.ListenerType }, Nonces("t"))
	return c
}

func (c *conversation) source(url string, _ Source) Source { return c.sources[url] }

func (c *conversation) collect() {
	for {
		r, ok := c.machine.Next(c.source)
		if !ok {
			return
		}
		short := r.Type.Short
		if r.Type.Rank == 5 {
			short = "other"
		}
		if slices.Contains(c.nonces[short], r.Nonce) {
			c.t.Fatalf("nonce %q is used twice", r.Nonce)
		}
		if r.Version == "" {
			c.t.Fatal("a response has no version")
		}
		c.nonces[short] = append(c.nonces[short], r.Nonce)
		c.queue = append(c.queue, r)
		if len(c.queue) > 20 {
			c.t.Fatal("responses without end")
		}
	}
}

func (c *conversation) content(r Response) string {
	var out []string
	for _, res := range r.Resources {
		var value wrapperspb.StringValue
		body := res.Any()
		// The value is the last field of the Any, and its own value the last bytes of that: enough for a test.
		if err := proto.Unmarshal(body[len(body)-3:], &value); err != nil {
			c.t.Fatal(err)
		}
		out = append(out, res.Name()+"="+value.GetValue())
	}
	return strings.Join(out, " ")
}

func (c *conversation) line(number int, line string) {
	where := fmt.Sprintf("line %d %q", number, line)
	if strings.HasPrefix(line, ":") {
		if got := [...]string{"Subscribed", "Acknowledged", "Refused", "Changed", "Stale"}[c.outcome]; got != line[1:] {
			c.t.Fatalf("%s: the outcome is %s", where, got)
		}
		return
	}
	words := strings.Fields(line)
	short, args := words[1], words[2:]
	url := urls[short]
	if words[0] != "<" && len(c.queue) > 0 {
		c.t.Fatalf("before %s: unexpected response %s %s", where, c.queue[0].Type.Short, c.content(c.queue[0]))
	}
	switch words[0] {
	case "=", "?", "&":
		content := map[string]string{}
		for _, a := range args {
			name, value, _ := strings.Cut(a, "=")
			content[name] = value
		}
		c.sources[url] = &fakeSource{c: c, url: url, content: content, unknown: words[0] == "?"}
		if words[0] != "&" {
			c.collect()
		}
	case ">":
		r := Request{TypeURL: url}
		sent := c.nonces[short]
		r.Nonce = sent[len(sent)-1]
		for _, a := range args {
			switch {
			case a == "@last":
			case a == "@none":
				r.Nonce = ""
			case a == "@old":
				r.Nonce = sent[len(sent)-2]
			case a == "@junk":
				r.Nonce = "junk"
			case strings.HasPrefix(a, "!"):
				text := a[1:]
				r.Refused = &text
			default:
				r.Names = append(r.Names, a)
			}
		}
		c.outcome = c.machine.Request(r)
		c.collect()
	case "<":
		if len(c.queue) == 0 {
			c.t.Fatalf("%s: there is no response", where)
		}
		r := c.queue[0]
		c.queue = c.queue[1:]
		if got, want := c.content(r), strings.Join(args, " "); r.Type.URL != url || got != want {
			c.t.Fatalf("%s: got %s %s", where, r.Type.Short, got)
		}
	default:
		c.t.Fatalf("%s: not a line of a script", where)
	}
}

func (c *conversation) run(script string) {
	c.t.Helper()
	for i, line := range strings.Split(script, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			c.line(i, line)
		}
	}
	if len(c.queue) > 0 {
		c.t.Fatalf("at the end: unexpected response %s %s", c.queue[0].Type.Short, c.content(c.queue[0]))
	}
}

func TestMachine(t *testing.T) {
	for _, tc := range []struct{ name, script string }{
		{"the first request is answered, an acknowledgement is not", `
			= cds a=1 b=1
			> cds
			< cds a=1 b=1
			:Subscribed
			> cds
			:Acknowledged
			> cds`},
		{"the first request is answered though there is nothing", `
			> cds
			< cds
			> cds
			> eds a
			< eds
			> eds a
			= eds a=1
			< eds a=1`},
		{"what is not known is not answered as nothing", `
			? cds
			> cds
			= cds a=1
			< cds a=1
			> cds
			? cds
			= cds a=1`},
		{"one unacknowledged response, and only the newest waits", `
			= cds a=1
			> cds
			< cds a=1
			= cds a=2
			= cds a=3
			> cds
			< cds a=3
			> cds`},
		{"back to what the client has: nothing is sent", `
			= cds a=1
			> cds
			< cds a=1
			= cds a=2
			= cds a=1
			> cds`},
		{"refused: not again until it changes (B10)", `
			= lds a=1
			> lds
			< lds a=1
			> lds !bad
			:Refused
			> lds !bad
			:Stale
			= lds a=1
			> lds @none
			= lds a=2
			< lds a=2
			> lds
			= lds a=3
			< lds a=3
			> lds !bad
			= lds a=2
			< lds a=2`},
		{"refused endpoints: other ones go on; the rest follows once what was wrong is accepted", `
			= eds a=1 b=1 c=1
			> eds a b c
			< eds a=1 b=1 c=1
			> eds a b c !bad
			= eds a=1 b=1 c=2
			< eds c=2
			> eds a b c
			< eds a=1 b=1
			> eds a b c !bad
			= eds a=2 b=1 c=2
			< eds a=2
			> eds a b c
			< eds b=1
			> eds a b c`},
		{"refused together with a new name: only the new one", `
			= eds a=1 b=1
			> eds a
			< eds a=1
			> eds a b !bad
			< eds b=1`},
		{"a stale nonce acknowledges nothing", `
			= cds a=1
			> cds
			< cds a=1
			> cds
			= cds a=2
			< cds a=2
			> cds @old
			:Stale
			> cds @junk !bad
			:Stale
			= cds a=3
			> cds
			< cds a=3`},
		{"a new name beside a stale nonce counts (B4)", `
			= eds a=1 b=1
			> eds a
			< eds a=1
			> eds a
			= eds a=2 b=1
			< eds a=2
			> eds a b @old
			> eds a b
			< eds b=1`},
		{"a request without nonce changes names and acknowledges nothing (B4)", `
			= eds a=1 b=1
			> eds a
			< eds a=1
			> eds a b @none
			:Changed
			> eds a b
			:Acknowledged
			< eds b=1`},
		{"names come and go: only what is new is sent (B13), and again what was dropped (B7)", `
			= eds a=1 b=1 c=1
			> eds a b
			< eds a=1 b=1
			> eds a b
			> eds a
			> eds a b
			< eds b=1
			> eds a b
			> eds a b c
			< eds c=1
			> eds a b c
			> eds
			> eds
			= eds a=2
			> eds b a
			< eds a=2`},
		{"names of a type with full state: all of them", `
			= lds a=1 b=1 c=1
			> lds a
			< lds a=1
			> lds a b
			< lds a=1 b=1
			> lds a b
			= lds a=1 b=2 c=2
			< lds a=1 b=2
			> lds a b
			= lds a=1
			< lds a=1
			> lds a b`},
		{"no names later mean no names (grpc-go's last request)", `
			= lds a=1
			> lds a
			< lds a=1
			> lds a
			> lds
			= lds a=2
			> lds`},
		{"a star is a wildcard, and may be taken back", `
			= cds a=1 b=1
			> cds *
			< cds a=1 b=1
			> cds *
			> cds a
			= cds a=1 b=2
			= cds a=2 b=2
			< cds a=2
			> cds a
			> cds a *
			< cds a=2 b=2`},
		{"a deleted resource", `
			= cds a=1 b=1
			= eds a=1 b=1
			> cds
			< cds a=1 b=1
			> cds
			> eds a b
			< eds a=1 b=1
			> eds a b
			= cds a=1
			< cds a=1
			> cds
			= eds a=1
			= eds a=1 b=1
			< eds b=1`},
		// Case B1.
		{"the same names again after the parent was sent: everything", `
			= cds a=1 b=1
			= eds a=1 b=1
			> cds
			< cds a=1 b=1
			> cds
			> eds a b
			< eds a=1 b=1
			> eds a b
			> eds a b
			= cds a=1 b=2
			< cds a=1 b=2
			< eds b=1
			> cds
			> eds a b
			:Acknowledged
			> eds a b
			:Changed
			< eds a=1 b=1
			> eds a b
			> eds a b`},
		{"the same while endpoints of one cluster were sent: B1, separately", `
			= cds a=1 b=1
			= eds a=1 b=1
			> cds
			< cds a=1 b=1
			> cds
			> eds a b
			< eds a=1 b=1
			> eds a b
			= eds a=2 b=1
			< eds a=2
			= cds a=2 b=2
			< cds a=2 b=2
			> cds
			> eds a b @old
			> eds a b
			< eds a=2 b=1
			> eds a b
			> eds a b
			< eds a=2 b=1`},
		{"routes after listeners", `
			= lds l=1
			= rds r=1 q=1
			> lds
			< lds l=1
			> lds
			> rds r q
			< rds q=1 r=1
			> rds r q
			= lds l=2
			< lds l=2
			> lds
			> rds q r
			< rds q=1 r=1
			> rds q r
			> rds q r`},
		{"dropping names after the parent was sent asks for nothing (B13)", `
			= lds l=1 m=1
			= rds r=1 q=1
			> lds
			< lds l=1 m=1
			> lds
			> rds r q
			< rds q=1 r=1
			> rds r q
			= lds l=1
			< lds l=1
			> lds
			> rds r
			> rds r
			< rds r=1`},
		// Case B2, and B6 for the deferred one.
		{"endpoints follow a changed cluster, also a deferred one", `
			= cds a=1 b=1
			= eds a=1 b=1
			> cds
			< cds a=1 b=1
			> eds a b
			< eds a=1 b=1
			= cds a=2 b=1
			> cds
			< cds a=2 b=1
			> eds a b
			< eds a=1
			> cds
			> eds a b`},
		// Case B9.
		{"endpoints before clusters", `
			= cds s=1 t=1
			= eds c=1 s=1 t=1
			> eds t
			< eds t=1
			> eds t
			> cds
			< cds s=1 t=1
			> cds
			> eds c s t
			< eds c=1 s=1 t=1`},
		{"a new cluster asks for its own endpoints only", `
			= cds a=1
			= eds a=1 b=1
			> cds
			< cds a=1
			> cds
			> eds a
			< eds a=1
			> eds a
			= cds a=1 b=1
			< cds a=1 b=1
			> cds
			> eds a b
			< eds b=1`},
		{"listeners and routes wait for clusters, endpoints do not", `
			= cds a=1
			= eds a=1
			= lds l=1
			= rds r=1
			> cds
			< cds a=1
			> eds a
			< eds a=1
			> eds a
			> lds
			< lds l=1
			> lds
			> rds r
			< rds r=1
			> rds r
			= cds a=1 b=1
			= rds r=2
			= lds l=2
			= eds a=2
			< eds a=2
			> eds a
			> cds
			< cds a=1 b=1
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
			> rds r
			< rds r=1
			> rds r
			& cds v2=1
			= rds r=2
			< cds v2=1 v1=1
			< rds r=2
			> cds
			> rds r
			< cds v2=1
			> cds
			& cds
			& lds l=2
			= rds r=3
			< lds l=2
			< rds r=3
			> rds r
			> lds
			< cds
			> cds
			= cds v3=1
			< cds v3=1`},
		{"a cluster that comes back before it went", `
			= cds v1=1
			= rds r=1
			> cds
			< cds v1=1
			> cds
			> rds r
			< rds r=1
			> rds r
			& cds
			= rds r=2
			< rds r=2
			= cds v1=1
			> rds r`},
		{"a refused parent does not hold the others", `
			= cds a=1
			= rds r=1
			> cds
			< cds a=1
			> rds r
			< rds r=1
			> rds r
			> cds !bad
			= rds r=2
			< rds r=2`},
		{"types the protocol says nothing of", `
			= other x=1
			> other x
			< other x=1
			> other x
			= other x=2
			< other x=2`},
	} {
		t.Run(tc.name, func(t *testing.T) { newConversation(t).run(tc.script) })
	}
}

// The version says what the client has, whatever way it came there, so that replicas agree.
func TestVersionDoesNotDependOnTheWay(t *testing.T) {
	one := newConversation(t)
	one.run(`
		= eds a=1 b=1
		> eds a
		< eds a=1
		> eds a b
		< eds b=1`)
	two := newConversation(t)
	two.run(`
		= eds a=1 b=1
		> eds b a
		< eds a=1 b=1`)
	three := newConversation(t)
	three.run(`
		= eds a=1 b=2
		> eds b a
		< eds a=1 b=2`)
	v1, v2, v3 := one.machine.Status()[0].Sent, two.machine.Status()[0].Sent, three.machine.Status()[0].Sent
	if v1 != v2 || v1 == v3 {
		t.Errorf("versions %s and %s for equal contents, %s for another", v1, v2, v3)
	}
}

func TestStatus(t *testing.T) {
	c := newConversation(t)
	c.run(`
		= cds a=1
		> cds
		< cds a=1
		= cds a=2`)
	s := c.machine.Status()[0]
	if !s.Unacknowledged || !s.Pending || s.Acked != "" || s.Sent == "" || !s.Wildcard {
		t.Errorf("%+v: want one response unacknowledged and one pending", s)
	}
	c.run(`
		> cds !bad
		< cds a=2`)
	s = c.machine.Status()[0]
	if s.Refused != "bad" || s.RefusedVersion == "" || s.RefusedVersion == s.Sent || s.Acked != "" {
		t.Errorf("%+v: want the refusal and the version it was about", s)
	}
	// Case B4, third run: what is no answer does not hide the refusal.
	c.run(`> cds @none`)
	if s = c.machine.Status()[0]; s.Refused != "bad" {
		t.Errorf("%+v: the refusal is gone", s)
	}
	c.run(`> cds`)
	s = c.machine.Status()[0]
	if s.Refused != "" || s.Acked != s.Sent || s.Unacknowledged || s.Pending {
		t.Errorf("%+v: want everything acknowledged", s)
	}
}

// A request that changes nothing, and a source that is the same, cost no look-ups.
func TestNothingToDoIsCheap(t *testing.T) {
	c := newConversation(t)
	c.run(`
		= eds a=1 b=1
		> eds a b
		< eds a=1 b=1
		> eds a b`)
	looked := c.sources[resource.EndpointType].looked
	for range 100 {
		c.run(`> eds a b`)
	}
	if got := c.sources[resource.EndpointType].looked; got != looked {
		t.Errorf("%d look-ups for nothing", got-looked)
	}
}
