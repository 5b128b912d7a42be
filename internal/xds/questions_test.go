package xds

import (
	"context"
	"fmt"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

const askType = "test/ask"

// oracle answers with how often it was asked.
type oracle struct{ times int }

func (o *oracle) Answers(typeURL string) bool { return typeURL == askType }

func (o *oracle) Answer(_ context.Context, q Question) (Answer, error) {
	if len(q.Names) == 1 && q.Names[0] == "bad" {
		return Answer{}, status.Error(codes.PermissionDenied, "not for you")
	}
	o.times++
	text := fmt.Sprintf("%d %s %s %v", o.times, strings.Join(q.Names, ","), q.Proxy.Pod, q.Peer != nil)
	return Answer{Identifier: "me", Resources: []*discoveryv3.Resource{
		{Name: strings.Join(q.Names, ","), Resource: &anypb.Any{TypeUrl: askType, Value: []byte(text)}},
	}}, nil
}

// asker is a client that asks.
type asker struct {
	*rig
	c *xdsclient.Client
}

func (a asker) ask(nonce string, names ...string) {
	a.t.Helper()
	var err error
	if a.delta {
		err = a.c.SendDelta(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: askType, ResponseNonce: nonce, ResourceNamesSubscribe: names})
	} else {
		err = a.c.Send(&discoveryv3.DiscoveryRequest{TypeUrl: askType, ResponseNonce: nonce, ResourceNames: names})
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// answer waits for the nth answer and gives its text and nonce.
func (a asker) answer(n int) (text, nonce string) {
	a.t.Helper()
	s := a.waitFor(a.c, fmt.Sprintf("answer %d", n), func(s xdsclient.State) bool { return len(s.Of(askType)) >= n })
	r := s.Of(askType)[n-1]
	return string(r.GetResources()[0].GetValue()), r.GetNonce()
}

func (a asker) want(n int, text string) (nonce string) {
	a.t.Helper()
	got, nonce := a.answer(n)
	if got != text {
		a.t.Errorf("answer %d is %q, want %q", n, got, text)
	}
	return nonce
}

func questioned(t *testing.T, p protocol, change ...func(*xdsclient.Options)) asker {
	r := p.rig(t).set("cds a=1")
	r.publish()
	r.server.deps.Answerer = &oracle{}
	return asker{r, r.connect("a", change...)}
}

// Each question is answered once, whatever its nonce is, and no acknowledgement of an answer is a question.
func TestQuestions(t *testing.T) {
	protocols(t, func(t *testing.T, p protocol) {
		a := questioned(t, p, manual)
		a.ask("2026-12-01 made up", "x")
		first := a.want(1, "1 x a true")
		a.ask("", "x")
		second := a.want(2, "2 x a true")
		// Acknowledgements: in the state of the world they repeat the names.
		repeated := []string{"x"}
		if a.delta {
			repeated = nil
		}
		a.ask(first, repeated...)
		a.ask(second, repeated...)
		a.ask(second, repeated...)
		a.ask(first, "y") // it is older than the second answer: a client that wants y asks again with that
		a.ask(second, "y")
		third := a.want(3, "3 y a true")
		a.ask(third)
		a.ask("", "z")
		a.want(4, "4 z a true")
	})
}

// A client that acknowledges everything is not answered for ever, however many answers are under way.
func TestAcknowledgedAnswersAreNotAnswered(t *testing.T) {
	protocols(t, func(t *testing.T, p protocol) {
		a := questioned(t, p)
		const n = 200
		for range n {
			a.ask("", "x")
		}
		a.answer(n)
		a.subscribe(a.c, "cds")
		a.rig.want(a.c, "cds a=1")
		a.ask("", "last") // behind all acknowledgements that came before it
		a.want(n+1, fmt.Sprintf("%d last a true", n+1))
		s := a.c.State()
		if r := s.Of(askType)[0]; r.GetControlPlane().GetIdentifier() != "me" && !a.delta || a.delta && s.DeltasOf(askType)[0].GetControlPlane().GetIdentifier() != "me" {
			t.Errorf("control plane %v", r.GetControlPlane())
		}
	})
}

// A question that may not be asked ends the stream, and says why; others go on.
func TestRefusedQuestion(t *testing.T) {
	protocols(t, func(t *testing.T, p protocol) {
		a := questioned(t, p)
		other := a.connect("b")
		a.subscribe(other, "cds")
		a.ask("", "bad")
		s := a.waitFor(a.c, "the end", func(s xdsclient.State) bool { return s.Ended })
		if status.Code(s.Err) != codes.PermissionDenied {
			t.Errorf("ended with %v", s.Err)
		}
		a.rig.want(other, "cds a=1")
	})
}

// A tool is sent no configuration, and a proxy may ask too.
func TestToolsAndProxies(t *testing.T) {
	protocols(t, func(t *testing.T, p protocol) {
		a := questioned(t, p, func(o *xdsclient.Options) { o.Metadata["GENERATOR"] = "event" })
		if err := a.c.Subscribe(resource.ClusterType); err != nil {
			t.Fatal(err)
		}
		a.ask("", "x")
		a.want(1, "1 x a true")
		if got := a.c.State().Of(resource.ClusterType); len(got) > 0 {
			t.Errorf("a tool was sent %v", got)
		}
		if f := a.server.deps.Connections.List()[0].Proxy.Flavor; f != model.FlavorTool {
			t.Errorf("flavor %s", f)
		}
		proxy := asker{a.rig, a.connect("b")}
		proxy.subscribe(proxy.c, "cds")
		proxy.ask("", "x")
		proxy.want(1, "2 x b true")
		proxy.set("cds a=2").publish()
		proxy.rig.want(proxy.c, "cds a=2")
	})
}
