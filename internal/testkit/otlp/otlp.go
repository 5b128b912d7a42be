// Package otlp is a collector of traces for tests: OpenTelemetry's service on a real port, over gRPC and over HTTP.
package otlp

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Collector keeps the spans that it is sent.
type Collector struct {
	collectorpb.UnimplementedTraceServiceServer
	// URL is the address, for the protocol that it was started with.
	URL string

	mu       sync.Mutex
	spans    []*tracepb.Span
	resource map[string]string
	came     chan struct{} // closed when spans come
}

// Start serves until the test ends, over gRPC or HTTP.
func Start(t testing.TB, overGRPC bool) *Collector {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{URL: "http://" + l.Addr().String(), came: make(chan struct{})}
	if overGRPC {
		server := grpc.NewServer()
		collectorpb.RegisterTraceServiceServer(server, c)
		go func() { _ = server.Serve(l) }() // it ends with Stop
		t.Cleanup(server.Stop)
		return c
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var req collectorpb.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.take(&req)
		w.Header().Set("Content-Type", "application/x-protobuf")
	})
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(l) }() // it ends with Close
	t.Cleanup(func() { _ = server.Close() })
	return c
}

// Export is what clients call.
func (c *Collector) Export(_ context.Context, r *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.take(r)
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func (c *Collector) take(r *collectorpb.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range r.GetResourceSpans() {
		c.resource = Attributes(rs.GetResource().GetAttributes())
		for _, ss := range rs.GetScopeSpans() {
			c.spans = append(c.spans, ss.GetSpans()...)
		}
	}
	close(c.came)
	c.came = make(chan struct{})
}

// Resource gives what the sender says of itself.
func (c *Collector) Resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resource
}

// Wait gives all spans as soon as they are what a test waits for, and fails it when the context ends before.
func (c *Collector) Wait(ctx context.Context, t testing.TB, what string, enough func([]*tracepb.Span) bool) []*tracepb.Span {
	t.Helper()
	for {
		c.mu.Lock()
		spans, came := slices.Clone(c.spans), c.came
		c.mu.Unlock()
		if enough(spans) {
			return spans
		}
		select {
		case <-came:
		case <-ctx.Done():
			var names []string
			for _, s := range spans {
				names = append(names, s.GetName())
			}
			t.Fatalf("%s has not come; there are %q", what, names)
		}
	}
}

// Attributes gives attributes as text, by key.
func Attributes(list []*commonpb.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range list {
		switch v := kv.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			out[kv.GetKey()] = v.StringValue
		default:
			out[kv.GetKey()] = kv.GetValue().String()
		}
	}
	return out
}
