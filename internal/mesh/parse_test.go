package mesh

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
)

func TestDefaultIsValidAndNew(t *testing.T) {
	if err := Validate(Default()); err != nil {
		t.Error(err)
	}
	a, b := Default(), Default()
	a.DefaultConfig.StatusPort = 1
	a.DefaultServiceExportTo[0] = "."
	if diff := cmp.Diff(Default(), b, protocmp.Transform()); diff != "" {
		t.Errorf("writing to one changed another:\n%s", diff)
	}
}

// TestParse merges what a file says with the defaults. want is what differs from the defaults, in JSON.
func TestParse(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":               {"", `{}`},
		"empty map":           {"{}", `{}`},
		"comment":             {"# nothing\n", `{}`},
		"a field":             {"trustDomain: example.com\nconnectTimeout: 5s\n", `{"trustDomain": "example.com", "connectTimeout": "5s"}`},
		"other names":         {"trust_domain: example.com\nproxy_listen_port: 16001\n", `{"trustDomain": "example.com", "proxyListenPort": 16001}`},
		"null is the default": {"trustDomain: null\nlocalityLbSetting: null\n", `{}`},
		// A zero value that was given counts.
		"false":          {"enableTracing: false\nenableAutoMtls: false\n", `{"enableTracing": false, "enableAutoMtls": false}`},
		"emptied list":   {"defaultServiceExportTo: []\n", `{"defaultServiceExportTo": []}`},
		"zero mode":      {"outboundTrafficPolicy: {mode: REGISTRY_ONLY}\n", `{"outboundTrafficPolicy": {}}`},
		"mode by number": {"accessLogEncoding: 1\n", `{"accessLogEncoding": "JSON"}`},
		// Messages and lists replace, except for these.
		"message replaces": {"localityLbSetting:\n  failover:\n  - {from: a, to: b}\n", `{"localityLbSetting": {"failover": [{"from": "a", "to": "b"}]}}`},
		"list replaces":    {"defaultServiceExportTo: [\".\"]\n", `{"defaultServiceExportTo": ["."]}`},
		"proxy config":     {"defaultConfig:\n  statusPort: 15021\n  proxyMetadata: {A: b}\n  holdApplicationUntilProxyStarts: true\n", `{"defaultConfig": {"statusPort": 15021, "proxyMetadata": {"A": "b"}, "holdApplicationUntilProxyStarts": true}}`},
		"proxy zero":       {"defaultConfig:\n  statNameLength: 0\n", `{"defaultConfig": {"statNameLength": 0}}`},
		"one of two":       {"defaultConfig:\n  tracingServiceName: CANONICAL_NAME_ONLY\n", `{"defaultConfig": {"tracingServiceName": "CANONICAL_NAME_ONLY"}}`},
		"proxy empty":      {"defaultConfig: {}\n", `{}`},
		"providers":        {"defaultProviders:\n  accessLogging: [envoy]\n", `{"defaultProviders": {"accessLogging": ["envoy"]}}`},
		"aliases":          {"trustDomainAliases: [b, a, b]\n", `{"trustDomainAliases": ["a", "b"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, warnings, err := Parse([]byte(c.text))
			if err != nil || len(warnings) != 0 {
				t.Fatalf("%v, warnings %q", err, warnings)
			}
			if diff := cmp.Diff(overlay(t, c.want), got, protocmp.Transform()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// overlay makes the expected config by hand: the defaults' own JSON, with the top fields replaced, and those of
// defaultConfig one by one.
func overlay(t *testing.T, text string) *meshv1alpha1.MeshConfig {
	t.Helper()
	over := &meshv1alpha1.MeshConfig{}
	if err := protojson.Unmarshal([]byte(text), over); err != nil {
		t.Fatal(err)
	}
	out := Default()
	for _, field := range strings.Fields("trustDomain connectTimeout proxyListenPort enableTracing enableAutoMtls defaultServiceExportTo outboundTrafficPolicy accessLogEncoding localityLbSetting defaultProviders trustDomainAliases") {
		if strings.Contains(text, `"`+field+`"`) {
			fd := out.ProtoReflect().Descriptor().Fields().ByJSONName(field)
			out.ProtoReflect().Clear(fd)
			if over.ProtoReflect().Has(fd) {
				out.ProtoReflect().Set(fd, over.ProtoReflect().Get(fd))
			}
		}
	}
	for _, field := range strings.Fields("statusPort proxyMetadata holdApplicationUntilProxyStarts statNameLength tracingServiceName") {
		if strings.Contains(text, `"`+field+`"`) {
			to, from := out.DefaultConfig.ProtoReflect(), over.DefaultConfig.ProtoReflect()
			fd := to.Descriptor().Fields().ByJSONName(field)
			to.Clear(fd)
			if from.Has(fd) {
				to.Set(fd, from.Get(fd))
			}
		}
	}
	return out
}

func TestExtensionProvidersMergeByName(t *testing.T) {
	got, _, err := Parse([]byte("extensionProviders:\n- name: envoy\n  envoyFileAccessLog: {path: /tmp/log}\n- name: mine\n  prometheus: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range got.ExtensionProviders {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"prometheus", "stackdriver", "envoy", "mine"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if path := got.ExtensionProviders[2].GetEnvoyFileAccessLog().GetPath(); path != "/tmp/log" {
		t.Errorf("path %q: the default provider was not replaced", path)
	}
}

func TestUnknownFieldsAreWarnings(t *testing.T) {
	got, warnings, err := Parse([]byte("trustDomain: example.com\nfutureField: {a: 1}\ndefaultConfig:\n  statusPorts: 1\nextensionProviders:\n- name: x\n  prometheus: {}\n  more: 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"defaultConfig.statusPorts: ", "extensionProviders[0].more: ", "futureField: "}
	if len(warnings) != len(want) {
		t.Fatalf("warnings %q, want about %q", warnings, want)
	}
	for i, w := range want {
		if !strings.HasPrefix(warnings[i], w) {
			t.Errorf("warning %q, want about %q", warnings[i], w)
		}
	}
	if got.TrustDomain != "example.com" {
		t.Error("the fields that are known do not count")
	}
}

// TestBadConfig checks that everything that is wrong is named, with its path.
func TestBadConfig(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"syntax":          {"a: b: c", []string{"mapping values"}},
		"key twice":       {"trustDomain: a\ntrustDomain: b\n", []string{"unmarshal errors", `"trustDomain" already set`}},
		"two documents":   {"trustDomain: a\n---\ntrustDomain: b\n", []string{"more than one document"}},
		"text":            {"hello", []string{"not a mapping"}},
		"list":            {"- a", []string{"not a mapping"}},
		"binary":          {"a: \x00", []string{"control characters"}},
		"config map":      {"apiVersion: v1\nkind: ConfigMap\ndata: {mesh: \"\"}\n", []string{"ConfigMap"}},
		"two things":      {"proxyListenPort: high\nenableTracing: \"maybe\"\n", []string{"proxyListenPort: want a whole number", "enableTracing: want true or false"}},
		"deep":            {"defaultConfig:\n  tracing:\n    zipkin:\n      address: 5\n", []string{"defaultConfig.tracing.zipkin.address: want text"}},
		"in a list":       {"extensionProviders:\n- name: a\n- name: 1\n", []string{"extensionProviders[1].name: want text"}},
		"in a map":        {"defaultConfig:\n  proxyMetadata:\n    A: true\n", []string{"defaultConfig.proxyMetadata.A: want text"}},
		"not a list":      {"trustDomainAliases: a\n", []string{"trustDomainAliases: want a list"}},
		"not a message":   {"defaultConfig: 5\n", []string{"defaultConfig: want a mapping"}},
		"unknown mode":    {"outboundTrafficPolicy: {mode: DENY}\n", []string{"outboundTrafficPolicy.mode: want one of REGISTRY_ONLY, ALLOW_ANY, ALLOW_ANY_DYNAMIC_DNS, have \"DENY\""}},
		"duration":        {"connectTimeout: 1m\n", []string{`connectTimeout: want a number of seconds such as "10s", have "1m": write "60s"`}},
		"duration number": {"connectTimeout: 5\n", []string{"connectTimeout: want a number of seconds"}},
		"wrapped":         {"enableAutoMtls: 3\ndefaultConfig: {concurrency: many}\n", []string{"enableAutoMtls: want true or false", "defaultConfig.concurrency: want a whole number"}},

		"ports":         {"proxyListenPort: 0\nproxyInboundListenPort: 70000\n", []string{"proxyListenPort is 0", "proxyInboundListenPort is 70000"}},
		"same port":     {"proxyListenPort: 15006\n", []string{"proxyInboundListenPort is 15006 like proxyListenPort"}},
		"short timeout": {"connectTimeout: 0s\n", []string{"connectTimeout is 0s: want at least 1ms"}},
		"long timeout":  {"connectTimeout: 7200s\n", []string{"connectTimeout is 2h0m0s: want at most 1h0m0s"}},
		"negative":      {"protocolDetectionTimeout: -1s\ndnsRefreshRate: -1s\n", []string{"protocolDetectionTimeout is -1s", "dnsRefreshRate is -1s"}},
		"too precise":   {"connectTimeout: 1.0005s\n", []string{"connectTimeout is 1.0005s: want whole milliseconds"}},
		"drain":         {"defaultConfig: {drainDuration: 1.5s}\n", []string{"defaultConfig.drainDuration is 1.5s: want whole seconds"}},
		"trust domain":  {"trustDomain: Example.com\ntrustDomainAliases: [a_b]\n", []string{`trustDomain is "Example.com"`, `trustDomainAliases[0] is "a_b"`}},
		"no domain":     {"trustDomain: \"\"\n", []string{"trustDomain is empty"}},
		"spiffe":        {"trustDomain: spiffe://a\n", []string{"trustDomain is"}},
		"namespace":     {"rootNamespace: a.b\n", []string{"rootNamespace is"}},
		"export":        {"defaultServiceExportTo: [\"*\", \"a/b\"]\n", []string{`defaultServiceExportTo[1] is "a/b"`}},
		"selector":      {"discoverySelectors:\n- matchLabels: {a: b}\n- matchExpressions: [{key: a, operator: Like, values: [b]}]\n", []string{"discoverySelectors[1] is not a label selector"}},
		"discovery":     {"defaultConfig: {discoveryAddress: istiod}\n", []string{`defaultConfig.discoveryAddress is "istiod": want host:port`}},
		"address port":  {"defaultConfig: {discoveryAddress: \"istiod:99999\"}\n", []string{`"99999" is not a port`}},
		"provider":      {"extensionProviders: [{prometheus: {}}]\n", []string{"extensionProviders[3].name is missing"}},
		"concurrency":   {"defaultConfig: {concurrency: -1}\n", []string{"defaultConfig.concurrency is -1"}},
		"status port":   {"defaultConfig: {statusPort: 0}\n", []string{"defaultConfig.statusPort is 0"}},
		"curves":        {"meshMTLS: {ecdhCurves: [P-256]}\n", []string{"meshMTLS.ecdhCurves"}},
		"hosts":         {"serviceSettings: [{hosts: [\"a.*.b\"]}]\n", []string{"serviceSettings[0].hosts[0]"}},
	} {
		t.Run(name, func(t *testing.T) {
			config, _, err := Parse([]byte(c.text))
			if err == nil || config != nil {
				t.Fatalf("got %v and %v, want an error", config, err)
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
			if got := len(strings.Split(err.Error(), "\n")); got != len(c.want) {
				t.Errorf("%d errors, want %d: %v", got, len(c.want), err)
			}
		})
	}
}

func TestSample(t *testing.T) {
	text, err := os.ReadFile("../../deploy/samples/mesh.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, warnings, err := Parse(text); err != nil || len(warnings) != 0 {
		t.Errorf("%v, warnings %q", err, warnings)
	}
}
