package tracing

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/meshd/meshd/internal/testkit/otlp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func exporter(t *testing.T, endpoint string, protocol Protocol) (*Exporter, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	e, err := New(Options{
		Endpoint: endpoint, Protocol: protocol, Log: zap.New(core), Registerer: prometheus.NewRegistry(),
		Attributes: map[string]string{"service.name": "meshd"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e, logs
}

func TestExport(t *testing.T) {
	for _, protocol := range []Protocol{GRPC, HTTP} {
		t.Run(string(protocol), func(t *testing.T) {
			collector := otlp.Start(t, protocol == GRPC)
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			e, logs := exporter(t, collector.URL, protocol)
			tracer, err := e.Start(ctx)
			if err != nil {
				t.Fatal(err)
			}
			_, span := tracer.Start(ctx, "one")
			span.End()
			collector.Wait(ctx, t, "the span", func(s []*tracepb.Span) bool { return len(s) == 1 && s[0].GetName() == "one" })
			// What waits is sent at the stop.
			_, span = tracer.Start(ctx, "two")
			span.End()
			e.Stop(ctx)
			collector.Wait(ctx, t, "the last span", func(s []*tracepb.Span) bool { return len(s) == 2 })
			if about := collector.Resource(); about["service.name"] != "meshd" {
				t.Errorf("the sender is %v", about)
			}
			if n := logs.FilterLevelExact(zapcore.WarnLevel).Len(); n != 0 {
				t.Errorf("%v", logs.All())
			}
		})
	}
}

// A collector that takes connections and never answers is the worst that can be away: nothing waits for it, and the
// stop only so long.
func TestCollectorIsAway(t *testing.T) {
	for _, protocol := range []Protocol{GRPC, HTTP} {
		t.Run(string(protocol), func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			e, logs := exporter(t, "http://"+l.Addr().String(), protocol)
			begin := time.Now()
			tracer, err := e.Start(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for range 3 * queued {
				_, span := tracer.Start(context.Background(), "lost")
				span.End()
			}
			if took := time.Since(begin); took > stopTimeout {
				t.Errorf("making spans took %v", took)
			}
			begin = time.Now()
			e.Stop(context.Background())
			if took := time.Since(begin); took > 2*stopTimeout {
				t.Errorf("the stop took %v", took)
			}
			if logs.FilterLevelExact(zapcore.WarnLevel).Len() == 0 {
				t.Error("nothing is said of spans that are lost")
			}
		})
	}
}

// What a collector does not take is said once, and so is that it takes some again.
func TestFailuresAreSaidOnce(t *testing.T) {
	e, logs := exporter(t, "http://127.0.0.1:1", HTTP)
	if _, err := e.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	defer e.Stop(context.Background())
	spans := tracetest.SpanStubs{{Name: "a"}, {Name: "b"}}.Snapshots()
	export := func(ctx context.Context) {
		t.Helper()
		if err := (watched{e}).ExportSpans(ctx, spans); err != nil {
			t.Errorf("an error is handed on: %v", err)
		}
	}
	export(gone)
	export(gone)
	dead := e.client
	e.client = otlptrace.NewUnstarted(taking{})
	export(context.Background())
	export(context.Background())
	e.client = dead
	export(gone)
	if none, again := logs.FilterMessageSnippet("takes none").Len(), logs.FilterMessageSnippet("again").Len(); none != 2 || again != 1 {
		t.Errorf("it is said %d times that it takes none, and %d times that it does again: %v", none, again, logs.All())
	}
}

// taking is a collector that takes everything.
type taking struct{}

func (taking) Start(context.Context) error                                  { return nil }
func (taking) Stop(context.Context) error                                   { return nil }
func (taking) UploadTraces(context.Context, []*tracepb.ResourceSpans) error { return nil }

func TestOptions(t *testing.T) {
	for endpoint, ok := range map[string]bool{
		"http://a:4318": true, "https://a/otlp": true, "a:4318": false, "": false, "ftp://a": false, "http://": false, "http://%zz": false,
	} {
		if err := CheckEndpoint(endpoint); (err == nil) != ok {
			t.Errorf("%q: %v", endpoint, err)
		}
	}
	if _, err := ParseProtocol("http/json"); err == nil || !strings.Contains(err.Error(), string(HTTP)) {
		t.Errorf("got %v", err)
	}
	reg := prometheus.NewRegistry()
	good := Options{Endpoint: "http://a:1", Protocol: GRPC, Log: zap.NewNop(), Registerer: reg}
	for what, change := range map[string]func(*Options){
		"endpoint": func(o *Options) { o.Endpoint = "a" }, "protocol": func(o *Options) { o.Protocol = "smoke" },
		"log": func(o *Options) { o.Log = nil }, "registerer": func(o *Options) { o.Registerer = nil },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("an exporter without a good %s was made", what)
		}
	}
	e, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	e.Stop(context.Background()) // what was not started is stopped too
	if _, err := New(good); err == nil {
		t.Error("metrics are registered twice")
	}
}
