package compat

const (
	noGateways   = "Not yet in this version: gateways are not served."
	noGatewayAPI = "Not yet in this version: the Gateway API is not read."
)

// gatewayEnv are the variables about ingress, egress and the Gateway API.
func gatewayEnv() []Setting {
	return env(
		Setting{Name: "PILOT_SCOPE_GATEWAY_TO_NAMESPACE", Verdict: Refused, Accepts: as("false"), Note: noGateways},
		Setting{Name: "PILOT_FILTER_GATEWAY_CLUSTER_CONFIG", Verdict: Refused, Accepts: as("false"), Note: noGateways},
		Setting{Name: "PILOT_ENABLE_QUIC_LISTENERS", Verdict: Refused, Accepts: as("false"), Note: noGateways},
		Setting{Name: "PILOT_ENABLE_STRICT_GATEWAY_MERGING", Verdict: Refused, Note: noGateways},
		Setting{Name: "PILOT_GATEWAY_TRANSPORT_SOCKET_CONNECT_TIMEOUT", Verdict: Refused, Note: noGateways},
		Setting{Name: "PILOT_ENABLE_AGENTGATEWAY", Verdict: Refused, Accepts: as("false"), Note: noGateways},

		Setting{Name: "PILOT_ENABLE_GATEWAY_API", Verdict: Refused, Accepts: as("false"), Note: noGatewayAPI},
		Setting{Name: "PILOT_ENABLE_ALPHA_GATEWAY_API", Verdict: Refused, Accepts: as("false"), Note: noGatewayAPI},
		Setting{Name: "PILOT_ENABLE_GATEWAY_API_STATUS", Verdict: Refused, Accepts: as("false"), Note: noGatewayAPI},
		Setting{Name: "PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER", Verdict: Refused, Accepts: as("false"), Note: noGatewayAPI},
		Setting{Name: "PILOT_ENABLE_GATEWAY_API_GATEWAYCLASS_CONTROLLER", Verdict: Refused, Accepts: as("false"), Note: noGatewayAPI},
		Setting{Name: "PILOT_ENABLE_GATEWAY_API_COPY_LABELS_ANNOTATIONS", Verdict: Refused, Accepts: as("false"), Note: noGatewayAPI},
		Setting{Name: "PILOT_GATEWAY_API_CONTROLLER_NAME", Verdict: Refused, Note: noGatewayAPI},
		Setting{Name: "PILOT_GATEWAY_API_DEFAULT_GATEWAYCLASS_NAME", Verdict: Refused, Note: noGatewayAPI},
		Setting{Name: "ENABLE_GATEWAY_API_MANUAL_DEPLOYMENT", Verdict: Refused, Accepts: as("false"), Note: noGatewayAPI},
		Setting{Name: "ENABLE_GATEWAY_API_INFERENCE_EXTENSION", Verdict: Refused, Accepts: as("false"), Note: noGatewayAPI},
		Setting{Name: "ENABLE_SELECTOR_BASED_K8S_GATEWAY_POLICY", Verdict: Refused, Note: noGatewayAPI},
	)
}
