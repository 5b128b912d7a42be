package compat

const (
	noCluster = "Not yet in this version: meshd reads a directory (`--dir`), not a Kubernetes API server."
	noTLS     = "Not yet in this version: no port speaks TLS, so there is nothing for it to configure."
)

func flags() []Setting {
	all := []Setting{
		{Name: "--grpcAddr", Verdict: Honoured, As: "--grpc-addr", Note: "The same, and `:0` takes a free port."},
		{Name: "--httpAddr", Verdict: Honoured, As: "--http-addr", Note: "The same, and `:0` takes a free port."},
		{Name: "--monitoringAddr", Verdict: Honoured, As: "--monitoring-addr", Note: "The same, and `:0` takes a free port."},
		{Name: "--httpsAddr", Verdict: Refused, Accepts: []string{""},
			Note: "Not yet in this version: there are no webhooks to serve; leave it out or empty."},
		{Name: "--secureGRPCAddr", Verdict: Refused, Accepts: []string{""},
			Note: "Not yet in this version: use `--grpc-addr` on a network you trust, and leave this out or empty."},

		{Name: "--meshConfig", Verdict: Honoured, As: "--mesh-config",
			Note: "The same file; a file that is named and missing stops the start, where istiod would use its defaults."},
		{Name: "--domain", Verdict: Honoured, As: "--domain", Note: "The same."},
		{Name: "--clusterID", Verdict: Honoured, As: "--cluster-id", Note: "The same."},
		{Name: "--configDir", Verdict: Honoured, As: "--dir",
			Note: "The folder also stands in for the API server: Services, EndpointSlices and Pods are read from it too."},
		{Name: "--networksConfig", Verdict: Refused, Accepts: []string{""},
			Note: "Not yet in this version: mesh networks are not read, and every endpoint counts as reachable."},

		{Name: "--registries", Verdict: Refused, Accepts: []string{""}, Note: noCluster},
		{Name: "--kubeconfig", Verdict: Refused, Accepts: []string{""}, Note: noCluster},
		{Name: "--kubernetesApiQPS", Verdict: Refused, Note: noCluster},
		{Name: "--kubernetesApiBurst", Verdict: Refused, Note: noCluster},
		{Name: "--namespace", Verdict: Refused,
			Note: "Not yet in this version: the root namespace is `rootNamespace` of the mesh config, and nothing is written to meshd's own."},
		{Name: "-n", Verdict: Refused, Note: "Short for `--namespace`, and refused like it: set `rootNamespace` in the mesh config."},
		{Name: "--cniNamespace", Verdict: Refused, Note: "There is no node-untaint controller in this version; remove it."},
		{Name: "--clusterRegistriesNamespace", Verdict: Refused, Note: "Not yet in this version: there are no remote clusters; remove it."},
		{Name: "--clusterAliases", Verdict: Refused, Accepts: []string{""}, Note: "Not yet in this version: there is one cluster; name it with `--cluster-id`."},

		{Name: "--caCertFile", Verdict: Refused, Accepts: []string{""}, Note: noTLS},
		{Name: "--tlsCertFile", Verdict: Refused, Accepts: []string{""}, Note: noTLS},
		{Name: "--tlsKeyFile", Verdict: Refused, Accepts: []string{""}, Note: noTLS},
		{Name: "--tls-cipher-suites", Verdict: Refused, Accepts: []string{""}, Note: noTLS},
		{Name: "--tls-min-version", Verdict: Refused, Note: noTLS},

		{Name: "--keepaliveInterval", Verdict: Honoured, As: "--keepalive-interval",
			Note: "The same; clients may ask for a sign of life every 5 seconds, whatever it is."},
		{Name: "--keepaliveTimeout", Verdict: Honoured, As: "--keepalive-timeout", Note: "The same."},
		{Name: "--keepaliveMaxServerConnectionAge", Verdict: Honoured, As: "--max-connection-age",
			Note: "The same, give or take a tenth; streams are ended as unavailable, and then their connection."},
		{Name: "--shutdownDuration", Verdict: Refused,
			Note: "`--drain` is how long clients get to move; each step of the stop has a budget besides, which `meshd graph --stop` prints."},

		{Name: "--profile", Verdict: Honoured, Switch: true, As: "--profile",
			Note: "The same pages, but off unless it is set, where istiod has them on; guarded like the other debug pages."},
		{Name: "--ctrlz_port", Verdict: Refused,
			Note: "ControlZ does not exist: use the debug pages on `--monitoring-addr`; `istioctl admin log` works with `--ctrlz_port 15014`."},
		{Name: "--ctrlz_address", Verdict: Refused, Note: "ControlZ does not exist: use the debug pages on `--monitoring-addr`."},

		{Name: "--log_output_level", Verdict: Honoured, As: "--log-level",
			Note: "The same form; the names are those of meshd's components, not of istiod's scopes."},
		{Name: "--log_as_json", Verdict: Honoured, Switch: true, As: "--log-format=json", Note: "The fields are meshd's own."},
		{Name: "--log_target", Verdict: Refused, Accepts: []string{"stderr"}, Note: "The log goes to standard error: redirect that."},
		{Name: "--log_caller", Verdict: Refused, Accepts: []string{""},
			Note: "A line names its component, and a step of the start its place in the plan; remove it."},
		{Name: "--log_stacktrace_level", Verdict: Refused, Accepts: []string{"none", "default:none"},
			Note: "Only a panic is logged with its stack; remove it."},
	}
	for i := range all {
		all[i].Kind = Flag
	}
	return all
}
