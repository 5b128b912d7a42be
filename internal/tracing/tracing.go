// Package tracing sends traces to an OpenTelemetry collector, over OTLP.
//
// A collector that is away holds nothing up: spans wait in a bounded queue, and are dropped when it is full.
package tracing

import (
	"context"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"
)

// Protocol is how spans go to the collector, as OTEL_EXPORTER_OTLP_PROTOCOL spells it.
type Protocol string

// The protocols.
const (
	GRPC Protocol = "grpc"
	HTTP Protocol = "http/protobuf"
)

// ParseProtocol reads the value of --trace-protocol. The error says which there are.
func ParseProtocol(s string) (Protocol, error) {
	switch p := Protocol(s); p {
	case GRPC, HTTP:
		return p, nil
	}
	return "", fmt.Errorf("unknown protocol %q: want %s or %s", s, GRPC, HTTP)
}

// CheckEndpoint says what is wrong with the address of a collector, if anything: it is a URL with scheme and host.
func CheckEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is no URL of a collector: want for example http://collector:4318, or https://", endpoint)
	}
	return nil
}

// Options of an Exporter. All but Attributes are required.
type Options struct {
	// Endpoint is the collector's URL; https means TLS. Over HTTP a path of none means /v1/traces.
	Endpoint string
	Protocol Protocol
	// Attributes say what sends the traces, beside and behind OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
	Attributes map[string]string
	Log        *zap.Logger
	Registerer prometheus.Registerer
}

// Exporter sends spans. It makes nothing and starts nothing before Start.
type Exporter struct {
	opts     Options
	spans    *prometheus.CounterVec
	failing  atomic.Bool
	provider *sdktrace.TracerProvider
	client   *otlptrace.Exporter
}

// How long one request to the collector may take, and how long a stop waits for the last ones.
const (
	requestTimeout = 5 * time.Second
	stopTimeout    = 2 * time.Second
	// batchTime is how long spans are gathered, and queued how many may wait.
	batchTime = time.Second
	queued    = 4096
)

// New makes an exporter. It is an error if an option is missing or wrong, or a metric is registered already.
func New(o Options) (*Exporter, error) {
	if o.Log == nil || o.Registerer == nil {
		return nil, fmt.Errorf("traces: log and registerer are both required")
	}
	if err := CheckEndpoint(o.Endpoint); err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	if _, err := ParseProtocol(string(o.Protocol)); err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	e := &Exporter{opts: o, spans: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "meshd_trace_spans_total", Help: "Spans that the collector took (sent) or did not take (failed)."}, []string{"result"})}
	if err := o.Registerer.Register(e.spans); err != nil {
		return nil, fmt.Errorf("traces: register metrics: %w", err)
	}
	return e, nil
}

// Start gives the tracer whose spans are sent. It does not wait for the collector. Headers and certificates for it come
// from OTEL_EXPORTER_OTLP_HEADERS and the like.
func (e *Exporter) Start(ctx context.Context) (trace.Tracer, error) {
	client, err := e.connect()
	if err != nil {
		return nil, err
	}
	if e.client, err = otlptrace.New(ctx, client); err != nil {
		return nil, fmt.Errorf("traces: exporter for %s: %w", e.opts.Endpoint, err)
	}
	attributes := make([]attribute.KeyValue, 0, len(e.opts.Attributes))
	for k, v := range e.opts.Attributes {
		attributes = append(attributes, attribute.String(k, v))
	}
	about, err := resource.New(ctx, resource.WithAttributes(attributes...), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	e.provider = sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithSpanProcessor(sdktrace.NewBatchSpanProcessor(
		watched{e}, sdktrace.WithBatchTimeout(batchTime), sdktrace.WithExportTimeout(requestTimeout), sdktrace.WithMaxQueueSize(queued))))
	e.opts.Log.Info("traces of pushes are sent", zap.String("endpoint", e.opts.Endpoint), zap.String("protocol", string(e.opts.Protocol)))
	return e.provider.Tracer("github.com/meshd/meshd"), nil
}

func (e *Exporter) connect() (otlptrace.Client, error) {
	u, err := url.Parse(e.opts.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	if e.opts.Protocol == GRPC {
		return otlptracegrpc.NewClient(otlptracegrpc.WithEndpointURL(u.String()), otlptracegrpc.WithTimeout(requestTimeout)), nil
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return otlptracehttp.NewClient(otlptracehttp.WithEndpointURL(u.String()), otlptracehttp.WithTimeout(requestTimeout)), nil
}

// Stop sends what waits, as far as the collector takes it in two seconds, and ends. A collector that does not is no error:
// it is logged.
func (e *Exporter) Stop(ctx context.Context) {
	if e.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := e.provider.Shutdown(ctx); err != nil {
		e.opts.Log.Warn("the last traces are not sent", zap.Error(err))
	}
	// A request that is under way at the end of the time would go on.
	_ = e.client.Shutdown(ctx) // it was shut down with the provider, or its time is over
}

// watched counts and reports what becomes of spans, once for each time that it changes, in the log of the process.
type watched struct{ e *Exporter }

var _ sdktrace.SpanExporter = watched{}

// ExportSpans is that of the exporter. An error is reported here and not handed on: it would be logged elsewhere, each time.
func (w watched) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := w.e.client.ExportSpans(ctx, spans)
	if err != nil {
		w.e.spans.WithLabelValues("failed").Add(float64(len(spans)))
		if !w.e.failing.Swap(true) {
			w.e.opts.Log.Warn("the collector of traces takes none; this is said once, until it does", zap.String("endpoint", w.e.opts.Endpoint), zap.Error(err))
		}
		return nil
	}
	w.e.spans.WithLabelValues("sent").Add(float64(len(spans)))
	if w.e.failing.Swap(false) {
		w.e.opts.Log.Info("the collector takes traces again", zap.String("endpoint", w.e.opts.Endpoint))
	}
	return nil
}

// Shutdown is that of the exporter.
func (w watched) Shutdown(ctx context.Context) error { return w.e.client.Shutdown(ctx) }
