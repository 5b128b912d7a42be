package compat

const noWebhooks = "Not yet in this version: there are no webhooks."

// kubernetesEnv are the variables about what istiod reads from and writes to its own cluster.
func kubernetesEnv() []Setting {
	return env(
		Setting{Name: "ISTIO_WATCH_NAMESPACE", Verdict: Refused, Note: noCluster},
		Setting{Name: "ISTIO_KUBE_CLIENT_CONTENT_TYPE", Verdict: Refused, Note: noCluster},
		Setting{Name: "ENABLE_PROXY_FIND_POD_BY_IP", Verdict: Refused, Accepts: as("false"), Note: "A proxy is found by the pod name in its node id only; remove it."},
		Setting{Name: "ENABLE_LEADER_ELECTION", Verdict: Refused, Accepts: as("false"), Note: "Not yet in this version: nothing is written to a cluster, so no leader is needed."},
		Setting{Name: "PILOT_IGNORE_RESOURCES", Verdict: Refused, Note: "Kinds that meshd does not know are counted and skipped; leave the others out of the folder."},
		Setting{Name: "PILOT_INCLUDE_RESOURCES", Verdict: Refused, Note: "It narrows `PILOT_IGNORE_RESOURCES`, which is not read either; remove it."},
		Setting{Name: "PILOT_ENABLE_ANALYSIS", Verdict: Refused, Accepts: as("false"), Note: "Not yet in this version: run `istioctl analyze` instead."},
		Setting{Name: "PILOT_ANALYSIS_INTERVAL", Verdict: Refused, Note: "Not yet in this version: run `istioctl analyze` instead."},
		Setting{Name: "PILOT_STATUS_MAX_WORKERS", Verdict: Refused, Note: "Not yet in this version: no status is written; remove it."},
		Setting{Name: "PILOT_ENABLE_NODE_UNTAINT_CONTROLLERS", Verdict: Refused, Accepts: as("false"), Note: "There is no node-untaint controller in this version; remove it."},
		Setting{Name: "PILOT_NODE_UNTAINT_CONTROLLERS_TAINT_NAME", Verdict: Refused, Note: "There is no node-untaint controller in this version; remove it."},
		Setting{Name: "K8S_INGRESS_NS", Verdict: Refused, Note: "Not yet in this version: Ingress objects are not read; remove it."},

		Setting{Name: "INJECT_ENABLED", Verdict: Refused, Accepts: as("false"), Note: noWebhooks + " Inject with `istioctl kube-inject` meanwhile."},
		Setting{Name: "INJECTION_WEBHOOK_CONFIG_NAME", Verdict: Refused, Note: noWebhooks + " Remove it."},
		Setting{Name: "VALIDATION_WEBHOOK_CONFIG_NAME", Verdict: Refused, Note: noWebhooks + " Remove it."},
		Setting{Name: "ENABLE_NATIVE_SIDECARS", Verdict: Refused, Note: noWebhooks + " Remove it."},
	)
}
