package debug

import (
	"strings"
	"testing"
	"time"

	"github.com/meshd/meshd/internal/xds/resource"
)

// older leads to the same port of the same pod as front, in another protocol, and came first.
const older = `
---
apiVersion: v1
kind: Service
metadata: {name: older, namespace: shop, creationTimestamp: "2025-01-02T03:04:05Z"}
spec:
  clusterIP: 10.96.0.12
  selector: {app: front}
  ports: [{name: tcp, port: 90, targetPort: 8080}]
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: older-1, namespace: shop, labels: {kubernetes.io/service-name: older}}
addressType: IPv4
ports: [{name: tcp, port: 8080, protocol: TCP}]
endpoints:
- addresses: [10.30.0.1]
  conditions: {ready: true}
  targetRef: {kind: Pod, namespace: shop, name: front-0}
`

// What is withheld, and who does not win a port, is shown as long as a client is concerned.
func TestWithheldAndConflicts(t *testing.T) {
	const cluster = "outbound|80||front.shop.svc.cluster.local"
	for _, delta := range []bool{false, true} {
		r := newRigOf(t, delta, manifests+older, cluster)
		type line struct {
			Proxy, Message string
			Since          time.Time
		}
		read := func() (out map[string]map[string]line) {
			r.read("push_status", &out)
			return out
		}
		if all := read(); len(all["pilot_conflict_inbound_listener"])+len(all[failed]) != 0 {
			t.Errorf("nobody is connected: %v", all)
		}
		c := r.client(frontID)
		r.ask(c, resource.ClusterType)
		r.eventually("the withheld cluster is shown", func() bool { return len(read()[failed]) > 0 })
		all := read()
		got := all[failed]["envoy/cds/"+cluster]
		if len(all[failed]) != 1 || got.Proxy != frontID || !strings.Contains(got.Message, "Envoy would not like it") || got.Since.IsZero() {
			t.Errorf("delta %v: withheld: %v", delta, all[failed])
		}
		conflicts := all["pilot_conflict_inbound_listener"]
		if len(conflicts) != 1 {
			t.Errorf("delta %v: conflicts: %v", delta, conflicts)
		}
		for about, l := range conflicts {
			if l.Proxy != frontID || !strings.Contains(about, "older.shop") || !strings.Contains(about, "front.shop") {
				t.Errorf("delta %v: conflict %q: %v", delta, about, l)
			}
		}
		c.Close()
		r.eventually("nobody is concerned", func() bool {
			all := read()
			return len(all["pilot_conflict_inbound_listener"])+len(all[failed]) == 0
		})
	}
}
