package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/meshd/meshd/internal/tracing"
)

// The table is what OpenTelemetry's specification says of its variables, and what is meshd's own.
func TestTraces(t *testing.T) {
	for _, tt := range []struct {
		name     string
		args     string
		environ  []string
		endpoint string
		protocol tracing.Protocol
	}{
		{"off", "", nil, "", tracing.HTTP},
		{"one address for all signals", "", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"}, "http://c:4318/v1/traces", tracing.HTTP},
		{"that has a path", "", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c/otlp/"}, "http://c/otlp/v1/traces", tracing.HTTP},
		{"over gRPC", "", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "http://c:4317", tracing.GRPC},
		{"what is about traces goes before", "",
			[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://t/x", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf"},
			"http://t/x", tracing.HTTP},
		{"flags before all", "--trace-endpoint http://f --trace-protocol grpc",
			[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://t/x", "OTEL_TRACES_EXPORTER=none"}, "http://f", tracing.GRPC},
		{"meshd's variables too", "", []string{"MESHD_TRACE_ENDPOINT=http://m", "OTEL_EXPORTER_OTLP_ENDPOINT=http://c"}, "http://m", tracing.HTTP},
		{"switched off", "", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_TRACES_EXPORTER=none"}, "", tracing.HTTP},
		{"all switched off", "", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_SDK_DISABLED=true"}, "", tracing.HTTP},
		{"switched on, with the usual address", "", []string{"OTEL_TRACES_EXPORTER=otlp"}, "http://localhost:4318/v1/traces", tracing.HTTP},
		{"the usual address of gRPC", "", []string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "http://localhost:4317", tracing.GRPC},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &settings{}
			flags := pflag.NewFlagSet("", pflag.ContinueOnError)
			s.addTo(flags)
			if err := flags.Parse(append(strings.Fields(tt.args), "--dir=.")); err != nil {
				t.Fatal(err)
			}
			if err := s.fromEnviron(flags, tt.environ); err != nil {
				t.Fatal(err)
			}
			if err := s.validate(); err != nil {
				t.Fatal(err)
			}
			if s.options.TraceEndpoint != tt.endpoint || s.options.TraceProtocol != tt.protocol {
				t.Errorf("got %q over %s, want %q over %s", s.options.TraceEndpoint, s.options.TraceProtocol, tt.endpoint, tt.protocol)
			}
		})
	}
}
