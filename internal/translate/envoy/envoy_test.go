package envoy_test

import (
	"slices"
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	alpnv2alpha1 "istio.io/api/envoy/config/filter/http/alpn/v2alpha1"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
	networkingv1alpha3 "istio.io/api/networking/v1alpha3"

	"github.com/meshd/meshd/internal/translate/envoy"
)

// TestALPN: the dumps of other control planes do not show what is in this filter's configuration.
func TestALPN(t *testing.T) {
	p := &envoy.Packer{}
	var config alpnv2alpha1.FilterConfig
	if err := p.ALPN().UnmarshalTo(&config); err != nil || p.Err() != nil {
		t.Fatal(err, p.Err())
	}
	got := map[string][]string{}
	for _, o := range config.GetAlpnOverride() {
		got[o.GetUpstreamProtocol().String()] = o.GetAlpnOverride()
	}
	want := map[string][]string{
		"HTTP10": {"istio-http/1.0", "istio", "http/1.0"},
		"HTTP11": {"istio-http/1.1", "istio", "http/1.1"},
		"HTTP2":  {"istio-h2", "istio", "h2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("announced protocols (-want +got):\n%s", diff)
	}
}

// TestPacker: the first error is kept, with the name of the message.
func TestPacker(t *testing.T) {
	p := &envoy.Packer{}
	p.Any(&listenerv3.Listener{Name: "fine"})
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	p.Any(&listenerv3.Listener{Name: "\xff"})
	p.TypedStruct("second", map[string]any{"x": struct{}{}})
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "envoy.config.listener.v3.Listener") {
		t.Errorf("the error is %v", err)
	}
}

func TestFamilies(t *testing.T) {
	mixed := []string{"10.0.0.1", "fd00::1", "not an address", "::ffff:10.0.0.2"}
	tests := []struct {
		addresses           []string
		wildcard, localhost string
		source              string
		reachable           []string
	}{
		{nil, "0.0.0.0", "127.0.0.1", "127.0.0.6", []string{"10.0.0.1", "::ffff:10.0.0.2"}},
		{[]string{"junk"}, "0.0.0.0", "127.0.0.1", "127.0.0.6", []string{"10.0.0.1", "::ffff:10.0.0.2"}},
		{[]string{"10.1.1.1"}, "0.0.0.0", "127.0.0.1", "127.0.0.6", []string{"10.0.0.1", "::ffff:10.0.0.2"}},
		{[]string{"fd00::9"}, "::", "::1", "::6", []string{"fd00::1"}},
		{[]string{"fd00::9", "10.1.1.1"}, "0.0.0.0", "127.0.0.1", "127.0.0.6", []string{"10.0.0.1", "fd00::1", "::ffff:10.0.0.2"}},
	}
	if got := envoy.FamiliesOf([]string{"fd00::9", "10.1.1.1"}, false).Reachable(mixed); len(got) != 2 || got[1] != "::ffff:10.0.0.2" {
		t.Errorf("without dual stack, of both families: %q", got)
	}
	for _, test := range tests {
		f := envoy.FamiliesOf(test.addresses, true)
		if f.Wildcard() != test.wildcard || f.Localhost() != test.localhost || f.InboundSource() != test.source ||
			!slices.Equal(f.Reachable(mixed), test.reachable) {
			t.Errorf("%q: %s, %s, %s, %q", test.addresses, f.Wildcard(), f.Localhost(), f.InboundSource(), f.Reachable(mixed))
		}
	}
}

func TestRetries(t *testing.T) {
	p := &envoy.Packer{}
	if got := p.Retries(&networkingv1alpha3.HTTPRetry{}); got != nil {
		t.Errorf("no attempts: %v", got)
	}
	got := p.Retries(&networkingv1alpha3.HTTPRetry{Attempts: 1, RetryOn: " 503 ,reset,,retriable-status-codes, 650"})
	if want := "reset,retriable-status-codes,650"; got.GetRetryOn() != want || !slices.Equal(got.GetRetriableStatusCodes(), []uint32{503}) {
		t.Errorf("conditions %q and codes %v, want %q and 503", got.GetRetryOn(), got.GetRetriableStatusCodes(), want)
	}
	if got := envoy.PlainRetries(nil); len(got.GetRetryHostPredicate()) > 0 || got.GetNumRetries().GetValue() != 2 {
		t.Errorf("plain retries: %v", got)
	}
}

func TestStatsWanted(t *testing.T) {
	prometheus := &meshv1alpha1.MeshConfig_ExtensionProvider{Name: "p", Provider: &meshv1alpha1.MeshConfig_ExtensionProvider_Prometheus{
		Prometheus: &meshv1alpha1.MeshConfig_ExtensionProvider_PrometheusMetricsProvider{},
	}}
	other := &meshv1alpha1.MeshConfig_ExtensionProvider{Name: "prometheus", Provider: &meshv1alpha1.MeshConfig_ExtensionProvider_Zipkin{}}
	tests := []struct {
		metrics   []string
		providers []*meshv1alpha1.MeshConfig_ExtensionProvider
		want      bool
	}{
		{nil, nil, false},
		{[]string{"prometheus"}, nil, true},
		{[]string{"x", "p"}, []*meshv1alpha1.MeshConfig_ExtensionProvider{prometheus}, true},
		{[]string{"x"}, []*meshv1alpha1.MeshConfig_ExtensionProvider{prometheus}, false},
		{[]string{"prometheus"}, []*meshv1alpha1.MeshConfig_ExtensionProvider{other}, false},
	}
	for _, test := range tests {
		mesh := &meshv1alpha1.MeshConfig{
			DefaultProviders:   &meshv1alpha1.MeshConfig_DefaultProviders{Metrics: test.metrics},
			ExtensionProviders: test.providers,
		}
		if got := envoy.StatsWanted(mesh); got != test.want {
			t.Errorf("default providers %q: %t", test.metrics, got)
		}
	}
}

// TestAccessLogFormats: a text format ends with a line's end, and a JSON format that cannot be read is not used.
func TestAccessLogFormats(t *testing.T) {
	for _, test := range []struct {
		name, format, want string
		encoding           meshv1alpha1.MeshConfig_AccessLogEncoding
	}{
		{"text", "%PROTOCOL%", `%PROTOCOL%\n`, meshv1alpha1.MeshConfig_TEXT},
		{"text with its end", "%PROTOCOL%\n", `%PROTOCOL%\n`, meshv1alpha1.MeshConfig_TEXT},
		{"default text", "", `[%START_TIME%]`, meshv1alpha1.MeshConfig_TEXT},
		{"JSON", `{"mine": "%PROTOCOL%"}`, `mine`, meshv1alpha1.MeshConfig_JSON},
		{"default JSON", "", `upstream_transport_failure_reason`, meshv1alpha1.MeshConfig_JSON},
		{"JSON that is none", `{"mine": `, `upstream_transport_failure_reason`, meshv1alpha1.MeshConfig_JSON},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &envoy.Packer{}
			logs := p.AccessLog(&meshv1alpha1.MeshConfig{
				AccessLogFile: "/dev/stdout", AccessLogEncoding: test.encoding, AccessLogFormat: test.format,
			})
			if len(logs) != 1 || p.Err() != nil {
				t.Fatal(logs, p.Err())
			}
			m, err := logs[0].GetTypedConfig().UnmarshalNew()
			if err != nil {
				t.Fatal(err)
			}
			if got := prototext.Format(m); !strings.Contains(got, test.want) || strings.Contains(got, `\n\n`) {
				t.Errorf("the format is %s, want %s in it", got, test.want)
			}
		})
	}
	if logs := (&envoy.Packer{}).AccessLog(&meshv1alpha1.MeshConfig{}); logs != nil {
		t.Errorf("nobody asked for a log: %v", logs)
	}
}
