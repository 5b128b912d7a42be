package subscription

import (
	"fmt"
	"testing"

	"github.com/meshd/meshd/internal/xds/resource"
)

// fuzzed are the types that a fuzzed client may ask for.
var fuzzed = []string{"cds", "eds", "lds", "rds", "sds", "ecds", "nds", "pcds", "other"}

// tape is what a fuzzed conversation is read from. At its end it gives zeros.
type tape []byte

func (t *tape) next(below int) int {
	if len(*t) == 0 {
		return 0
	}
	b := int((*t)[0]) % below
	*t = (*t)[1:]
	return b
}

// names gives some of a few names, "" and the wildcard among them.
func (t *tape) names() []string {
	var out []string
	for range t.next(5) {
		out = append(out, []string{"a", "b", "c", all, "", "nobody"}[t.next(6)])
	}
	return out
}

// fuzzedClient holds a machine to what must be true whatever it is told.
type fuzzedClient struct {
	*conversation
	flying map[string]string // the nonce of the response that is not answered, by type URL
	asked  map[string]bool
	had    map[string]int
}

// pump takes all responses that are due.
func (c *fuzzedClient) pump() {
	for range 1000 {
		r, ok := c.machine.Next(c.source)
		if !ok {
			return
		}
		url := r.Type.URL
		if nonce := c.flying[url]; nonce != "" {
			c.t.Fatalf("a response of %s goes out while %s is not answered", r.Type.Short, nonce)
		}
		if !c.asked[url] {
			c.t.Fatalf("%s was never asked for", r.Type.Short)
		}
		if r.Nonce == "" || r.Version == "" {
			c.t.Fatalf("a response of %s without nonce or version", r.Type.Short)
		}
		seen := map[string]bool{}
		for _, res := range r.Resources {
			if res == nil || seen[res.Name()] {
				c.t.Fatalf("a response of %s has a resource twice, or none", r.Type.Short)
			}
			seen[res.Name()] = true
		}
		for _, name := range r.Removed {
			if seen[name] || c.encoding == StateOfTheWorld {
				c.t.Fatalf("a response of %s removes %q", r.Type.Short, name)
			}
		}
		c.had[url]++
		if c.flying[url] = r.Nonce; r.Type.Agent && len(r.Resources) == 0 {
			c.flying[url] = "" // agents do not answer that
		}
	}
	c.t.Fatal("responses without end")
}

// FuzzRequests plays any sequence of requests, answers and changes of the mesh to the machine of one stream.
func FuzzRequests(f *testing.F) {
	for seed := range 8 {
		var b []byte
		for i := range 200 {
			b = append(b, byte(i*i*(seed+3)+seed*31))
		}
		f.Add(b)
	}
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := tape(data)
		c := &fuzzedClient{
			conversation: converse(t, Encoding(in.next(2))),
			flying:       map[string]string{}, asked: map[string]bool{}, had: map[string]int{},
		}
		for len(in) > 0 {
			url := urls[fuzzed[in.next(len(fuzzed))]]
			switch what := in.next(8); what {
			case 0, 1: // the mesh changes
				content := map[string]string{}
				for _, name := range in.names() {
					if name != all && name != "" {
						content[name] = fmt.Sprint(in.next(3))
					}
				}
				c.sources[url] = &fakeSource{c: c.conversation, url: url, content: content, silent: what == 1}
			case 2: // an answer, good or bad
				r := Request{TypeURL: url, Nonce: c.flying[url]}
				if in.next(3) == 0 {
					text := "no"
					r.Refused = &text
				}
				if c.encoding == StateOfTheWorld {
					r.Names = in.names()
				}
				c.request(r)
			default: // anything
				r := Request{TypeURL: url, Nonce: []string{"", c.flying[url], "junk", "t-1"}[in.next(4)]}
				if c.encoding == StateOfTheWorld {
					r.Names = in.names()
				} else {
					r.Subscribe, r.Unsubscribe = in.names(), in.names()
					for _, name := range in.names() {
						r.Have = c.have(r.Have, url, name+"="+[]string{"0", "1", "?"}[in.next(3)])
					}
				}
				if in.next(6) == 0 {
					text := "no"
					r.Refused = &text
				}
				c.request(r)
			}
			c.pump()
		}
		// A client that accepts everything comes to rest, and has had an answer for each type that it asked for.
		for range 100 {
			for _, short := range fuzzed {
				if nonce := c.flying[urls[short]]; nonce != "" {
					r := Request{TypeURL: urls[short], Nonce: nonce}
					if c.encoding == StateOfTheWorld {
						r.Names = []string{"a"}
					}
					c.request(r)
				}
			}
			c.pump()
		}
		for url, nonce := range c.flying {
			if nonce != "" {
				t.Errorf("%s never comes to rest", resource.TypeOf(url).Short)
			}
		}
		for url := range c.asked {
			if c.had[url] == 0 {
				t.Errorf("the first request of %s was never answered", resource.TypeOf(url).Short)
			}
		}
		if n := len(c.machine.Status()); n > len(c.asked) {
			t.Errorf("%d types are remembered, %d were asked for", n, len(c.asked))
		}
		for _, s := range c.machine.Status() {
			if s.Names > 6 {
				t.Errorf("%s remembers %d names of 6", s.Type.Short, s.Names)
			}
		}
	})
}

func (c *fuzzedClient) request(r Request) {
	c.asked[r.TypeURL] = true
	if r.Nonce != "" && r.Nonce == c.flying[r.TypeURL] {
		c.flying[r.TypeURL] = ""
	}
	c.machine.Request(r)
}
