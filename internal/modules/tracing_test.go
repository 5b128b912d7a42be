package modules

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/testkit/otlp"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/tracing"
	"github.com/meshd/meshd/internal/xds/resource"
)

// A new service is one trace, from the change of a file to the client that has accepted what comes of it, at a collector
// that knows nothing of meshd.
func TestTraceOfAPush(t *testing.T) {
	for _, protocol := range []tracing.Protocol{tracing.GRPC, tracing.HTTP} {
		t.Run(string(protocol), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
			defer cancel()
			collector := otlp.Start(t, protocol == tracing.GRPC)
			o := runOptions(t)
			o.Dir = t.TempDir()
			if err := os.CopyFS(o.Dir, os.DirFS("testdata/mesh")); err != nil {
				t.Fatal(err)
			}
			o.TraceEndpoint, o.TraceProtocol = collector.URL, protocol
			a := start(t, o, All(o), lifecycle.Options{})
			c, err := xdsclient.Connect(ctx, a.address(t, "--grpc-addr"), xdsclient.Options{
				NodeID: "sidecar~10.244.7.1~echo-1.default~default.svc.cluster.local", Metadata: map[string]any{"NAMESPACE": "default"},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Subscribe(resource.ClusterType); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Wait(ctx, "clusters", func(s xdsclient.State) bool { return len(s.Of(resource.ClusterType)) > 0 }); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile("testdata/mesh/echo.yaml")
			if err != nil {
				t.Fatal(err)
			}
			another := strings.NewReplacer("echo", "another", "10.96.7.1", "10.96.7.2").Replace(string(text))
			if err := os.WriteFile(filepath.Join(o.Dir, "another.yaml"), []byte(another), 0o600); err != nil {
				t.Fatal(err)
			}
			ack := func(spans []*tracepb.Span) bool {
				return slices.ContainsFunc(spans, func(s *tracepb.Span) bool { return s.GetName() == "ack" })
			}
			spans := collector.Wait(ctx, t, "an answer", ack)
			metrics, _ := scrape(t, a)
			for _, line := range []string{
				"pilot_proxy_convergence_time_count 1", "pilot_proxy_queue_time_count 1", `pilot_push_triggers{type="service"} 1`,
				`meshd_xds_streams{flavor="envoy",protocol="sotw"} 1`, `pilot_xds_pushes{type="cds"} 2`,
			} {
				if !strings.Contains(metrics, "\n"+line+"\n") {
					t.Errorf("/metrics has no line %s", line)
				}
			}
			c.Close()
			a.stop(t) // what is open ends, and all is sent
			answer := spans[slices.IndexFunc(spans, func(s *tracepb.Span) bool { return s.GetName() == "ack" })]
			spans = collector.Wait(ctx, t, "the push", func(all []*tracepb.Span) bool {
				return slices.ContainsFunc(all, func(s *tracepb.Span) bool {
					return s.GetName() == "push" && string(s.GetTraceId()) == string(answer.GetTraceId())
				})
			})

			one := map[string]*tracepb.Span{}
			for _, s := range spans {
				if string(s.GetTraceId()) == string(answer.GetTraceId()) {
					one[s.GetName()] = s
				}
			}
			for child, parent := range map[string]string{
				"change": "push", "debounce": "push", "snapshot": "push", "generate": "push", "send": "push", "ack": "send",
			} {
				if one[child] == nil || one[parent] == nil || string(one[child].GetParentSpanId()) != string(one[parent].GetSpanId()) {
					t.Fatalf("%s is not below %s: %v", child, parent, one)
				}
			}
			if len(one["push"].GetParentSpanId()) != 0 {
				t.Error("the push has a parent")
			}
			last := one["push"].GetStartTimeUnixNano()
			for _, name := range []string{"change", "debounce", "snapshot", "generate", "ack"} {
				s := one[name]
				if s.GetStartTimeUnixNano() < last || s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
					t.Errorf("%s is from %d to %d, what comes before it began at %d", name, s.GetStartTimeUnixNano(), s.GetEndTimeUnixNano(), last)
				}
				last = s.GetStartTimeUnixNano()
			}
			if end := one["push"].GetEndTimeUnixNano(); end < one["ack"].GetEndTimeUnixNano() {
				t.Error("the push ends before the answer came")
			}
			if waited := time.Duration(one["debounce"].GetEndTimeUnixNano() - one["debounce"].GetStartTimeUnixNano()); waited < 100*time.Millisecond {
				t.Errorf("debounce took %v", waited)
			}
			push, send := otlp.Attributes(one["push"].GetAttributes()), otlp.Attributes(one["send"].GetAttributes())
			if push["meshd.changes.service"] != "int_value:1" || push["meshd.sent"] != "int_value:1" || push["meshd.accepted"] != "int_value:1" ||
				send["meshd.type"] != "cds" || !strings.Contains(send["meshd.node"], "echo-1") {
				t.Errorf("push %v, send %v", push, send)
			}
			if about := collector.Resource(); about["service.name"] != "meshd" || about["service.version"] == "" {
				t.Errorf("the sender is %v", about)
			}
		})
	}
}

// Without a collector everything starts, serves and stops all the same.
func TestTracesWithoutCollector(t *testing.T) {
	o := runOptions(t)
	o.TraceEndpoint, o.TraceProtocol = "http://127.0.0.1:"+freePort(t), tracing.GRPC
	begin := time.Now()
	a := start(t, o, All(o), lifecycle.Options{})
	if a.firstAnswer(t) == "" {
		t.Error("no answer")
	}
	a.stop(t)
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
