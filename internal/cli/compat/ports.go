package compat

func ports() []Setting {
	return []Setting{
		{Name: "8080", Kind: Port, Verdict: Honoured, As: "--http-addr",
			Note: "Health over plain HTTP, `/ready` where istiod's readiness probe looks for it; debug pages are on 15014 only."},
		{Name: "9876", Kind: Port, Verdict: Refused,
			Note: "ControlZ does not exist; its questions are answered by the debug pages of port 15014."},
		{Name: "15010", Kind: Port, Verdict: Honoured, As: "--grpc-addr",
			Note: "xDS over plaintext gRPC."},
		{Name: "15012", Kind: Port, Verdict: Refused,
			Note: "Not yet in this version: xDS and certificates over TLS come with the certificate authority; use 15010 on a network you trust."},
		{Name: "15014", Kind: Port, Verdict: Honoured, As: "--monitoring-addr",
			Note: "Metrics, `/ready`, `/version` and the debug pages; `meshd request` talks to it."},
		{Name: "15017", Kind: Port, Verdict: Refused,
			Note: "Not yet in this version: injection and validation webhooks need the Kubernetes source."},
	}
}
