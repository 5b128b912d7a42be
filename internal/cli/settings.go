package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/meshd/meshd/internal/cli/compat"
	"github.com/meshd/meshd/internal/logging"
	"github.com/meshd/meshd/internal/modules"
	"github.com/meshd/meshd/internal/tracing"
)

// settings are the flags of `meshd discovery`. `meshd graph` takes them too, because they decide what is in the graph.
type settings struct {
	options             modules.Options
	logLevel, logFormat string
}

// addTo declares the flags. Each has an environment variable, which its usage names; a flag goes before a variable,
// and meshd's variable before istiod's.
func (s *settings) addTo(flags *pflag.FlagSet) {
	o := &s.options
	flags.StringVar(&o.Dir, "dir", "", "directory of YAML manifests to serve, watched for changes")
	flags.StringVar(&o.MeshConfig, "mesh-config", "", "file with Istio's MeshConfig, watched for changes (default: Istio's defaults)")
	flags.StringVar(&o.GRPCAddr, "grpc-addr", ":15010", "address of plaintext xDS; empty switches it off")
	flags.StringVar(&o.HTTPAddr, "http-addr", ":8080", "address of /ready, /readyz, /livez and /version")
	flags.StringVar(&o.MonitoringAddr, "monitoring-addr", ":15014", "address of /metrics and /debug/, beside what --http-addr has")
	flags.StringVar(&o.AddressesFile, "addresses-file", "", "file to write the bound addresses to, as JSON by flag; of use with port 0")
	flags.StringVar(&o.Domain, "domain", "cluster.local", "DNS domain of the cluster")
	flags.BoolVar(&o.DualStack, "dual-stack", false, "proxies and endpoints of both address families use both")
	flags.StringVar(&o.ClusterID, "cluster-id", "Kubernetes", "id of the cluster that the endpoints belong to")
	flags.DurationVar(&o.DebounceAfter, "debounce-after", 100*time.Millisecond, "quiet time before changes are compiled and pushed")
	flags.DurationVar(&o.DebounceMax, "debounce-max", 10*time.Second, "longest time that changes wait to be compiled")
	flags.DurationVar(&o.EndpointDebounceAfter, "endpoint-debounce-after", 10*time.Millisecond, "the same as --debounce-after, for changes of endpoints alone")
	flags.DurationVar(&o.EndpointDebounceMax, "endpoint-debounce-max", 100*time.Millisecond, "the same as --debounce-max, for changes of endpoints alone")
	flags.DurationVar(&o.Drain, "drain", 10*time.Second, "time for clients to move to another replica when the process stops; 55s at the most")
	flags.IntVar(&o.Admission.Total, "max-streams", 100_000, "streams there may be, those that wait included; 0 is no limit")
	flags.IntVar(&o.Admission.PerSource, "max-streams-per-source", 10_000, "streams there may be from one address; 0 is no limit")
	flags.Uint32Var(&o.Connections.Streams, "max-streams-per-connection", 1000, "streams that a client may have open at a time on one connection; 0 is no limit")
	flags.Float64Var(&o.Admission.PerSecond, "max-stream-rate", 0, "new streams that are served in a second, while the others wait; 0 is as many as the machine can")
	flags.DurationVar(&o.Admission.MaxAge, "max-connection-age", 0, "time after which a client has to connect anew, give or take a tenth; 0 is never")
	flags.DurationVar(&o.Connections.Interval, "keepalive-interval", 30*time.Second, "time without a sign of life after which a client is asked for one; at least 1s")
	flags.DurationVar(&o.Connections.Timeout, "keepalive-timeout", 10*time.Second, "time that it has to give one before its connection is closed; at least 1s")
	flags.IntVar(&o.Connections.RequestSize, "max-request-size", 16<<20, "largest request of a client, in bytes; at least 65536")
	flags.StringVar(&o.TraceEndpoint, "trace-endpoint", "", "URL of an OTLP collector to send traces of pushes to, for example http://collector:4318 (default: that of OpenTelemetry's variables, or none)")
	flags.StringVar((*string)(&o.TraceProtocol), "trace-protocol", "", "how: grpc or http/protobuf (default: that of OpenTelemetry's variables, or http/protobuf)")
	flags.BoolVar(&o.Profile, "profile", false, "serve profiles of the Go runtime below /debug/pprof/ of --monitoring-addr")
	flags.StringVar(&s.logLevel, "log-level", "info", "least level to log: debug, info, warn, error; for single components as in xds=debug,default=info")
	flags.StringVar(&s.logFormat, "log-format", "text", "form of the log: text or json")
	flags.VisitAll(func(f *pflag.Flag) { f.Usage += " (env " + envName(f.Name) + ")" })
}

const envPrefix = "MESHD_"

func envName(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnviron sets the flags that were not given from the environment. Variables that nobody reads are errors: a
// setting that is silently ignored is worse than one that is refused.
func (s *settings) fromEnviron(flags *pflag.FlagSet, environ []string) error {
	values := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	var errs []error
	known, istiods := map[string]bool{}, compat.EnvByFlag()
	s.visit(flags, func(f *pflag.Flag) {
		names := append([]string{envName(f.Name)}, istiods["--"+f.Name]...)
		known[names[0]] = true
		if f.Changed {
			return
		}
		for _, name := range names {
			value, ok := values[name]
			if !ok || value == "" && name != names[0] {
				continue
			}
			if err := f.Value.Set(value); err != nil {
				errs = append(errs, fmt.Errorf("environment variable %s=%q: %w", name, value, err))
			}
			return
		}
	})
	for name := range values {
		if strings.HasPrefix(name, envPrefix) && !known[name] && !compat.ServiceLink(name) {
			errs = append(errs, fmt.Errorf("environment variable %s is set, but meshd has no flag --%s", name,
				strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, envPrefix), "_", "-"))))
		}
	}
	if err := s.traces(values); err != nil {
		errs = append(errs, err)
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(append(errs, compat.CheckEnv(environ)...)...)
}

// visit calls f for the flags of addTo, and not for those that a command has besides.
func (s *settings) visit(flags *pflag.FlagSet, f func(*pflag.Flag)) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&settings{}).addTo(own)
	own.VisitAll(func(o *pflag.Flag) {
		if flag := flags.Lookup(o.Name); flag != nil {
			f(flag)
		}
	})
}

// validate finds everything that is wrong with the settings, before anything is built.
func (s *settings) validate() error {
	o := s.options
	var errs []error
	bad := func(flag, format string, args ...any) {
		errs = append(errs, fmt.Errorf("--%s: %s", flag, fmt.Sprintf(format, args...)))
	}
	if o.Dir == "" {
		bad("dir", "no source of configuration is given; name a directory of manifests, for example --dir deploy/samples/shop")
	}
	if o.AddressesFile != "" {
		if info, err := os.Stat(filepath.Dir(o.AddressesFile)); err != nil || !info.IsDir() {
			bad("addresses-file", "%s is not in a directory that exists", o.AddressesFile)
		}
	}
	addresses := map[string]string{}
	for _, a := range []struct{ flag, value string }{{"grpc-addr", o.GRPCAddr}, {"http-addr", o.HTTPAddr}, {"monitoring-addr", o.MonitoringAddr}} {
		if a.value == "" && a.flag == "grpc-addr" {
			continue
		}
		port, err := checkAddress(a.value)
		switch {
		case err != nil:
			bad(a.flag, "%v", err)
		case port != 0 && addresses[a.value] != "":
			bad(a.flag, "%s is the address of --%s already", a.value, addresses[a.value])
		}
		addresses[a.value] = a.flag
	}
	if !isDomain(o.Domain) {
		bad("domain", "%q is not a DNS domain", o.Domain)
	}
	if o.ClusterID == "" {
		bad("cluster-id", "must not be empty")
	}
	for _, d := range []struct {
		quiet, longest         string
		quietValue, longestVal time.Duration
	}{
		{"debounce-after", "debounce-max", o.DebounceAfter, o.DebounceMax},
		{"endpoint-debounce-after", "endpoint-debounce-max", o.EndpointDebounceAfter, o.EndpointDebounceMax},
	} {
		switch {
		case d.quietValue < 0:
			bad(d.quiet, "%s is negative", d.quietValue)
		case d.longestVal > modules.MaxDebounce:
			bad(d.longest, "%s is more than %s: a start does not wait longer for its first snapshot", d.longestVal, modules.MaxDebounce)
		case d.longestVal < d.quietValue:
			bad(d.longest, "%s is less than --%s %s", d.longestVal, d.quiet, d.quietValue)
		}
	}
	if o.Drain < 0 || o.Drain > modules.MaxDrain {
		bad("drain", "%s is not between 0s and %s", o.Drain, modules.MaxDrain)
	}
	s.validateStreams(bad)
	if levels, err := logging.ParseLevels(s.logLevel); err != nil {
		bad("log-level", "%v", err)
	} else if _, err := logging.NewControl(levels, s.loggers()); err != nil {
		bad("log-level", "%v", err)
	}
	if err := tracing.CheckEndpoint(o.TraceEndpoint); err != nil && o.TraceEndpoint != "" {
		bad("trace-endpoint", "%v", err)
	}
	if _, err := tracing.ParseProtocol(string(o.TraceProtocol)); err != nil {
		bad("trace-protocol", "%v", err)
	}
	if _, err := logging.ParseFormat(s.logFormat); err != nil {
		bad("log-format", "%v", err)
	}
	return errors.Join(errs...)
}

// validateStreams finds what is wrong with the limits of streams and connections.
func (s *settings) validateStreams(bad func(flag, format string, args ...any)) {
	limits, connections := s.options.Admission, s.options.Connections
	for _, limit := range []struct {
		flag  string
		value int
	}{{"max-streams", limits.Total}, {"max-streams-per-source", limits.PerSource}} {
		if limit.value < 0 {
			bad(limit.flag, "%d is negative", limit.value)
		}
	}
	if rate := limits.PerSecond; !(rate >= 0) || rate > maxRate {
		bad("max-stream-rate", "%v is not between 0 and %v", rate, float64(maxRate))
	}
	if limits.MaxAge < 0 {
		bad("max-connection-age", "%s is negative", limits.MaxAge)
	}
	for _, quiet := range []struct {
		flag  string
		value time.Duration
	}{{"keepalive-interval", connections.Interval}, {"keepalive-timeout", connections.Timeout}} {
		if quiet.value < time.Second {
			bad(quiet.flag, "%s is less than 1s", quiet.value)
		}
	}
	if connections.RequestSize < minRequest {
		bad("max-request-size", "%d is less than %d bytes", connections.RequestSize, minRequest)
	}
}

const (
	// maxRate is more streams a second than any machine serves.
	maxRate = 1_000_000
	// minRequest holds what any proxy says of itself, in bytes.
	minRequest = 64 << 10
)

// loggers lists the names under which lines are logged: those of the components, and of the libraries.
func (s *settings) loggers() []string {
	names := []string{logging.GRPC, logging.Klog, logging.Standard, lifecycleLogger}
	for _, c := range modules.All(s.options) {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}

// checkAddress reads HOST:PORT, where the host may be empty, and gives the port.
func checkAddress(address string) (int, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, fmt.Errorf("%q is not an address: want HOST:PORT or :PORT", address)
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 0 || n > 65535 {
		return 0, fmt.Errorf("%q has no port between 0 and 65535", address)
	}
	return n, nil
}

func isDomain(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}
