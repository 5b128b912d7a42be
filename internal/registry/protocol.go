package registry

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/meshd/meshd/internal/model"
)

// The protocols that a port can declare, in lower case.
var declared = map[string]model.Protocol{
	"http":     model.ProtocolHTTP,
	"http2":    model.ProtocolHTTP2,
	"grpc":     model.ProtocolGRPC,
	"grpc-web": model.ProtocolGRPCWeb,
	"https":    model.ProtocolHTTPS,
	"tls":      model.ProtocolTLS,
	"tcp":      model.ProtocolTCP,
	"mongo":    model.ProtocolMongo,
	"mysql":    model.ProtocolMySQL,
	"redis":    model.ProtocolRedis,
	"udp":      model.ProtocolUDP,
}

// The application protocols that Kubernetes itself defines (field appProtocol of a service's port).
var kubernetesProtocols = map[string]model.Protocol{
	"kubernetes.io/h2c": model.ProtocolHTTP2,
	"kubernetes.io/ws":  model.ProtocolHTTP,
	"kubernetes.io/wss": model.ProtocolHTTPS,
}

// serverFirst reports ports of protocols in which the server speaks first, or whose clients wait: sniffing would break
// them, so they are TCP unless something is declared. Istio names SMTP, DNS, MySQL and MongoDB, and no others
// (https://istio.io/latest/docs/ops/configuration/traffic-management/protocol-selection/).
func serverFirst(port int32) bool {
	switch port {
	case 25, 53, 3306, 27017:
		return true
	}
	return false
}

// Protocol decides what a service port speaks: UDP by its transport, then what appProtocol declares, or without one
// the prefix of its name ("http" or "http-…"), in any case; else TCP for server-first ports, or ProtocolAuto.
// An appProtocol that says nothing known is not helped by the name, as in Istio.
func Protocol(number int32, name string, transport corev1.Protocol, appProtocol *string) model.Protocol {
	if transport == corev1.ProtocolUDP {
		return model.ProtocolUDP
	}
	if appProtocol != nil {
		name = *appProtocol
		if p, ok := kubernetesProtocols[name]; ok {
			return p
		}
	}
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "grpc-web") {
		return model.ProtocolGRPCWeb
	}
	prefix, _, _ := strings.Cut(name, "-")
	if p, ok := declared[prefix]; ok {
		return p
	}
	if serverFirst(number) {
		return model.ProtocolTCP
	}
	return model.ProtocolAuto
}
