package debug

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/meshd/meshd/internal/xds"
)

// The types that tools ask for over xDS, as istioctl spells them.
const (
	// PageType asks for a page: the only name is the page's path below /debug/, with its query.
	PageType = "istio.io/debug"
	// SyncType asks for the state of all proxies, which istioctl proxy-status prints.
	SyncType = PageType + "/syncz"
	// DumpType asks for what one proxy was sent, by sections: the only name is the proxy's, pod.namespace.
	DumpType = PageType + "/config_dump"
)

// Answerer answers tools over xDS.
type Answerer struct {
	pages *Pages
	site  http.Handler
	// allowed says in an error why somebody may not ask.
	allowed func(xds.Question) error
	name    func() string
	version string
}

// NewAnswerer makes one of the pages, and of everything that the site shows under /debug/. allowed decides who may ask;
// name is that of this process among its replicas, and version the one it says it is.
func NewAnswerer(pages *Pages, site http.Handler, allowed func(xds.Question) error, name func() string, version string) *Answerer {
	return &Answerer{pages: pages, site: site, allowed: allowed, name: name, version: version}
}

// Answers reports whether a type URL is one of the three.
func (a *Answerer) Answers(typeURL string) bool {
	return typeURL == PageType || typeURL == SyncType || typeURL == DumpType
}

// Answer answers a question. Its error is a gRPC status.
func (a *Answerer) Answer(ctx context.Context, q xds.Question) (xds.Answer, error) {
	if err := a.allowed(q); err != nil {
		return xds.Answer{}, status.Error(codes.Unauthenticated, err.Error())
	}
	if q.TypeURL != SyncType && len(q.Names) != 1 {
		return xds.Answer{}, status.Errorf(codes.InvalidArgument, "%s takes exactly one name, not %d", q.TypeURL, len(q.Names))
	}
	answer := xds.Answer{Identifier: a.identifier()}
	var err error
	switch q.TypeURL {
	case SyncType:
		answer.Resources, err = a.states()
	case DumpType:
		answer.Resources, err = a.dump(ctx, q.Names[0])
	default:
		answer.Resources, err = a.page(ctx, q.Names[0])
	}
	return answer, err
}

// identifier says who answers, in the form that istioctl reads.
func (a *Answerer) identifier() string {
	type info struct {
		Version string `json:"version"`
	}
	out, err := json.Marshal(struct {
		Component, ID string
		Info          info
	}{"meshd", a.name(), info{a.version}})
	if err != nil {
		return "" // texts can always be written
	}
	return string(out)
}

// text is an answer that is no message.
func text(name, typeURL string, body []byte) *discoveryv3.Resource {
	return &discoveryv3.Resource{Name: name, Resource: &anypb.Any{TypeUrl: typeURL, Value: body}}
}

func (a *Answerer) states() ([]*discoveryv3.Resource, error) {
	var out []*discoveryv3.Resource
	for _, c := range a.pages.clients() {
		packed, err := anypb.New(clientConfig(c))
		if err != nil {
			return nil, status.Errorf(codes.Internal, "the state of %s: %v", podName(c.Proxy), err)
		}
		out = append(out, &discoveryv3.Resource{Name: c.Proxy.ID, Resource: packed})
	}
	return out, nil
}

// dump gives the sections of a proxy's dump. For a proxy that is not here the answer is a text that says so, which makes
// istioctl ask another replica.
func (a *Answerer) dump(ctx context.Context, proxyID string) ([]*discoveryv3.Resource, error) {
	c, err := a.pages.find(proxyID)
	if err != nil {
		return []*discoveryv3.Resource{text(proxyID, DumpType, []byte(err.Error()))}, nil
	}
	release, err := a.pages.takeTurn(ctx)
	if err != nil {
		return nil, status.FromContextError(err).Err()
	}
	defer release()
	parts, err := a.pages.sections(c, false)
	if err != nil {
		return []*discoveryv3.Resource{text(proxyID, DumpType, []byte("not yet: "+err.Error()))}, nil
	}
	var out []*discoveryv3.Resource
	for _, part := range parts {
		packed, err := anypb.New(part)
		if err != nil {
			return nil, status.Errorf(codes.Internal, "the dump of %s: %v", proxyID, err)
		}
		out = append(out, &discoveryv3.Resource{Name: string(part.ProtoReflect().Descriptor().Name()), Resource: packed})
	}
	return out, nil
}

// page gives what the page of that name shows, or says why it does not.
func (a *Answerer) page(ctx context.Context, name string) ([]*discoveryv3.Resource, error) {
	target, err := url.Parse("/debug/" + name)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "%.200q is not the name of a page", name)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), nil)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "%.200q is not the name of a page", name)
	}
	w := &recorder{header: http.Header{}}
	a.site.ServeHTTP(w, r)
	if w.full {
		return nil, status.Errorf(codes.ResourceExhausted, "the page %s has more than %d bytes: ask for a part of it, or over HTTP", name, maxPage)
	}
	body := w.body.Bytes()
	if w.status >= http.StatusMultipleChoices && w.status < http.StatusBadRequest {
		body = fmt.Appendf(nil, "404 page not found: see %s", w.header.Get("Location"))
	}
	return []*discoveryv3.Resource{text(name, PageType, body)}, nil
}

// maxPage bounds the pages that are answered on a stream, in bytes: they are held whole.
const maxPage = 64 << 20

// recorder takes what a page writes.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
	full   bool
}

// Header is that of http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader takes the first status.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write takes a part of the body, as long as there is room.
func (w *recorder) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(data) > maxPage {
		w.full = true
		return 0, fmt.Errorf("more than %d bytes", maxPage)
	}
	return w.body.Write(data)
}
