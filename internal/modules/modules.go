// Package modules is the assembly: which components meshd consists of, and what each of them takes and gives.
//
// There is one file for each component, and nothing else. The order of start and stop is written nowhere here: it
// follows from the parameters of the constructors, the tags of their steps, and the phases (see docs/ordering.md).
package modules

import (
	"time"

	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/logging"
	"github.com/meshd/meshd/internal/tracing"
	"github.com/meshd/meshd/internal/xds/admission"
)

// Options are the settings of `meshd discovery`, validated. They decide which components there are.
type Options struct {
	// Dir is the directory of manifests that stands in for the API server.
	Dir string
	// MeshConfig is the file of the mesh config; none if empty.
	MeshConfig string
	// GRPCAddr is the address of the plaintext port; empty switches it off.
	GRPCAddr string
	// HTTPAddr is the address of the health port.
	HTTPAddr string
	// MonitoringAddr is the address of metrics and debug pages.
	MonitoringAddr string
	// AddressesFile receives the bound addresses as JSON; none if empty.
	AddressesFile string
	// Domain is the cluster's DNS domain.
	Domain string
	// ClusterID is the id of the cluster that endpoints belong to.
	ClusterID string
	// DualStack makes proxies and endpoints of both address families use both.
	DualStack bool
	// DebounceAfter and DebounceMax are the quiet time and the longest wait before changes are compiled.
	DebounceAfter, DebounceMax time.Duration
	// EndpointDebounceAfter and EndpointDebounceMax are the same for changes of endpoints alone.
	EndpointDebounceAfter, EndpointDebounceMax time.Duration
	// Drain is how long streams are given to move when the process stops.
	Drain time.Duration
	// Admission are the limits of streams, Connections those of the connections that carry them.
	Admission   admission.Options
	Connections admission.Connections
	// Log is the process's logger, and Levels what it logs of each component.
	Log    *zap.Logger
	Levels *logging.Control
	// TraceEndpoint is the URL of the collector that traces go to; empty switches them off. TraceProtocol is how.
	TraceEndpoint string
	TraceProtocol tracing.Protocol
	// Profile serves the profiles of the Go runtime on the monitoring port.
	Profile bool
}

// All lists the components for some options, in the order of their data path; nothing depends on this order.
func All(o Options) []lifecycle.Component {
	components := []lifecycle.Component{
		settings(o), environment(), meshConfig(), source(), generators(), snapshots(), connections(), discovery(), debugPages(),
		readinessProbes(), adminPorts(), observation(), memoryReturn(), listeners(o),
	}
	if o.GRPCAddr != "" {
		components = append(components, plaintextGRPC())
	}
	if o.TraceEndpoint != "" {
		components = append(components, traces())
	}
	return components
}

// Variant is one combination of the options that decide which components there are.
type Variant struct {
	// Name lists the combination, for example "source=directory,plaintext=on".
	Name    string
	Options Options
}

// Variants lists every combination that exists, for `meshd graph verify` and the lock file.
func Variants() []Variant {
	const collector = "http://127.0.0.1:4318"
	return []Variant{
		{Name: "source=directory,plaintext=on,traces=off", Options: Options{Dir: ".", GRPCAddr: ":15010"}},
		{Name: "source=directory,plaintext=off,traces=off", Options: Options{Dir: "."}},
		{Name: "source=directory,plaintext=on,traces=on",
			Options: Options{Dir: ".", GRPCAddr: ":15010", TraceEndpoint: collector, TraceProtocol: tracing.HTTP}},
		{Name: "source=directory,plaintext=off,traces=on",
			Options: Options{Dir: ".", TraceEndpoint: collector, TraceProtocol: tracing.HTTP}},
	}
}
