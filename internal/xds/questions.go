package xds

import (
	"context"
	"net"
	"slices"
	"strings"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/peer"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// Answerer answers what tools ask on a stream, such as istioctl's istio.io/debug. A question is no subscription: it is
// answered once, with what is so at that moment, and nothing follows.
type Answerer interface {
	// Answers reports whether a type URL is a question.
	Answers(typeURL string) bool
	// Answer may take its time, in which nothing else happens on the stream. An error is a gRPC status, and ends it.
	Answer(context.Context, Question) (Answer, error)
}

// Question is what was asked, and by whom.
type Question struct {
	TypeURL string
	Names   []string
	Proxy   *model.Proxy
	// Peer is the address that the stream comes from, or nil if it is not known.
	Peer net.Addr
}

// Answer goes to the client as a response of the question's type. Its resources may be of any type.
type Answer struct {
	Resources []*discoveryv3.Resource
	// Identifier says which process answered; left out if it is empty.
	Identifier string
}

// asked is what was answered last of one type on one stream. It tells questions from acknowledgements of answers, and
// must: an acknowledgement that is answered is acknowledged again, for ever.
type asked struct {
	nonce string
	names []string
}

// asks gives the names that a request asks about; false if it only answers an answer. ours says whether the nonce is one
// of this stream's.
func (a asked) asks(r subscription.Request, ours bool) (names []string, asks bool) {
	names = slices.Concat(r.Names, r.Subscribe)
	switch {
	case !ours: // also what istioctl sends: it makes a nonce up
		return names, true
	case r.Nonce != a.nonce, len(names) == 0, len(r.Subscribe) == 0 && slices.Equal(names, a.names):
		return nil, false
	}
	return names, true
}

// question answers a request that asks something.
func (st *stream) question(r subscription.Request) error {
	names, asks := st.asked[r.TypeURL].asks(r, strings.HasPrefix(r.Nonce, st.nonces+"-"))
	if !asks {
		return nil
	}
	ctx := st.wire.Context()
	question := Question{TypeURL: r.TypeURL, Names: names, Proxy: st.proxy}
	if from, ok := peer.FromContext(ctx); ok {
		question.Peer = from.Addr
	}
	answer, err := st.server.deps.Answerer.Answer(ctx, question)
	if err != nil {
		return err
	}
	nonce := st.nonce()
	if st.asked == nil {
		st.asked = map[string]asked{}
	}
	st.asked[r.TypeURL] = asked{nonce, names}
	st.place.Sending()
	return st.wire.answer(r.TypeURL, nonce, answer)
}
