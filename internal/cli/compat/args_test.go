package compat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRewriteArgs(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want []string
	}{
		{"istiod's spelling, both forms", []string{"discovery", "--grpcAddr", ":0", "--httpAddr=127.0.0.1:0"},
			[]string{"discovery", "--grpc-addr=:0", "--http-addr=127.0.0.1:0"}},
		{"a value may hold an equals sign", []string{"--log_output_level=xds=debug"}, []string{"--log-level=xds=debug"}},
		{"meshd's own flags are left alone", []string{"discovery", "--dir", "a", "--grpc-addr", ":1"},
			[]string{"discovery", "--dir", "a", "--grpc-addr", ":1"}},
		{"unknown flags are left for the parser", []string{"--nonsense", "1"}, []string{"--nonsense", "1"}},
		{"what is off may be said", []string{"--secureGRPCAddr", "", "--httpsAddr=", "--log_as_json=false", "--dir=a"}, []string{"--dir=a"}},
		{"a switch of the same name, on and off", []string{"--profile", "--profile=0"}, []string{"--profile", "--profile=false"}},
		{"a switch takes no value", []string{"--log_as_json", "--domain", "cluster.local"}, []string{"--log-format=json", "--domain=cluster.local"}},
		{"a switch turned off", []string{"--log_as_json=false"}, []string{}},
		{"nothing after the end of flags", []string{"--domain=x", "--", "--grpcAddr", ":1"}, []string{"--domain=x", "--", "--grpcAddr", ":1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := RewriteArgs(tc.args)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRewriteArgsRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		want []string
	}{
		{"a port that does not exist", []string{"--secureGRPCAddr", ":15012"},
			[]string{"--secureGRPCAddr is set: meshd does not read it: ", "use `--grpc-addr`"}},
		{"every one, not only the first", []string{"--kubeconfig=k", "--ctrlz_port", "9876", "--httpsAddr=:1"},
			[]string{"--kubeconfig is set", "--ctrlz_port is set", "--httpsAddr is set"}},
		{"the short form", []string{"-n", "istio-system"}, []string{"-n is set", "rootNamespace"}},
		{"a missing value", []string{"--grpcAddr"}, []string{"--grpcAddr needs a value"}},
		{"a switch with nonsense", []string{"--log_as_json=perhaps"}, []string{"--log_as_json=perhaps: want true or false"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := RewriteArgs(tc.args)
			if err == nil {
				t.Fatalf("got %q and no error", got)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q:\n%v", want, err)
				}
			}
		})
	}
}
