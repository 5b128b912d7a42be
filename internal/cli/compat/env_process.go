package compat

// processEnv are the variables that say where the process runs, most of them set by Kubernetes, a chart or a shell.
func processEnv() []Setting {
	return env(
		Setting{Name: "CLUSTER_ID", Verdict: Honoured, As: "--cluster-id", Note: "The same."},
		Setting{Name: "GOMAXPROCS", Verdict: Honoured, As: "Go runtime", Note: "Read by the Go runtime."},
		Setting{Name: "GOMEMLIMIT", Verdict: Honoured, As: "Go runtime", Note: "Read by the Go runtime."},
		Setting{Name: "GODEBUG", Verdict: Honoured, As: "Go runtime", Note: "Read by the Go runtime."},

		Setting{Name: "POD_NAME", Verdict: Accepted, Note: "Nothing in this version is named after meshd's own pod."},
		Setting{Name: "POD_NAMESPACE", Verdict: Accepted, Note: "The root namespace is `rootNamespace` of the mesh config."},
		Setting{Name: "SERVICE_ACCOUNT", Verdict: Accepted, Note: "meshd has no identity of its own in this version."},
		Setting{Name: "REVISION", Verdict: Accepted, Note: "Not yet in this version: meshd serves every proxy, whatever its revision."},
		Setting{Name: "PLATFORM", Verdict: Accepted, Note: "It changes what istiod injects, and meshd injects nothing in this version."},
		Setting{Name: "CLOUD_PLATFORM", Verdict: Accepted, Note: "Localities come from the labels of the nodes only."},
		Setting{Name: "K_REVISION", Verdict: Accepted, Note: "meshd does not adapt to Knative."},
		Setting{Name: "KUBECONFIG", Verdict: Accepted, Note: noCluster},
		Setting{Name: "KUBERNETES_SERVICE_HOST", Verdict: Accepted, Note: noCluster},
		Setting{Name: "KUBERNETES_SERVICE_PORT", Verdict: Accepted, Note: noCluster},
		Setting{Name: "OTEL_TRACES_EXPORTER", Verdict: Honoured, As: "OpenTelemetry", Note: "As OpenTelemetry specifies it: `otlp` or `none`; others are refused."},
		Setting{Name: "OTEL_EXPORTER_OTLP_ENDPOINT", Verdict: Honoured, As: "OpenTelemetry", Note: "As OpenTelemetry specifies it; the flag goes before it. The traces are meshd's own: one for each push."},
		Setting{Name: "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", Verdict: Honoured, As: "OpenTelemetry", Note: "As OpenTelemetry specifies it; the flag goes before it. The traces are meshd's own: one for each push."},
		Setting{Name: "OTEL_EXPORTER_OTLP_PROTOCOL", Verdict: Honoured, As: "OpenTelemetry", Note: "As OpenTelemetry specifies it; the flag goes before it. The traces are meshd's own: one for each push."},
		Setting{Name: "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", Verdict: Honoured, As: "OpenTelemetry", Note: "As OpenTelemetry specifies it; the flag goes before it. The traces are meshd's own: one for each push."},

		Setting{Name: "SHARED_MESH_CONFIG", Verdict: Refused, Note: "One file is the whole mesh config: merge it into that of `--mesh-config`."},
		Setting{Name: "TRUST_DOMAIN", Verdict: Refused, Note: "The trust domain is `trustDomain` of the mesh config."},
		Setting{Name: "MUTEX_PROFILE_FRACTION", Verdict: Refused, Accepts: as("0"), Note: "Not yet in this version: there are no profiling pages; remove it."},
		Setting{Name: "METRICS_LOCALHOST_ACCESS_ONLY", Verdict: Refused, Accepts: as("false"),
			Note: "Bind the port to loopback instead: `--monitoring-addr 127.0.0.1:15014`."},
		Setting{Name: "ENABLE_DEBUG_ON_HTTP", Verdict: Refused, Accepts: as("true"),
			Note: "Debug pages are always on `--monitoring-addr`, for loopback only, and never on the health port; remove it."},
		Setting{Name: "UNSAFE_ENABLE_ADMIN_ENDPOINTS", Verdict: Refused, Accepts: as("false"), Note: "No debug page changes anything but log levels; remove it."},
		Setting{Name: "UNSAFE_PILOT_ENABLE_RUNTIME_ASSERTIONS", Verdict: Refused, Accepts: as("false"), Note: "meshd's checks are always on; remove it."},
		Setting{Name: "COMPLIANCE_POLICY", Verdict: Refused, Note: noTLS},
	)
}

// env marks settings as variables.
func env(all ...Setting) []Setting {
	for i := range all {
		all[i].Kind = Env
	}
	return all
}

// as lists the values that describe what meshd does anyway.
func as(values ...string) []string { return values }
