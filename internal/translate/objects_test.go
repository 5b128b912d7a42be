package translate_test

import (
	"strings"
	"testing"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/meshd/meshd/internal/model"
)

// service is a Service with one port. The address may be "None".
func service(name model.NamespacedName, address, portName string, port int32) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name},
		Spec: corev1.ServiceSpec{
			ClusterIP: address, ClusterIPs: []string{address},
			Selector: map[string]string{"app": name.Name},
			Ports:    []corev1.ServicePort{{Name: portName, Port: port, Protocol: corev1.ProtocolTCP}},
		},
	}
}

// summary is a listener's name, the cluster that its connections go to, and the route configuration of its requests.
func summary(t *testing.T, name string, m proto.Message) string {
	t.Helper()
	l, ok := m.(*listenerv3.Listener)
	if !ok {
		t.Fatalf("%s is a %T", name, m)
	}
	var connections, requests string
	chains := l.GetFilterChains()
	if l.GetDefaultFilterChain() != nil {
		chains = append(chains, l.GetDefaultFilterChain())
	}
	for _, chain := range chains {
		config := chain.GetFilters()[len(chain.GetFilters())-1].GetTypedConfig()
		content, err := config.UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		switch c := content.(type) {
		case *tcpv3.TcpProxy:
			connections += " " + strings.TrimSuffix(c.GetCluster(), ".shop.svc.cluster.local")
		case *hcmv3.HttpConnectionManager:
			requests += " " + c.GetRds().GetRouteConfigName()
		}
	}
	return name + connections + requests
}
