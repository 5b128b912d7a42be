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
//	= cds a=1 b=1        the resources of a type are these from now on; one of value 0 is not part of the wildcard
//	& cds a=1 b=1        the same, together with the next = line
//	? cds                the type is not known from now on
//	> cds                a request; names may follow, and then
//	                     @last (the nonce of the last response; the default), @none, @old (the one before), @junk
//	                     !text refuses
//	< cds a=1 b=1        the next response has exactly these resources
//	:Acknowledged        the last request came to this
//
// After each = and > all responses that are due must be listed.
//
// In delta a request has +name for a name that is subscribed, -name for one that is not any more, and ^name=value for a
// resource that the client has from an earlier stream; a response has -name for one that is removed, after the others.
type conversation struct {
	t        *testing.T
	encoding Encoding
	machine  *Machine
	pools    map[string]*resource.Pool
	sources  map[string]*fakeSource
	nonces   map[string][]string
	queue    []Response
	outcome  Outcome
}

type fakeSource struct {
	c       *conversation
	url     string
	content map[string]string
	unknown bool
	// silent sources do not say what they have that others had not.
	silent bool
	// asked are the names that were looked up, or were in the source before. What does not exist is forgotten.
	asked map[string]bool
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
		if f.content[name] != "0" {
			list = append(list, f.make(name))
		}
	}
	return resource.NewSet(list)
}

func (f *fakeSource) Named(names []string) []*resource.Resource {
	out := make([]*resource.Resource, len(names))
	for i, name := range names {
		f.looked++
		if f.asked == nil {
			f.asked = map[string]bool{}
		}
		f.asked[name] = true
		out[i] = f.make(name)
	}
	return out
}

func (f *fakeSource) Since(old Source) *resource.Diff {
	was := old.(*fakeSource)
	if was.silent || f.silent {
		return nil
	}
	if f.asked == nil {
		f.asked = map[string]bool{}
	}
	known := func(f *fakeSource) *resource.Set {
		var list []*resource.Resource
		for name := range f.asked {
			if r := f.make(name); r != nil {
				list = append(list, r)
			} else {
				delete(f.asked, name)
			}
		}
		return resource.NewSet(list)
	}
	then := known(was)
	maps.Copy(f.asked, was.asked)
	return known(f).Since(then)
}

var urls = map[string]string{
	"cds": resource.ClusterType, "eds": resource.EndpointType, "lds": resource.ListenerType, "rds": resource.RouteType,
	"sds": resource.SecretType, "ecds": resource.ExtensionType, "nds": resource.NameTableType, "pcds": resource.ProxyConfigType,
	"other": "type.googleapis.com/other",
}

func newConversation(t *testing.T) *conversation { return converse(t, StateOfTheWorld) }

func converse(t *testing.T, encoding Encoding) *conversation {
	c := &conversation{t: t, encoding: encoding, pools: map[string]*resource.Pool{}, sources: map[string]*fakeSource{}, nonces: map[string][]string{}}
	store := resource.NewStore(nil)
	for short, url := range urls {
		c.pools[url] = store.NewPool(model.FlavorEnvoy, url, func(f resource.Failure) { t.Error(f.Err) })
		c.sources[url] = &fakeSource{c: c, url: url}
		c.nonces[short] = []string{""}
	}
	c.machine = New(encoding, func(url string) bool {
		return resource.TypeOf(url).FullState || resource.TypeOf(url).Agent
	}, Nonces("t"))
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
		if r.Type.Short == r.Type.URL {
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
	for _, name := range r.Removed {
		out = append(out, "-"+name)
	}
	return strings.Join(out, " ")
}

// have adds "name=value" to what a client has, in the version that the value has; "name=?" in one that nothing has.
func (c *conversation) have(to map[string]string, url, pair string) map[string]string {
	if to == nil {
		to = map[string]string{}
	}
	name, value, _ := strings.Cut(pair, "=")
	if to[name] = "of another control plane"; value != "?" {
		f := &fakeSource{c: c, url: url, content: map[string]string{name: value}}
		to[name] = f.make(name).Version()
	}
	return to
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
			case c.encoding == Delta && a[0] == '+':
				r.Subscribe = append(r.Subscribe, a[1:])
			case c.encoding == Delta && a[0] == '-':
				r.Unsubscribe = append(r.Unsubscribe, a[1:])
			case c.encoding == Delta && a[0] == '^':
				r.Have = c.have(r.Have, url, a[1:])
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
