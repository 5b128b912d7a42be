package names_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/translate/names"
)

func TestParse(t *testing.T) {
	type parsed struct {
		Text string
		Port uint32
		OK   bool
	}
	tests := []struct {
		name  string
		parse func(string) (string, uint32, bool)
		good  map[string]parsed
		bad   []string
	}{
		{
			name:  "outbound",
			parse: names.ParseOutbound,
			good:  map[string]parsed{names.Outbound("a.b.svc.cluster.local", 9080): {"a.b.svc.cluster.local", 9080, true}},
			bad: []string{
				"", "|", "|||", "outbound|9080||", "outbound||x", "inbound|9080||a", "outbound|9080|v1|a", "outbound|0||a",
				"outbound|65536||a", "outbound|09||a", "outbound|+9||a", "outbound|9||a|b", "outbound|-1||a", "BlackHoleCluster",
			},
		},
		{
			name: "inbound",
			parse: func(s string) (string, uint32, bool) {
				port, ok := names.ParseInbound(s)
				return "", port, ok
			},
			good: map[string]parsed{names.Inbound(80): {"", 80, true}},
			bad:  []string{"", "inbound|80", "inbound|||", "inbound|80||a", "outbound|80||", "inbound||"},
		},
		{
			name:  "listener",
			parse: names.ParseListener,
			good: map[string]parsed{
				names.Listener("0.0.0.0", 80): {"0.0.0.0", 80, true},
				names.Listener("fd00::1", 80): {"fd00::1", 80, true},
			},
			bad: []string{"", "_80", "0.0.0.0", "0.0.0.0_", "0.0.0.0_x", "virtualInbound", "0.0.0.0_080"},
		},
		{
			name:  "route",
			parse: names.ParseRoute,
			good: map[string]parsed{
				names.PortRoute(80):         {"", 80, true},
				names.ServiceRoute("a", 80): {"a", 80, true},
			},
			bad: []string{"", ":80", "a:", "a", "http_proxy", "a:0", "InboundPassthroughCluster"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for in, want := range test.good {
				text, port, ok := test.parse(in)
				if diff := cmp.Diff(want, parsed{text, port, ok}); diff != "" {
					t.Errorf("%q (-want +got):\n%s", in, diff)
				}
			}
			for _, in := range test.bad {
				if text, port, ok := test.parse(in); ok {
					t.Errorf("%q is read as %q, %d", in, text, port)
				}
			}
		})
	}
}

func TestAliases(t *testing.T) {
	tests := []struct {
		hostname, domain string
		want             []string
	}{
		{"a.shop.svc.cluster.local", "shop.svc.cluster.local", []string{"a.shop.svc.cluster.local.", "a", "a.shop.svc", "a.shop"}},
		{"a.ops.svc.cluster.local", "shop.svc.cluster.local", []string{"a.ops.svc.cluster.local.", "a.ops", "a.ops.svc"}},
		{"a.shop.svc.other.domain", "shop.svc.cluster.local", []string{"a.shop.svc.other.domain."}},
		{"www.example.com", "shop.svc.cluster.local", []string{"www.example.com."}},
		{"a.shop.svc.cluster.local", "", []string{"a.shop.svc.cluster.local."}},
		{"a.shop.svc.cluster.local", "example.com", []string{"a.shop.svc.cluster.local."}},
		{"shop.svc.cluster.local", "shop.svc.cluster.local", []string{"shop.svc.cluster.local."}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, names.Aliases(test.hostname, test.domain)); diff != "" {
			t.Errorf("%s within %q (-want +got):\n%s", test.hostname, test.domain, diff)
		}
	}
}

// TestExpand: every alias means what it is an alias of.
func TestExpand(t *testing.T) {
	const domain = "shop.svc.cluster.local"
	for _, hostname := range []string{"a.shop.svc.cluster.local", "a.ops.svc.cluster.local"} {
		for _, name := range append(names.Aliases(hostname, domain), hostname) {
			if got := names.Expand(name, domain); got != hostname {
				t.Errorf("%q within %s means %q, want %q", name, domain, got, hostname)
			}
		}
	}
	for _, name := range []string{"a", "a.shop", "www.example.com"} {
		if got := names.Expand(name, ""); got != name {
			t.Errorf("%q without a domain means %q", name, got)
		}
	}
}
