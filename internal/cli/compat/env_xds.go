package compat

const oneCopy = "There is no cache to tune: a resource is made and serialised once for the whole mesh, and kept while a proxy has it."

// xdsEnv are the variables about streams, pushes and what is kept between them.
func xdsEnv() []Setting {
	return env(
		Setting{Name: "PILOT_DEBOUNCE_AFTER", Verdict: Honoured, As: "--debounce-after", Note: "The same, for everything but endpoints."},
		Setting{Name: "PILOT_DEBOUNCE_MAX", Verdict: Honoured, As: "--debounce-max", Note: "The same, for everything but endpoints."},
		Setting{Name: "PILOT_ENABLE_EDS_DEBOUNCE", Verdict: Refused,
			Note: "Endpoints never wait for other changes: their own window is `--endpoint-debounce-after` and `--endpoint-debounce-max`."},

		Setting{Name: "PILOT_PUSH_THROTTLE", Verdict: Refused, Accepts: as("0"),
			Note: "A push hands out bytes that exist already, so nothing has to be held back; remove it."},
		Setting{Name: "PILOT_MAX_REQUESTS_PER_SECOND", Verdict: Honoured, As: "--max-stream-rate",
			Note: "Streams beyond it wait in order of arrival, where istiod refuses them after a second; 0 is as many as the machine serves."},
		Setting{Name: "ISTIO_GPRC_MAXSTREAMS", Verdict: Honoured, As: "--max-streams-per-connection",
			Note: "The same; `--max-streams` and `--max-streams-per-source` limit them over all connections."},
		Setting{Name: "ISTIO_GPRC_MAXRECVMSGSIZE", Verdict: Honoured, As: "--max-request-size", Note: "The same; the default is 16 MiB, not 4."},
		Setting{Name: "GRPC_KEEPALIVE_INTERVAL", Verdict: Honoured, As: "--keepalive-interval",
			Note: "The same; clients may ask for a sign of life every 5 seconds, whatever it is."},
		Setting{Name: "GRPC_KEEPALIVE_TIMEOUT", Verdict: Honoured, As: "--keepalive-timeout", Note: "The same."},
		Setting{Name: "ISTIO_DELTA_XDS", Verdict: Refused, Accepts: as("true", "false"),
			Note: "Both protocols are always served and the agent chooses: set it there."},

		Setting{Name: "PILOT_ENABLE_XDS_CACHE", Verdict: Refused, Accepts: as("true"), Note: oneCopy},
		Setting{Name: "PILOT_ENABLE_CDS_CACHE", Verdict: Refused, Accepts: as("true"), Note: oneCopy},
		Setting{Name: "PILOT_ENABLE_RDS_CACHE", Verdict: Refused, Accepts: as("true"), Note: oneCopy},
		Setting{Name: "PILOT_XDS_CACHE_SIZE", Verdict: Refused, Note: oneCopy},
		Setting{Name: "PILOT_XDS_CACHE_INDEX_CLEAR_INTERVAL", Verdict: Refused, Note: oneCopy},
		Setting{Name: "PILOT_XDS_CACHE_STATS", Verdict: Refused, Accepts: as("false"), Note: oneCopy},
		Setting{Name: "ENABLE_VTPROTOBUF", Verdict: Refused,
			Note: "How meshd serialises is not a setting; remove it."},
		Setting{Name: "PILOT_CONVERT_SIDECAR_SCOPE_CONCURRENCY", Verdict: Refused, Note: "Scopes are computed when a class of proxies needs them; remove it."},
		Setting{Name: "ENABLE_LAZY_SIDECAR_EVALUATION", Verdict: Refused, Accepts: as("true"), Note: "Only what a connected proxy needs is computed."},
	)
}
