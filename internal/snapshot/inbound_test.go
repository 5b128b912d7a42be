package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
)

func brief(in *snapshot.Inbound) string {
	var out []string
	for _, t := range in.Targets {
		out = append(out, fmt.Sprintf("%s/%s %d>%d", t.Service.Namespace, t.Service.Name, t.Port.Number, t.TargetPort))
	}
	return strings.Join(out, ", ")
}

func TestInbound(t *testing.T) {
	const pod = `Pod {metadata: {name: w, namespace: shop, labels: {app: w, tier: web}}, spec: {containers: [{ports: [{name: rpc, containerPort: 7000}]}]}, status: {podIPs: [{ip: 10.1.0.9}, {ip: "fd00::9"}]}}`
	const lone = `Pod {metadata: {name: lone, namespace: shop}, status: {podIPs: [{ip: 10.1.0.8}]}}`
	service := func(name, created, spec string) string {
		return `Service {metadata: {name: ` + name + `, namespace: shop, creationTimestamp: "` + created + `"}, spec: ` + spec + `}`
	}
	const early, late = "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"
	manual := func(name, service, addresses string) string {
		return `Slice {metadata: {name: ` + name + `, namespace: shop, labels: {kubernetes.io/service-name: ` + service + `}}, addressType: IPv4, ports: [{name: http, port: 8080}], endpoints: [{addresses: ` + addresses + `}]}`
	}
	named := &model.Proxy{Namespace: "shop", Pod: "w", IPs: []string{"192.0.2.1"}}
	for _, c := range []struct {
		name    string
		objects []string
		proxy   *model.Proxy
		want    string
	}{
		{"no services", []string{pod}, named, ""},
		{"target by default, number and name", []string{pod, service("a", early, `{selector: {app: w}, ports: [{name: x, port: 1}, {name: y, port: 2, targetPort: 22}, {name: z, port: 3, targetPort: rpc}]}`)},
			named, "shop/a 1>1, shop/a 2>22, shop/a 3>7000"},
		{"a target name that no container has", []string{pod, service("a", early, `{selector: {app: w}, ports: [{name: x, port: 1, targetPort: nope}, {name: y, port: 2}]}`)},
			named, "shop/a 2>2"},
		{"ports that lead to one port in one protocol", []string{pod, service("a", early, `{selector: {app: w}, ports: [{name: http, port: 1, targetPort: 8080}, {name: http-b, port: 2, targetPort: 8080}, {name: tcp, port: 3, targetPort: 8080}]}`)},
			named, "shop/a 1>8080, shop/a 3>8080"},
		{"the oldest first, then by hostname, whatever the order of arrival", []string{
			service("a", late, `{selector: {app: w}, ports: [{port: 1}]}`), pod,
			service("c", early, `{selector: {app: w, tier: web}, ports: [{port: 3}]}`),
			service("b", early, `{selector: {tier: web}, ports: [{port: 2}]}`)},
			named, "shop/b 2>2, shop/c 3>3, shop/a 1>1"},
		{"selectors that do not match", []string{pod,
			service("a", early, `{selector: {app: w, tier: db}, ports: [{port: 1}]}`),
			service("b", early, `{ports: [{port: 1}]}`),
			`Service {metadata: {name: c, namespace: other}, spec: {selector: {app: w}, ports: [{port: 1}]}}`},
			named, ""},
		{"by address while the name is unknown", []string{pod, service("a", early, `{selector: {app: w}, ports: [{port: 1}]}`)},
			&model.Proxy{Namespace: "shop", Pod: "else", IPs: []string{"10.1.0.9"}}, "shop/a 1>1"},
		{"by any address of the pod", []string{pod, service("a", early, `{selector: {app: w}, ports: [{port: 1}]}`)},
			&model.Proxy{Namespace: "shop", Pod: "else", IPs: []string{"fd00::9"}}, "shop/a 1>1"},
		{"not by an address in another namespace", []string{pod, service("a", early, `{selector: {app: w}, ports: [{port: 1}]}`)},
			&model.Proxy{Namespace: "other", Pod: "w", IPs: []string{"10.1.0.9"}}, ""},
		{"by the proxy's labels while its pod is unknown", []string{service("a", early, `{selector: {app: w}, ports: [{name: x, port: 1}, {name: y, port: 2, targetPort: rpc}]}`)},
			&model.Proxy{Namespace: "shop", Pod: "w", IPs: []string{"10.1.0.9"}, Metadata: model.Metadata{Labels: map[string]string{"app": "w"}}}, "shop/a 1>1"},
		{"the pod's labels count, not what the proxy says", []string{pod, service("a", early, `{selector: {app: fake}, ports: [{port: 1}]}`)},
			&model.Proxy{Namespace: "shop", Pod: "w", Metadata: model.Metadata{Labels: map[string]string{"app": "fake"}}}, ""},
		{"endpoints without a selector, for an address without a pod", []string{service("a", early, `{ports: [{name: http, port: 80}]}`), manual("a-1", "a", "[10.1.0.8, 10.1.0.7]")},
			&model.Proxy{Namespace: "shop", Pod: "vm", IPs: []string{"10.1.0.7"}}, "shop/a 80>8080"},
		{"endpoints without a selector, for a pod that none selects", []string{lone, service("b", late, `{ports: [{name: http, port: 80}]}`), service("a", late, `{ports: [{name: http, port: 81}]}`), service("c", early, `{ports: [{name: http, port: 82}]}`),
			manual("a-1", "a", "[10.1.0.8]"), manual("b-1", "b", "[10.1.0.8]"), manual("c-1", "c", "[10.1.0.8]")},
			&model.Proxy{Namespace: "shop", Pod: "lone", IPs: []string{"10.1.0.8"}}, "shop/c 82>8080, shop/a 81>8080, shop/b 80>8080"},
		{"selectors go before endpoints without", []string{pod, service("a", early, `{selector: {app: w}, ports: [{port: 1}]}`), service("b", early, `{ports: [{name: http, port: 80}]}`), manual("b-1", "b", "[10.1.0.9]")},
			&model.Proxy{Namespace: "shop", Pod: "w", IPs: []string{"10.1.0.9"}}, "shop/a 1>1"},
		{"a proxy that says nothing", []string{pod}, &model.Proxy{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.put(c.objects...)
			s := r.compile()
			in := s.Inbound(c.proxy)
			if diff := cmp.Diff(c.want, brief(in)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if again := s.Inbound(c.proxy); again != in {
				t.Error("asked twice, two answers")
			}
		})
	}
}

// TestInboundIsShared: equal contents are one pointer, whoever asks, and in whichever snapshot.
func TestInboundIsShared(t *testing.T) {
	r := newRig(t)
	r.put(svcA, podA1, podA2)
	first := r.compile()
	by := func(s *snapshot.Snapshot, pod string, labels map[string]string) *snapshot.Inbound {
		return s.Inbound(&model.Proxy{Namespace: "shop", Pod: pod, Metadata: model.Metadata{Labels: labels}})
	}
	want := by(first, "a1", nil)
	if brief(want) != "shop/a 80>8080" {
		t.Fatalf("inbound of a1: %s", brief(want))
	}
	r.put(svcB, podB1, strings.ReplaceAll(podA1, "a1", "a3"))
	second := r.compile()
	for what, got := range map[string]*snapshot.Inbound{
		"another pod": by(first, "a2", nil), "labels": by(first, "a9", map[string]string{"app": "a"}),
		"later": by(second, "a1", nil), "a later pod": by(second, "a3", nil), "later labels": by(second, "a9", map[string]string{"app": "a"}),
	} {
		if got != want {
			t.Errorf("%s: another pointer for %s", what, brief(got))
		}
	}
	if by(first, "nobody", nil) != by(second, "b9", map[string]string{"app": "none"}) {
		t.Error("there are two empty inbounds")
	}
}
