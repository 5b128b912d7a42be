// Package manifests generates the folder of a mesh of any size, for benches and for tests at scale.
package manifests

import (
	"fmt"
	"strings"
)

// Service is a Kubernetes service with its endpoint slice. What is not given here follows from its number.
type Service struct {
	// Number tells services apart; at most 60,000 in a mesh.
	Number int
	// Namespaces is over how many namespaces the services of the mesh are spread, in turn.
	Namespaces int
	// Endpoints is how many addresses the slice has, at most 40.
	Endpoints int
	// HTTPOnly leaves out the TCP port. Such a service needs no listener of its own.
	HTTPOnly bool
	// App is what its selector asks for; by default, which is its name, the workload that Pod describes.
	App string
	// Moved changes the addresses of the slice: it is as if all pods had been replaced that often.
	Moved int
}

// The ports that a generated service has.
const (
	HTTPPort = 80
	TCPPort  = 9000
)

// Namespace is where the service lives.
func (s Service) Namespace() string { return namespace(s.Number, s.Namespaces) }

// Name is its name.
func (s Service) Name() string { return fmt.Sprintf("svc-%d", s.Number) }

// Host is its name in DNS.
func (s Service) Host() string { return s.Name() + "." + s.Namespace() + ".svc.cluster.local" }

// Address is its cluster IP.
func (s Service) Address() string {
	return fmt.Sprintf("10.96.%d.%d", s.Number/250, s.Number%250+1)
}

// Cluster is the name that proxies know a port of it by, for calls to it.
func (s Service) Cluster(port int) string { return fmt.Sprintf("outbound|%d||%s", port, s.Host()) }

// YAML is the manifest.
func (s Service) YAML() string {
	var b strings.Builder
	app := s.App
	if app == "" {
		app = s.Name()
	}
	fmt.Fprintf(&b, `apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  clusterIP: %[3]s
  clusterIPs: [%[3]s]
  selector: {app: %[4]s}
  ports:
  - {name: http, port: %[5]d, targetPort: 8080}
`, s.Name(), s.Namespace(), s.Address(), app, HTTPPort)
	if !s.HTTPOnly {
		fmt.Fprintf(&b, "  - {name: tcp, port: %d}\n", TCPPort)
	}
	fmt.Fprintf(&b, `---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: %[1]s-a, namespace: %[2]s, labels: {kubernetes.io/service-name: %[1]s}}
ports:
- {name: http, port: 8080, protocol: TCP}
`, s.Name(), s.Namespace())
	if !s.HTTPOnly {
		fmt.Fprintf(&b, "- {name: tcp, port: %d, protocol: TCP}\n", TCPPort)
	}
	if s.Endpoints > 0 {
		b.WriteString("endpoints:\n")
	}
	for i := range s.Endpoints {
		// A block of its own for each service and each replacement, so that no address is that of two pods.
		fmt.Fprintf(&b, "- {addresses: [10.%d.%d.%d], conditions: {ready: true}}\n", 128+40*(s.Moved%3)+i, s.Number/250, s.Number%250+1)
	}
	return b.String()
}

// Write puts the manifest into a folder, in a file of its own, all at once.
func (s Service) Write(dir string) error { return write(dir, s.Name(), s.YAML()) }

// Remove takes the manifest out of a folder.
func (s Service) Remove(dir string) error { return remove(dir, s.Name()) }

// Mesh is a number of services that are alike.
type Mesh struct{ Services, Namespaces, Endpoints int }

// Service gives one service of the mesh; numbers beyond Services are those of services that are still to come.
func (m Mesh) Service(number int) Service {
	return Service{Number: number, Namespaces: m.Namespaces, Endpoints: m.Endpoints}
}

// Write puts the whole mesh into a folder, a file for each service.
func (m Mesh) Write(dir string) error {
	for i := range m.Services {
		if err := m.Service(i).Write(dir); err != nil {
			return err
		}
	}
	return nil
}
