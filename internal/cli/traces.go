package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/meshd/meshd/internal/tracing"
)

// traces fills in where traces go from the variables of OpenTelemetry, as its specification has it
// (https://opentelemetry.io/docs/specs/otel/protocol/exporter): what is about traces goes before what is about all
// signals, and flags go before both. What it says of headers, certificates and compression the exporter reads itself.
func (s *settings) traces(env map[string]string) error {
	o := &s.options
	if o.TraceProtocol == "" {
		o.TraceProtocol = tracing.Protocol(cmp.Or(env["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"], env["OTEL_EXPORTER_OTLP_PROTOCOL"], string(tracing.HTTP)))
	}
	if o.TraceEndpoint != "" {
		return nil
	}
	if off, _ := strconv.ParseBool(env["OTEL_SDK_DISABLED"]); off {
		return nil
	}
	base := env["OTEL_EXPORTER_OTLP_ENDPOINT"]
	switch exporter := env["OTEL_TRACES_EXPORTER"]; exporter {
	case "":
	case "none":
		return nil
	case "otlp":
		if base == "" {
			base = "http://localhost:4318"
			if o.TraceProtocol == tracing.GRPC {
				base = "http://localhost:4317"
			}
		}
	default:
		return fmt.Errorf("environment variable OTEL_TRACES_EXPORTER=%q: want otlp or none", exporter)
	}
	if o.TraceEndpoint = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]; o.TraceEndpoint != "" || base == "" {
		return nil
	}
	o.TraceEndpoint = base
	if o.TraceProtocol != tracing.GRPC {
		// The address for all signals is that of the folder of them.
		o.TraceEndpoint = strings.TrimRight(base, "/") + "/v1/traces"
	}
	return nil
}
