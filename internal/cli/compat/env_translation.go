package compat

const (
	noSidecarKind = "Not yet in this version: Sidecar objects are not read; remove it."
	noServiceKind = "Not yet in this version: ServiceEntry and WorkloadEntry objects are not read; remove it."
	noRuleKind    = "Not yet in this version: DestinationRule objects are not read; remove it."
	defaultShape  = "Only istiod's default is generated; remove it."
)

// translationEnv are the variables that change what proxies are told about traffic.
func translationEnv() []Setting {
	return env(
		Setting{Name: "PILOT_HTTP10", Verdict: Refused, Accepts: as("false"), Note: "Not yet in this version: HTTP/1.0 is not accepted by listeners; remove it."},
		Setting{Name: "ENABLE_100_CONTINUE_HEADERS", Verdict: Refused, Accepts: as("true"), Note: defaultShape},
		Setting{Name: "PILOT_ENABLE_ALPN_FILTER", Verdict: Refused, Accepts: as("true"), Note: "Istio's proxies always get the ALPN filter, and others never do; remove it."},
		Setting{Name: "PILOT_DISABLE_MX_ALPN", Verdict: Refused, Accepts: as("false"), Note: defaultShape},
		Setting{Name: "PILOT_ENABLE_MONGO_FILTER", Verdict: Refused, Note: "Not yet in this version: Mongo ports are plain TCP to a proxy; remove it."},
		Setting{Name: "PILOT_ENABLE_MYSQL_FILTER", Verdict: Refused, Accepts: as("false"), Note: "Not yet in this version: MySQL ports are plain TCP to a proxy; remove it."},
		Setting{Name: "PILOT_ENABLE_REDIS_FILTER", Verdict: Refused, Accepts: as("false"), Note: "Not yet in this version: Redis ports are plain TCP to a proxy; remove it."},
		Setting{Name: "PILOT_SIDECAR_USE_REMOTE_ADDRESS", Verdict: Refused, Accepts: as("false"), Note: defaultShape},
		Setting{Name: "ENABLE_HCM_INTERNAL_NETWORKS", Verdict: Refused, Accepts: as("false"), Note: "Not yet in this version: mesh networks are not read; remove it."},
		Setting{Name: "HTTP_STRIP_FRAGMENT_FROM_PATH_UNSAFE_IF_DISABLED", Verdict: Refused, Accepts: as("true"), Note: "It belongs to the agent, which writes the proxy's bootstrap: set it there."},
		Setting{Name: "PILOT_ENABLE_ABSOLUTE_FQDN_VHOST_DOMAIN", Verdict: Refused, Accepts: as("true"), Note: defaultShape},
		Setting{Name: "PILOT_ENABLE_ROUTE_COLLAPSE_OPTIMIZATION", Verdict: Refused, Accepts: as("true"), Note: defaultShape},
		Setting{Name: "MAX_CONNECTIONS_PER_SOCKET_EVENT_LOOP", Verdict: Refused, Accepts: as("1"), Note: defaultShape},
		Setting{Name: "PILOT_ENABLE_EDS_FOR_HEADLESS_SERVICES", Verdict: Refused, Accepts: as("false"), Note: defaultShape},
		Setting{Name: "PILOT_ENABLE_HEADLESS_FILTER_CHAIN_LISTENER", Verdict: Refused, Accepts: as("false"), Note: defaultShape},
		Setting{Name: "PILOT_SEND_UNHEALTHY_ENDPOINTS", Verdict: Refused, Accepts: as("false"), Note: defaultShape},
		Setting{Name: "PILOT_AUTO_SEND_UNHEALTHY_ENDPOINTS", Verdict: Refused, Accepts: as("true"), Note: defaultShape},
		Setting{Name: "PILOT_DRAINING_LABEL", Verdict: Refused, Accepts: as("istio.io/draining"), Note: defaultShape},
		Setting{Name: "PILOT_ENABLE_PERSISTENT_SESSION_FILTER", Verdict: Refused, Accepts: as("false"), Note: "Not yet in this version: there are no persistent sessions; remove it."},
		Setting{Name: "PILOT_PERSISTENT_SESSION_LABEL", Verdict: Refused, Accepts: as("istio.io/persistent-session"), Note: "Not yet in this version: there are no persistent sessions; remove it."},
		Setting{Name: "PILOT_PERSISTENT_SESSION_HEADER_LABEL", Verdict: Refused, Accepts: as("istio.io/persistent-session-header"), Note: "Not yet in this version: there are no persistent sessions; remove it."},
		Setting{Name: "ISTIO_DUAL_STACK", Verdict: Honoured, As: "--dual-stack", Note: "The same."},
		Setting{Name: "ISTIO_ENABLE_IPV4_OUTBOUND_LISTENER_FOR_IPV6_CLUSTERS", Verdict: Refused, Accepts: as("false"), Note: defaultShape},
		Setting{Name: "PILOT_DNS_CARES_UDP_MAX_QUERIES", Verdict: Refused, Note: "Not yet in this version: the DNS resolver of a proxy is not configured; remove it."},
		Setting{Name: "PILOT_DNS_JITTER_DURATION", Verdict: Refused, Note: "Not yet in this version: the DNS resolver of a proxy is not configured; remove it."},
		Setting{Name: "PILOT_ALLOW_ANY_DYNAMIC_DNS_MAX_HOSTS", Verdict: Refused, Note: "Not yet in this version: traffic to unknown hosts passes through or is refused, and is never resolved; remove it."},
		Setting{Name: "PILOT_SIDECAR_PICK_BEST_SERVICE_NAMESPACE", Verdict: Refused, Accepts: as("true"), Note: noSidecarKind},
		Setting{Name: "ENABLE_LOCALITY_WEIGHTED_LB_CONFIG", Verdict: Refused, Accepts: as("false"), Note: "Only istiod's default is generated: requests are shared out among places where a service or the mesh config asks for it; remove it."},
		Setting{Name: "DISABLE_TRACK_REMAINING_CB_METRICS", Verdict: Refused, Accepts: as("true"), Note: defaultShape},
		Setting{Name: "DISABLE_SHADOW_HOST_SUFFIX", Verdict: Refused, Note: "Not yet in this version: requests are not mirrored; remove it."},

		Setting{Name: "ENABLE_TLS_ON_SIDECAR_INGRESS", Verdict: Refused, Accepts: as("false"), Note: noSidecarKind},
		Setting{Name: "PILOT_ALLOW_SIDECAR_SERVICE_INBOUND_LISTENER_MERGE", Verdict: Refused, Accepts: as("false"), Note: noSidecarKind},
		Setting{Name: "PILOT_UNIFIED_SIDECAR_SCOPE", Verdict: Refused, Note: noSidecarKind},
		Setting{Name: "ENABLE_ENHANCED_DESTINATIONRULE_MERGE", Verdict: Refused, Note: noRuleKind},
		Setting{Name: "PREFER_DESTINATIONRULE_TLS_FOR_EXTERNAL_SERVICES", Verdict: Refused, Note: noRuleKind},
		Setting{Name: "PILOT_ENABLE_SERVICEENTRY_SELECT_PODS", Verdict: Refused, Accepts: as("false"), Note: noServiceKind},
		Setting{Name: "PILOT_ENABLE_K8S_SELECT_WORKLOAD_ENTRIES", Verdict: Refused, Accepts: as("false"), Note: noServiceKind},
		Setting{Name: "PILOT_ENABLE_WORKLOAD_ENTRY_AUTOREGISTRATION", Verdict: Refused, Accepts: as("false"), Note: noServiceKind},
		Setting{Name: "PILOT_ENABLE_WORKLOAD_ENTRY_HEALTHCHECKS", Verdict: Refused, Accepts: as("false"), Note: noServiceKind},
		Setting{Name: "PILOT_WORKLOAD_ENTRY_GRACE_PERIOD", Verdict: Refused, Note: noServiceKind},
		Setting{Name: "PILOT_ENABLE_CROSS_CLUSTER_WORKLOAD_ENTRY", Verdict: Refused, Accepts: as("false"), Note: noServiceKind},
		Setting{Name: "ISTIO_WORKLOAD_ENTRY_VALIDATE_IDENTITY", Verdict: Refused, Note: noServiceKind},
		Setting{Name: "PILOT_ENABLE_IP_AUTOALLOCATE", Verdict: Refused, Accepts: as("false"), Note: noServiceKind},
		Setting{Name: "PILOT_IP_AUTOALLOCATE_IPV4_PREFIX", Verdict: Refused, Note: noServiceKind},
		Setting{Name: "PILOT_IP_AUTOALLOCATE_IPV6_PREFIX", Verdict: Refused, Note: noServiceKind},
		Setting{Name: "ENABLE_WILDCARD_HOST_SERVICE_ENTRIES_FOR_TLS", Verdict: Refused, Accepts: as("false"), Note: noServiceKind},
		Setting{Name: "LABEL_CANONICAL_SERVICES_FOR_MESH_EXTERNAL_SERVICE_ENTRIES", Verdict: Refused, Accepts: as("false"), Note: noServiceKind},
	)
}
