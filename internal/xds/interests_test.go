package xds

import (
	"slices"
	"testing"

	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// names gives those of the resources that a client's interest has now.
func names(t *testing.T, i subscription.Interest) []string {
	t.Helper()
	list, known := i.Resources()
	if !known {
		t.Fatalf("%s is not known", i.Type.Short)
	}
	out := []string{}
	for _, r := range list {
		out = append(out, r.Name())
	}
	return out
}

// A debug page sees what a client wants and what there is of it, also while the client does not answer.
func TestInterests(t *testing.T) {
	protocols(t, func(t *testing.T, p protocol) {
		r := p.rig(t).set("cds a=1 b=1").set("eds a=1 b=1")
		r.publish()
		c := r.connect("a", manual)
		r.subscribe(c, "cds")
		r.count(c, "cds", 1)
		interests := func() []subscription.Interest { return r.server.deps.Connections.List()[0].Interests() }
		if got := interests(); len(got) != 1 || !got[0].Wildcard || len(got[0].Names) != 0 || !slices.Equal(names(t, got[0]), []string{"a", "b"}) {
			t.Errorf("clusters: %+v", got)
		}
		sent := r.server.deps.Connections.List()[0].Types[0].SentAt
		if sent.IsZero() || sent.Before(r.server.deps.Connections.List()[0].Since) {
			t.Errorf("sent at %v", sent)
		}
		if err := c.Subscribe(resource.EndpointType, "b", "none"); err != nil {
			t.Fatal(err)
		}
		r.count(c, "eds", 1)
		if got := interests(); len(got) != 2 || got[1].Wildcard || !slices.Equal(got[1].Names, []string{"b", "none"}) || !slices.Equal(names(t, got[1]), []string{"b"}) {
			t.Errorf("endpoints: %+v", got)
		}
		// While the clusters wait for their answer, what the client was sent is shown, not what is newer.
		r.set("cds a=1 b=1 c=1").publish()
		r.eventually("the new cluster waits", func() bool { return r.types()[0].Pending })
		if got := names(t, interests()[0]); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("clusters %v before the answer", got)
		}
		if again := r.server.deps.Connections.List()[0].Types[0].SentAt; again != sent {
			t.Errorf("sent at %v, and nothing was sent since %v", again, sent)
		}
		if err := c.Ack(r.count(c, "cds", 1).Of(resource.ClusterType)[0]); err != nil {
			t.Fatal(err)
		}
		r.count(c, "cds", 2)
		if got := names(t, interests()[0]); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("clusters %v after it", got)
		}
		if again := r.server.deps.Connections.List()[0].Types[0].SentAt; !again.After(sent) {
			t.Errorf("sent at %v, and %v before", again, sent)
		}
	})
}
