package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/meshd/meshd/internal/testkit/process"
)

// shapes are services that differ in what becomes of them: PORT is where a backend listens, every other endpoint is
// one that nobody answers at.
const shapes = `
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/region: r1, topology.kubernetes.io/zone: z1}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {topology.kubernetes.io/region: r2, topology.kubernetes.io/zone: z2}}
---
# Endpoints in three localities, one of them without a name; some not ready, one going.
apiVersion: v1
kind: Service
metadata: {name: zones, namespace: default}
spec: {clusterIP: 10.96.7.1, selector: {app: zones}, ports: [{name: grpc, port: 7070, targetPort: grpc}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: zones-1, namespace: default, labels: {kubernetes.io/service-name: zones}}
endpoints:
- {addresses: [127.0.0.1], nodeName: n1, zone: z1, conditions: {ready: true}}
- {addresses: [127.0.0.2], nodeName: n2, zone: z2, conditions: {ready: true}}
- {addresses: [127.0.0.3], conditions: {ready: true}}
- {addresses: [127.0.0.4], nodeName: n1, conditions: {ready: false, serving: false, terminating: false}}
- {addresses: [127.0.0.5], nodeName: n2, conditions: {ready: false, serving: true, terminating: true}}
ports: [{name: grpc, port: PORT, protocol: TCP}]
---
# An endpoint in two slices at once, as it is while Kubernetes moves it from one to the other.
apiVersion: v1
kind: Service
metadata: {name: moving, namespace: default}
spec: {clusterIP: 10.96.7.2, selector: {app: moving}, ports: [{name: grpc, port: 7070, targetPort: grpc}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: moving-1, namespace: default, labels: {kubernetes.io/service-name: moving}}
endpoints: [{addresses: [127.0.0.1], nodeName: n1, conditions: {ready: true}}]
ports: [{name: grpc, port: PORT, protocol: TCP}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: moving-2, namespace: default, labels: {kubernetes.io/service-name: moving}}
endpoints:
- {addresses: [127.0.0.1], nodeName: n1, conditions: {ready: true}}
- {addresses: [127.0.0.1], nodeName: n2, conditions: {ready: true}}
ports: [{name: grpc, port: PORT, protocol: TCP}]
---
# Both families.
apiVersion: v1
kind: Service
metadata: {name: dual, namespace: default}
spec:
  clusterIP: 10.96.7.3
  clusterIPs: [10.96.7.3, "fd00::3"]
  ipFamilies: [IPv4, IPv6]
  ipFamilyPolicy: RequireDualStack
  selector: {app: dual}
  ports: [{name: grpc, port: 7070, targetPort: grpc}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: dual-4, namespace: default, labels: {kubernetes.io/service-name: dual}}
endpoints: [{addresses: [127.0.0.1], conditions: {ready: true}}]
ports: [{name: grpc, port: PORT, protocol: TCP}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv6
metadata: {name: dual-6, namespace: default, labels: {kubernetes.io/service-name: dual}}
endpoints: [{addresses: ["fd00::33"], conditions: {ready: true}}]
ports: [{name: grpc, port: PORT, protocol: TCP}]
---
# Without an address, with affinity, and with ports of several kinds.
apiVersion: v1
kind: Service
metadata: {name: headless, namespace: default}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  sessionAffinity: ClientIP
  selector: {app: headless}
  ports:
  - {name: other, port: 7070, appProtocol: grpc, targetPort: grpc}
  - {name: http-admin, port: 65535, targetPort: grpc}
  - {name: tcp, port: 9000, targetPort: grpc}
  - {name: dns, port: 53, protocol: UDP}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: headless-1, namespace: default, labels: {kubernetes.io/service-name: headless}}
endpoints: [{addresses: [127.0.0.1], hostname: headless-0, conditions: {ready: true}}, {addresses: [127.0.0.2], conditions: {ready: false}}]
ports: [{name: other, port: PORT, protocol: TCP}, {name: http-admin, port: PORT, protocol: TCP}, {name: tcp, port: PORT, protocol: TCP}]
---
# A name that is that of its namespace, so that short names look like long ones.
apiVersion: v1
kind: Service
metadata: {name: default, namespace: default}
spec: {clusterIP: 10.96.7.4, selector: {app: default}, ports: [{name: grpc, port: 7070, targetPort: grpc}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: default-1, namespace: default, labels: {kubernetes.io/service-name: default}}
endpoints: [{addresses: [127.0.0.1], conditions: {ready: true}}]
ports: [{name: grpc, port: PORT, protocol: TCP}]
`

// Retries in all the words that Istio has for them; gRPC knows a few.
const shapesMesh = `
defaultHttpRetryPolicy: {attempts: 7, perTryTimeout: 20s, retryOn: "503,unavailable,gateway-error,connect-failure"}
`

// Whatever becomes of a service, clients of all implementations accept it and get an answer of the one endpoint that
// gives any.
func TestServicesOfAllShapes(t *testing.T) {
	eachProgram(t, func(t *testing.T, p program) {
		a := startBackend(t, "a")
		dir, mesh := t.TempDir(), t.TempDir()
		write(t, dir, "shapes.yaml", strings.ReplaceAll(shapes, "PORT", fmt.Sprint(a.port)))
		write(t, mesh, "mesh.yaml", shapesMesh)
		meshd := process.Start(t, "--dir="+dir, "--mesh-config="+mesh+"/mesh.yaml")
		meshd.WaitReady()
		c := startClient(t, p, meshd.Address("--grpc-addr"), proxyless)
		for _, target := range []string{
			"zones:7070", "moving:7070", "dual.default:7070", "headless.default.svc:7070", "headless:65535", "default:7070", "default.default:7070",
		} {
			c.waitAnsweredBy("xds:///"+target, "a")
			wantNoRefusals(t, meshd)
		}
	})
}
