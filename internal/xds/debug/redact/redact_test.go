package redact

import (
	"strings"
	"testing"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"
)

func text(s string) *corev3.DataSource {
	return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: s}}
}

func pack(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func object(t *testing.T, fields map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(fields)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const hidden = "HIDE-ME"

var redactor = New(protoregistry.GlobalTypes)

func TestMessage(t *testing.T) {
	certificate := &tlsv3.Secret{Name: "visible", Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
		CertificateChain: text("visible"), PrivateKey: text(hidden), Password: text(hidden), OcspStaple: text("visible"),
	}}}
	for name, tt := range map[string]struct {
		in      proto.Message
		visible int // how often the word visible is to stay
	}{
		"a certificate":   {certificate, 3},
		"a key in a file": {&tlsv3.TlsCertificate{PrivateKey: &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: hidden}}}, 0},
		"a key provider": {&tlsv3.TlsCertificate{PrivateKeyProvider: &tlsv3.PrivateKeyProvider{ProviderName: "visible",
			ConfigType: &tlsv3.PrivateKeyProvider_TypedConfig{TypedConfig: pack(t, wrapperspb.String(hidden))}}}, 1},
		"keys of tickets":      {&tlsv3.TlsSessionTicketKeys{Keys: []*corev3.DataSource{text(hidden), text(hidden)}}, 0},
		"a generic secret":     {&tlsv3.GenericSecret{Secret: text(hidden)}, 0},
		"several generic ones": {&tlsv3.GenericSecret{Secrets: map[string]*corev3.DataSource{"visible": text(hidden)}}, 1},
		"within anys": {&adminv3.SecretsConfigDump{DynamicActiveSecrets: []*adminv3.SecretsConfigDump_DynamicSecret{{
			Name: "visible", Secret: pack(t, certificate)}}}, 4},
		"within a transport socket": {&listenerv3.Listener{Name: "visible", FilterChains: []*listenerv3.FilterChain{{TransportSocket: &corev3.TransportSocket{
			ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: pack(t, &tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
				TlsCertificates: []*tlsv3.TlsCertificate{{CertificateChain: text("visible"), PrivateKey: text(hidden)}}}})}}}}}, 2},
		"free-form metadata": {object(t, map[string]any{"API_KEY": hidden, "deep": []any{map[string]any{"clientSecret": hidden, "ok": "visible"}},
			"password": map[string]any{"a": hidden}, "number_token": 7}), 1},
		"a header":       {&corev3.GrpcService{InitialMetadata: []*corev3.HeaderValue{{Key: "authorization", Value: hidden}, {Key: "x-a", Value: "visible"}}}, 1},
		"an environment": {&corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"visible": object(t, map[string]any{"ISTIO_META_WASM_IMAGE_PULL_SECRET": hidden})}}, 1},
		"mesh config": {&meshv1alpha1.MeshConfig{RootNamespace: "visible", ExtensionProviders: []*meshv1alpha1.MeshConfig_ExtensionProvider{{
			//lint:ignore SA1019 who still has it in a mesh config has a token in it
			Provider: &meshv1alpha1.MeshConfig_ExtensionProvider_Lightstep{Lightstep: &meshv1alpha1.MeshConfig_ExtensionProvider_LightstepTracingProvider{
				Service: "visible", AccessToken: hidden}}}}}, 2},
		"names of certificates are none": {&tlsv3.CommonTlsContext{TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{{Name: "visible"}}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			before := proto.Clone(tt.in)
			had := strings.Contains(protojson.Format(tt.in), hidden) || name == "within anys"
			if changed := redactor.Message(tt.in); changed != had {
				t.Errorf("changed: %v", changed)
			}
			out := protojson.Format(tt.in)
			if strings.Contains(out, hidden) || strings.Count(out, "visible") != tt.visible {
				t.Errorf("%d times visible, want %d, in\n%s", strings.Count(out, "visible"), tt.visible, out)
			}
			if !had && !proto.Equal(before, tt.in) {
				t.Errorf("%s became %s", protojson.Format(before), out)
			}
			if had && name != "a key provider" && !strings.Contains(out, Redacted) && !strings.Contains(out, "W3JlZGFjdGVkXQ==") {
				t.Errorf("nothing says that something is hidden: %s", out)
			}
		})
	}
}

// What cannot be looked into is not shown.
func TestUnknownAny(t *testing.T) {
	m := &corev3.TypedExtensionConfig{Name: "x", TypedConfig: &anypb.Any{TypeUrl: "type.googleapis.com/not.linked.In", Value: []byte("HIDE-ME")}}
	if !redactor.Message(m) {
		t.Error("unchanged")
	}
	out, err := protojson.Marshal(m)
	if err != nil || strings.Contains(string(out), "HIDE") || !strings.Contains(string(out), "not.linked.In") {
		t.Errorf("%v %s", err, out)
	}
	broken := &anypb.Any{TypeUrl: "type.googleapis.com/envoy.config.core.v3.Metadata", Value: []byte{0xff}}
	redactor.Message(broken)
	if _, err := protojson.Marshal(broken); err != nil {
		t.Errorf("a broken message cannot be shown: %v", err)
	}
	if redactor.Message(&anypb.Any{}) {
		t.Error("an empty Any has nothing to hide")
	}
}

func TestIsSecret(t *testing.T) {
	for name, want := range map[string]bool{
		"password": true, "DB_PASSWORD": true, "client-secret": true, "accessToken": true, "Authorization": true, "private_key": true, "x-api-key": true, "Set-Cookie": true,
		"": false, "tokens_seen": false, "secretName": false, "key": false, "name": false, "tlsMode": false, "app": false,
	} {
		if IsSecret(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestValues(t *testing.T) {
	in := map[string]any{"A_TOKEN": "x", "list": []any{map[string]any{"password": "x", "n": 1.0}}, "token": map[string]any{"a": "stays"}, "nothing": nil}
	want := map[string]any{"A_TOKEN": Redacted, "list": []any{map[string]any{"password": Redacted, "n": 1.0}}, "token": map[string]any{"a": "stays"}, "nothing": nil}
	if d := cmp.Diff(want, Values(in)); d != "" {
		t.Error(d)
	}
	if in["A_TOKEN"] != "x" {
		t.Error("the original was written to")
	}
}
