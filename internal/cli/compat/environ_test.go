package compat

import (
	"strings"
	"testing"
)

func TestCheckEnv(t *testing.T) {
	for _, tc := range []struct {
		name    string
		environ []string
		want    []string // beginnings, in order
	}{
		{"nothing of istiod", []string{"HOME=/root", "PATH=/bin", "=odd", "odd"}, nil},
		{"honoured", []string{"PILOT_DEBOUNCE_AFTER=1s", "CLUSTER_ID=c1"}, nil},
		{"accepted", []string{"POD_NAME=istiod-1", "REVISION=canary"}, nil},
		{"what meshd does anyway", []string{"PILOT_HTTP10=false", "PILOT_ENABLE_ALPN_FILTER=1", "PILOT_PUSH_THROTTLE=0.0"}, nil},
		{"empty is not set", []string{"PILOT_HTTP10=", "PILOT_NONSENSE="}, nil},
		{"the last of two wins", []string{"PILOT_HTTP10=true", "PILOT_HTTP10=false"}, nil},
		{"service links of a service named pilot", []string{
			"PILOT_SERVICE_HOST=10.0.0.1", "PILOT_SERVICE_PORT=80", "PILOT_SERVICE_PORT_HTTP=80", "PILOT_PORT=tcp://10.0.0.1:80",
			"PILOT_PORT_80_TCP=tcp://10.0.0.1:80", "PILOT_PORT_80_TCP_ADDR=10.0.0.1", "PILOT_OTHER_PORT_80_UDP_PROTO=udp"}, nil},
		{"refused, sorted", []string{"PILOT_HTTP10=true", "EXTERNAL_CA=x", "PILOT_ENABLE_EDS_DEBOUNCE=true"}, []string{
			"EXTERNAL_CA is set: meshd does not read it: ",
			"PILOT_ENABLE_EDS_DEBOUNCE is set: meshd does not read it: ",
			"PILOT_HTTP10 is set: meshd does not read it: "}},
		{"unknown", []string{"PILOT_NONSENSE=1"}, []string{"PILOT_NONSENSE is set: unknown to meshd and to istiod " + Line}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := CheckEnv(tc.environ)
			if len(got) != len(tc.want) {
				t.Fatalf("got %d errors, want %d: %v", len(got), len(tc.want), got)
			}
			for i := range got {
				if !strings.HasPrefix(got[i].Error(), tc.want[i]) {
					t.Errorf("error %d is %q, want it to begin with %q", i, got[i], tc.want[i])
				}
			}
		})
	}
}

func TestNotes(t *testing.T) {
	got := Notes([]string{"POD_NAME=a", "KUBECONFIG=/k", "PILOT_HTTP10=true", "CLUSTER_ID=c", "SERVICE_ACCOUNT="})
	if len(got) != 2 || !strings.HasPrefix(got[0], "KUBECONFIG is set and changes nothing: ") || !strings.HasPrefix(got[1], "POD_NAME ") {
		t.Errorf("got %q", got)
	}
}

func TestServiceLink(t *testing.T) {
	for name, want := range map[string]bool{
		"MESHD_SERVICE_HOST": true, "MESHD_PORT": true, "MESHD_PORT_15010_TCP_ADDR": true, "MESHD_SERVICE_PORT_GRPC_XDS": true,
		"MESHD_GRPC_ADDR": false, "MESHD_PORTS": false, "PILOT_DEBOUNCE_AFTER": false, "PORT": false,
	} {
		if got := ServiceLink(name); got != want {
			t.Errorf("ServiceLink(%q) is %t", name, got)
		}
	}
}
