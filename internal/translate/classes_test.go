package translate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/testkit/scenario"
	"github.com/meshd/meshd/internal/translate/nametable"
)

// TestClassesAreFew: however many proxies there are, their classes are at most as many as workloads times localities.
// What the pods of a workload do not have in common is drawn at random. A service that prefers near endpoints has somebody
// read where a proxy is.
func TestClassesAreFew(t *testing.T) {
	const (
		proxies, workloads, namespaces = 2000, 8, 2
		known                          = 3 // pods of a workload that the mesh knows
	)
	namespace := func(w int) string { return fmt.Sprint("ns-", w%namespaces) }
	var mesh strings.Builder
	for w := range workloads {
		near := ""
		if w == 0 {
			near = ", trafficDistribution: PreferClose"
		}
		fmt.Fprintf(&mesh, "apiVersion: v1\nkind: Service\nmetadata: {name: w%d, namespace: %s}\n"+
			"spec: {clusterIP: 10.1.0.%d, selector: {app: w%[1]d}, ports: [{name: http, port: 80, targetPort: 808%[1]d}]%[4]s}\n%s",
			w, namespace(w), w+1, near, newObject)
		for n := range known {
			fmt.Fprintf(&mesh, "apiVersion: v1\nkind: Pod\nmetadata: {name: w%d-%d, namespace: %s, labels: {app: w%[1]d, pod-template-hash: h%[2]d}}\n"+
				"spec: {containers: []}\nstatus: {phase: Running, podIPs: [{ip: 10.2.%[1]d.%[2]d}]}\n%[4]s", w, n, namespace(w), newObject)
		}
	}
	s := scenario.Parse(t, mesh.String()).Snapshot(t, nil)
	localities := []model.Locality{{Region: "north", Zone: "a"}, {Region: "north", Zone: "b"}, {Region: "south", Zone: "c"}}
	generators := sidecar()
	generators["names"] = nametable.New(model.FlavorEnvoy)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	classes := map[string]map[model.ProxyClass]bool{}
	for kind := range generators {
		classes[kind] = map[model.ProxyClass]bool{}
	}
	for range proxies {
		w := r.IntN(workloads)
		app, pod, address := fmt.Sprint("w", w), fmt.Sprintf("w%d-%x", w, r.Uint32()), fmt.Sprintf("10.%d.%d.%d", 3+r.IntN(250), r.IntN(256), r.IntN(256))
		if r.IntN(4) == 0 {
			n := r.IntN(known)
			pod, address = fmt.Sprintf("w%d-%d", w, n), fmt.Sprintf("10.2.%d.%d", w, n)
		}
		p := proxy(t, fmt.Sprintf("sidecar~%s~%s.%s~%[3]s.svc.cluster.local", address, pod, namespace(w)), func(m map[string]any) {
			m["NAMESPACE"], m["NODE_NAME"] = namespace(w), fmt.Sprint("node-", r.IntN(500))
			m["LABELS"] = map[string]any{
				"app": app, "service.istio.io/canonical-name": app, "pod-template-hash": fmt.Sprintf("%x", r.Uint32()),
				"statefulset.kubernetes.io/pod-name": pod, fmt.Sprint("nobody-selects-on-", r.IntN(9)): fmt.Sprint(r.Uint32()),
			}
		})
		p.Locality = localities[r.IntN(len(localities))]
		for kind, g := range generators {
			classes[kind][g.Class(s, p)] = true
		}
	}
	for kind, least := range map[string]int{"clusters": workloads, "endpoints": len(localities), "listeners": workloads, "routes": namespaces, "names": 1} {
		n := len(classes[kind])
		if n > workloads*len(localities) {
			t.Errorf("%s: %d classes of %d proxies, of %d workloads in %d localities", kind, n, proxies, workloads, len(localities))
		}
		if n < least {
			t.Errorf("%s: %d classes, want at least %d: what the test draws is not read", kind, n, least)
		}
	}
}
