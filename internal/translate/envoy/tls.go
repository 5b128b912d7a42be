package envoy

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	rawbufferv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/raw_buffer/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Application protocols (ALPN) by which Istio's proxies tell each other what is inside the TLS connection.
const (
	// ALPNPeerExchange announces TCP with an exchange of metadata in front.
	ALPNPeerExchange = "istio-peer-exchange"
	// ALPNIstio announces mutual TLS between proxies.
	ALPNIstio = "istio"
	// ALPNHTTP2 is HTTP/2.
	ALPNHTTP2 = "h2"
	// ALPNHTTP11 is HTTP/1.1.
	ALPNHTTP11 = "http/1.1"
)

// serverCiphers are what a workload accepts below TLS 1.3, strongest first. They are Istio's: ECDHE where the peer
// can, and no CBC.
var serverCiphers = []string{
	"ECDHE-ECDSA-AES256-GCM-SHA384",
	"ECDHE-RSA-AES256-GCM-SHA384",
	"ECDHE-ECDSA-AES128-GCM-SHA256",
	"ECDHE-RSA-AES128-GCM-SHA256",
	"AES256-GCM-SHA384",
	"AES128-GCM-SHA256",
}

// RawBuffer is the transport socket of plain text.
func (p *Packer) RawBuffer() *corev3.TransportSocket {
	return &corev3.TransportSocket{
		Name:       "envoy.transport_sockets.raw_buffer",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: p.Any(&rawbufferv3.RawBuffer{})},
	}
}

// UpstreamMutualTLS is the client's side of mutual TLS with a workload. The peer must prove one of the identities; none
// means any identity of a trusted root, because a service without workloads has no identity to insist on.
func (p *Packer) UpstreamMutualTLS(sni string, identities, alpn []string) *corev3.TransportSocket {
	sans := make([]*matcherv3.StringMatcher, 0, len(identities))
	for _, id := range identities {
		sans = append(sans, &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: id}})
	}
	return p.tls(&tlsv3.UpstreamTlsContext{
		CommonTlsContext: mutual(sans, alpn, nil),
		Sni:              sni,
	})
}

// DownstreamMutualTLS is the workload's side of mutual TLS: the peer must prove an identity of one of the trust domains.
func (p *Packer) DownstreamMutualTLS(trustDomains, alpn []string) *corev3.TransportSocket {
	sans := make([]*matcherv3.StringMatcher, 0, len(trustDomains))
	for _, domain := range trustDomains {
		prefix := "spiffe://" + domain + "/"
		sans = append(sans, &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: prefix}})
	}
	return p.tls(&tlsv3.DownstreamTlsContext{
		CommonTlsContext:         mutual(sans, alpn, serverCiphers),
		RequireClientCertificate: wrapperspb.Bool(true),
	})
}

// mutual is what both sides of mutual TLS have in common: certificate and roots come from the agent's SDS server.
func mutual(sans []*matcherv3.StringMatcher, alpn, ciphers []string) *tlsv3.CommonTlsContext {
	return &tlsv3.CommonTlsContext{
		AlpnProtocols: alpn,
		TlsParams: &tlsv3.TlsParameters{
			TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2,
			TlsMaximumProtocolVersion: tlsv3.TlsParameters_TLSv1_3,
			CipherSuites:              ciphers,
		},
		TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{secret("default")},
		ValidationContextType: &tlsv3.CommonTlsContext_CombinedValidationContext{
			CombinedValidationContext: &tlsv3.CommonTlsContext_CombinedCertificateValidationContext{
				DefaultValidationContext: &tlsv3.CertificateValidationContext{
					//lint:ignore SA1019 Istio's proxies are configured by this field; its successor matches one kind of name at a time.
					MatchSubjectAltNames: sans,
				},
				ValidationContextSdsSecretConfig: secret("ROOTCA"),
			},
		},
	}
}

// secret names a secret of the agent beside the proxy, whose cluster "sds-grpc" stands in the bootstrap.
func secret(name string) *tlsv3.SdsSecretConfig {
	return &tlsv3.SdsSecretConfig{
		Name: name,
		SdsConfig: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_ApiConfigSource{ApiConfigSource: &corev3.ApiConfigSource{
				ApiType:                   corev3.ApiConfigSource_GRPC,
				SetNodeOnFirstMessageOnly: true,
				TransportApiVersion:       corev3.ApiVersion_V3,
				GrpcServices: []*corev3.GrpcService{{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{
					EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: "sds-grpc"},
				}}},
			}},
			InitialFetchTimeout: durationpb.New(0),
			ResourceApiVersion:  corev3.ApiVersion_V3,
		},
	}
}

func (p *Packer) tls(context proto.Message) *corev3.TransportSocket {
	return &corev3.TransportSocket{
		Name:       "envoy.transport_sockets.tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: p.Any(context)},
	}
}
