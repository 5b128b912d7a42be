package compat

const noRemotes = "Not yet in this version: there are no remote clusters; remove it."

// multiclusterEnv are the variables about more than one cluster, and about istiod outside the one it serves.
func multiclusterEnv() []Setting {
	return env(
		Setting{Name: "EXTERNAL_ISTIOD", Verdict: Refused, Accepts: as("false"), Note: noRemotes},
		Setting{Name: "LOCAL_CLUSTER_SECRET_WATCHER", Verdict: Refused, Accepts: as("false"), Note: noRemotes},
		Setting{Name: "PILOT_REMOTE_CLUSTER_TIMEOUT", Verdict: Refused, Note: noRemotes},
		Setting{Name: "PILOT_MULTICLUSTER_KUBECONFIG_PATH", Verdict: Refused, Note: noRemotes},
		Setting{Name: "PILOT_INSECURE_MULTICLUSTER_KUBECONFIG_OPTIONS", Verdict: Refused, Note: noRemotes},
		Setting{Name: "PILOT_ENABLE_REMOTE_CREDENTIALS_CONTROLLER", Verdict: Refused, Accepts: as("false"), Note: noRemotes},
		Setting{Name: "PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API", Verdict: Refused, Accepts: as("false"), Note: noRemotes},
		Setting{Name: "RESOLVE_HOSTNAME_GATEWAYS", Verdict: Refused, Accepts: as("false"), Note: noRemotes},
		Setting{Name: "ENABLE_MULTICLUSTER_HEADLESS", Verdict: Refused, Note: noRemotes},
		Setting{Name: "MCS_API_GROUP", Verdict: Refused, Note: noRemotes},
		Setting{Name: "MCS_API_VERSION", Verdict: Refused, Note: noRemotes},
		Setting{Name: "ENABLE_MCS_AUTO_EXPORT", Verdict: Refused, Accepts: as("false"), Note: noRemotes},
		Setting{Name: "ENABLE_MCS_SERVICE_DISCOVERY", Verdict: Refused, Accepts: as("false"), Note: noRemotes},
		Setting{Name: "ENABLE_MCS_HOST", Verdict: Refused, Accepts: as("false"), Note: noRemotes},
		Setting{Name: "ENABLE_MCS_CLUSTER_LOCAL", Verdict: Refused, Accepts: as("false"), Note: noRemotes},
	)
}
