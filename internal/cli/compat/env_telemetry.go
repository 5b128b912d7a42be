package compat

const noWasm = "Not yet in this version: there are no Wasm extensions; remove it."

// telemetryEnv are the variables about metrics, traces and extensions of proxies.
func telemetryEnv() []Setting {
	return env(
		Setting{Name: "PILOT_TRACE_SAMPLING", Verdict: Refused, Note: "Sampling is `defaultConfig.tracing.sampling` of the mesh config."},
		Setting{Name: "PILOT_ENABLE_TELEMETRY_LABEL", Verdict: Refused, Accepts: as("true"), Note: defaultShape},
		Setting{Name: "PILOT_ENDPOINT_TELEMETRY_LABEL", Verdict: Refused, Accepts: as("true"), Note: defaultShape},
		Setting{Name: "PILOT_ENABLE_METADATA_EXCHANGE", Verdict: Refused, Accepts: as("true"), Note: "Istio's proxies always get the metadata exchange filters, and others never do; remove it."},
		Setting{Name: "PILOT_MX_ADDITIONAL_LABELS", Verdict: Refused, Note: "Not yet in this version: only istiod's own list of labels is exchanged; remove it."},
		Setting{Name: "PILOT_AGENT_MERGE_ENVOY_STATS", Verdict: Refused, Note: "It belongs to the agent, which merges the metrics: set it there."},
		Setting{Name: "ENVOY_STATUS_PORT_ENABLE_PROXY_PROTOCOL", Verdict: Refused, Accepts: as("false"), Note: "It belongs to the agent, which writes the proxy's bootstrap: set it there."},
		Setting{Name: "PILOT_ENVOY_FILTER_STATS", Verdict: Refused, Accepts: as("false"), Note: "Not yet in this version: EnvoyFilter objects are not read; remove it."},
		Setting{Name: "ISTIO_ENABLE_CONTROLLER_QUEUE_METRICS", Verdict: Refused, Accepts: as("false"), Note: "There are no controller queues to measure; remove it."},
		Setting{Name: "ISTIO_AGENT_ENABLE_WASM_REMOTE_LOAD_CONVERSION", Verdict: Refused, Note: noWasm},
		Setting{Name: "ISTIO_WASM_MAX_BINARY_SIZE_BYTES", Verdict: Refused, Note: noWasm},
		Setting{Name: "BLOCKED_CIDRS_IN_WASM_FETCH", Verdict: Refused, Note: noWasm},
	)
}
