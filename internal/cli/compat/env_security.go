package compat

const (
	noCA    = "Not yet in this version: there is no certificate authority; workloads need certificates from elsewhere."
	noAuthn = "Not yet in this version: clients are not authenticated; keep the port on a network you trust."
	noJWT   = "Not yet in this version: RequestAuthentication objects are not read; remove it."
)

// securityEnv are the variables about certificates, who may connect, and what proxies enforce.
func securityEnv() []Setting {
	return env(
		Setting{Name: "ENABLE_CA_SERVER", Verdict: Refused, Accepts: as("false"), Note: noCA},
		Setting{Name: "EXTERNAL_CA", Verdict: Refused, Note: noCA},
		Setting{Name: "K8S_SIGNER", Verdict: Refused, Note: noCA},
		Setting{Name: "CERT_SIGNER_DOMAIN", Verdict: Refused, Note: noCA},
		Setting{Name: "ROOT_CA_DIR", Verdict: Refused, Note: noCA},
		Setting{Name: "USE_REMOTE_CERTS", Verdict: Refused, Accepts: as("false"), Note: noCA},
		Setting{Name: "USE_CACERTS_FOR_SELF_SIGNED_CA", Verdict: Refused, Accepts: as("false"), Note: noCA},
		Setting{Name: "DEFAULT_WORKLOAD_CERT_TTL", Verdict: Refused, Note: noCA},
		Setting{Name: "MAX_WORKLOAD_CERT_TTL", Verdict: Refused, Note: noCA},
		Setting{Name: "CITADEL_SELF_SIGNED_CA_CERT_TTL", Verdict: Refused, Note: noCA},
		Setting{Name: "CITADEL_SELF_SIGNED_CA_RSA_KEY_SIZE", Verdict: Refused, Note: noCA},
		Setting{Name: "CITADEL_SELF_SIGNED_ROOT_CERT_CHECK_INTERVAL", Verdict: Refused, Note: noCA},
		Setting{Name: "CITADEL_SELF_SIGNED_ROOT_CERT_GRACE_PERIOD_PERCENTILE", Verdict: Refused, Note: noCA},
		Setting{Name: "CITADEL_ENABLE_JITTER_FOR_ROOT_CERT_ROTATOR", Verdict: Refused, Note: noCA},
		Setting{Name: "PILOT_CA_CERT_CONFIGMAP", Verdict: Refused, Note: noCA},
		Setting{Name: "PILOT_CRL_CONFIGMAP", Verdict: Refused, Note: noCA},
		Setting{Name: "PILOT_ENABLE_CA_CRL", Verdict: Refused, Accepts: as("false"), Note: noCA},
		Setting{Name: "ENABLE_CLUSTER_TRUST_BUNDLE_API", Verdict: Refused, Accepts: as("false"), Note: noCA},
		Setting{Name: "ISTIO_MULTIROOT_MESH", Verdict: Refused, Accepts: as("false"), Note: noCA},
		Setting{Name: "CA_TRUSTED_NODE_ACCOUNTS", Verdict: Accepted, Note: "Not yet in this version: nobody is issued a certificate, node proxies included."},
		Setting{Name: "PILOT_CERT_PROVIDER", Verdict: Refused, Accepts: as("istiod"),
			Note: "Not yet in this version: no port has a certificate for a provider to issue."},
		Setting{Name: "ISTIOD_CUSTOM_HOST", Verdict: Refused, Note: noTLS},

		Setting{Name: "XDS_AUTH", Verdict: Refused, Accepts: as("false"), Note: noAuthn},
		Setting{Name: "XDS_AUTH_PLAINTEXT", Verdict: Refused, Accepts: as("false"), Note: noAuthn},
		Setting{Name: "PILOT_ENABLE_XDS_IDENTITY_CHECK", Verdict: Refused, Accepts: as("false"), Note: noAuthn},
		Setting{Name: "ENABLE_DEBUG_ENDPOINT_AUTH", Verdict: Refused, Accepts: as("true"),
			Note: "Debug pages are never shown to who is not authenticated, which in this version is everybody but loopback; remove it."},
		Setting{Name: "DEBUG_ENDPOINT_AUTH_ALLOWED_NAMESPACES", Verdict: Refused,
			Note: "Not yet in this version: debug pages are for loopback only; forward the port (`kubectl port-forward`)."},
		Setting{Name: "ENABLE_XDS_API_GENERATOR_AUTH", Verdict: Refused, Note: "There is no `api` generator that hands out Istio's objects; remove it."},
		Setting{Name: "TRUSTED_GATEWAY_CIDR", Verdict: Refused, Note: noAuthn},
		Setting{Name: "TOKEN_AUDIENCES", Verdict: Refused, Note: noAuthn},
		Setting{Name: "TOKEN_ISSUER", Verdict: Refused, Note: noAuthn},
		Setting{Name: "AUDIENCE", Verdict: Accepted, Note: "It goes with `TOKEN_ISSUER`, and no tokens are checked in this version."},
		Setting{Name: "JWT_RULE", Verdict: Refused, Note: noAuthn},
		Setting{Name: "JWT_POLICY", Verdict: Refused, Note: "It belongs to the agent, and istiod does not read it any more: set it there."},

		Setting{Name: "PILOT_SKIP_VALIDATE_TRUST_DOMAIN", Verdict: Refused, Accepts: as("false"), Note: "List further domains as `trustDomainAliases` in the mesh config."},
		Setting{Name: "PILOT_ENABLE_MULTIPLE_CUSTOM_AUTHZ_PROVIDERS", Verdict: Refused, Accepts: as("false"), Note: "Not yet in this version: AuthorizationPolicy objects are not read; remove it."},
		Setting{Name: "PILOT_JWT_ENABLE_REMOTE_JWKS", Verdict: Refused, Note: noJWT},
		Setting{Name: "PILOT_JWT_PUB_KEY_REFRESH_INTERVAL", Verdict: Refused, Note: noJWT},
		Setting{Name: "JWKS_RESOLVER_INSECURE_SKIP_VERIFY", Verdict: Refused, Accepts: as("false"), Note: noJWT},
		Setting{Name: "BLOCKED_CIDRS_IN_JWKS_URIS", Verdict: Refused, Note: noJWT},
	)
}
