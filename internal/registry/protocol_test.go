package registry_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/registry"
)

func TestProtocol(t *testing.T) {
	app := func(s string) *string { return &s }
	for _, c := range []struct {
		why       string
		number    int32
		name      string
		transport corev1.Protocol
		app       *string
		want      model.Protocol
	}{
		{"exact name", 80, "http", "TCP", nil, model.ProtocolHTTP},
		{"name with a suffix", 80, "http-web", "TCP", nil, model.ProtocolHTTP},
		{"a prefix needs its hyphen", 80, "httpweb", "TCP", nil, model.ProtocolAuto},
		{"any case", 80, "HTTP-web", "TCP", nil, model.ProtocolHTTP},
		{"http2", 80, "http2-b", "TCP", nil, model.ProtocolHTTP2},
		{"grpc", 80, "grpc-x", "TCP", nil, model.ProtocolGRPC},
		{"grpc-web has a hyphen of its own", 80, "grpc-web", "TCP", nil, model.ProtocolGRPCWeb},
		{"grpc-web with a suffix", 80, "gRPC-Web-x", "TCP", nil, model.ProtocolGRPCWeb},
		{"the API server's port", 443, "https", "TCP", nil, model.ProtocolHTTPS},
		{"tls", 443, "tls-x", "TCP", nil, model.ProtocolTLS},
		{"tcp", 80, "tcp", "TCP", nil, model.ProtocolTCP},
		{"mongo", 1, "mongo", "TCP", nil, model.ProtocolMongo},
		{"mysql on its own port", 3306, "mysql-db", "TCP", nil, model.ProtocolMySQL},
		{"redis", 6379, "redis", "TCP", nil, model.ProtocolRedis},
		{"udp by name", 80, "udp-x", "TCP", nil, model.ProtocolUDP},
		{"udp by transport, whatever the name", 80, "http", "UDP", app("http"), model.ProtocolUDP},
		{"no transport is TCP", 80, "http", "", nil, model.ProtocolHTTP},
		{"unknown name", 1234, "whatever", "TCP", nil, model.ProtocolAuto},
		{"no name", 1234, "", "TCP", nil, model.ProtocolAuto},
		{"server first: SMTP", 25, "", "TCP", nil, model.ProtocolTCP},
		{"server first: DNS", 53, "dns-tcp", "TCP", nil, model.ProtocolTCP},
		{"server first: MySQL", 3306, "db", "TCP", nil, model.ProtocolTCP},
		{"server first: MongoDB", 27017, "db", "TCP", nil, model.ProtocolTCP},
		{"PostgreSQL is not on the list", 5432, "db", "TCP", nil, model.ProtocolAuto},
		{"declared wins over server first", 3306, "http", "TCP", nil, model.ProtocolHTTP},
		{"h2c", 91, "app1", "TCP", app("kubernetes.io/h2c"), model.ProtocolHTTP2},
		{"websocket", 91, "app1", "TCP", app("kubernetes.io/ws"), model.ProtocolHTTP},
		{"websocket over TLS", 91, "app1", "TCP", app("kubernetes.io/wss"), model.ProtocolHTTPS},
		{"appProtocol", 92, "app2", "TCP", app("https"), model.ProtocolHTTPS},
		{"appProtocol before the name", 93, "tcp-web", "TCP", app("http"), model.ProtocolHTTP},
		{"appProtocol that is not known hides the name", 93, "http", "TCP", app("example.com/own"), model.ProtocolAuto},
		{"appProtocol that is not known, server first", 3306, "http", "TCP", app("own"), model.ProtocolTCP},
		{"Kubernetes' names count in appProtocol only", 80, "kubernetes.io/h2c", "TCP", nil, model.ProtocolAuto},
	} {
		if got := registry.Protocol(c.number, c.name, c.transport, c.app); got != c.want {
			t.Errorf("%s: %d %q %s: got %s, want %s", c.why, c.number, c.name, c.transport, got, c.want)
		}
	}
}
