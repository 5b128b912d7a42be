package subscription

import (
	"fmt"
	"testing"

	"github.com/meshd/meshd/internal/xds/resource"
)

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

// Endpoints that change faster than they are sent do not keep a client from what it asks for (case B19).
func TestAskedForIsOvertakenOnce(t *testing.T) {
	for _, encoding := range []Encoding{StateOfTheWorld, Delta} {
		c := converse(t, encoding)
		c.run("& lds l=1\n= eds a=0")
		ask := Request{TypeURL: resource.EndpointType, Names: []string{"a"}}
		if encoding == Delta {
			ask.Names, ask.Subscribe = nil, ask.Names
		}
		c.machine.Request(ask)
		for i := 0; ; i++ {
			r, ok := c.machine.Next(c.source)
			if !ok || i > 2 {
				t.Fatalf("%s: %d responses, and none with the listeners", encoding, i)
			}
			if r.Type.URL == resource.ListenerType {
				break
			}
			c.run(fmt.Sprintf("& eds a=%d", i+1))
			c.machine.Request(Request{TypeURL: resource.EndpointType, Names: ask.Names, Nonce: r.Nonce})
			if i == 0 {
				c.machine.Request(Request{TypeURL: resource.ListenerType})
			}
		}
	}
}

// What was overtaken goes before endpoints, but not before the clusters that it may refer to.
func TestOvertakenComesAfterItsClusters(t *testing.T) {
	for _, encoding := range []Encoding{StateOfTheWorld, Delta} {
		c := converse(t, encoding)
		c.run("& cds a=1\n& lds l=1\n= eds a=0")
		request := func(typeURL, nonce string, names ...string) {
			r := Request{TypeURL: typeURL, Nonce: nonce, Names: names}
			if encoding == Delta {
				r.Names = nil
				if nonce == "" {
					r.Subscribe = names
				}
			}
			c.machine.Request(r)
		}
		next := func(want string) string {
			t.Helper()
			r, ok := c.machine.Next(c.source)
			if !ok || r.Type.URL != want {
				t.Fatalf("%s: got %s (%t), want %s", encoding, r.Type.Short, ok, want)
			}
			return r.Nonce
		}
		request(resource.ClusterType, "")
		request(resource.ClusterType, next(resource.ClusterType))
		request(resource.EndpointType, "", "a")
		request(resource.EndpointType, next(resource.EndpointType), "a")
		c.run("& eds a=1")
		request(resource.ListenerType, "")
		request(resource.EndpointType, next(resource.EndpointType), "a") // the listeners are overtaken
		c.run("& cds a=1 b=1\n& lds l=2\n& eds a=2")
		clusters := next(resource.ClusterType)
		next(resource.ListenerType)
		request(resource.ClusterType, clusters)
		next(resource.EndpointType)
	}
}
