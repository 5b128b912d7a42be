package modules

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// Each distinct resource is made once, however many proxies there are: those of a workload differ in name, address, node
// and template hash, and workloads differ in what is about themselves. The counters are those of the real process.
func TestGeneratedOnceForTheMesh(t *testing.T) {
	const workloads, replicas = 4, 6
	o := runOptions(t)
	o.Dir = t.TempDir()
	var objects string
	for w := range workloads {
		objects += fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: w%d, namespace: shop}\n"+
			"spec: {clusterIP: 10.1.0.%d, selector: {app: w%[1]d}, ports: [{name: http, port: 80, targetPort: 808%[1]d}, {name: tcp, port: 900%[1]d}]}\n---\n", w, w+1)
		for r := range replicas {
			objects += fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: w%d-%d, namespace: shop, labels: {app: w%[1]d, pod-template-hash: h%[2]d}}\n"+
				"spec: {nodeName: n%[2]d}\nstatus: {phase: Running, podIP: 10.2.%[1]d.%[2]d, podIPs: [{ip: 10.2.%[1]d.%[2]d}]}\n---\n", w, r)
		}
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "mesh.yaml"), []byte(objects), 0o644); err != nil {
		t.Fatal(err)
	}
	a := start(t, o, All(o), lifecycle.Options{})
	defer a.stop(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	distinct := map[string]bool{}
	for r := range replicas {
		for w := range workloads {
			for _, delta := range []bool{false, true} {
				c, err := xdsclient.Connect(ctx, a.address(t, "--grpc-addr"), xdsclient.Options{
					NodeID: fmt.Sprintf("sidecar~10.2.%d.%d~w%[1]d-%[2]d.shop~shop.svc.cluster.local", w, r), Delta: delta,
					Metadata: map[string]any{"NAMESPACE": "shop", "ISTIO_VERSION": "1.31.0", "NODE_NAME": fmt.Sprint("n", r),
						"LABELS": map[string]any{"app": fmt.Sprint("w", w), "pod-template-hash": fmt.Sprint("h", r), "nobody-asks": fmt.Sprint(r)}},
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(c.Close)
				for _, typeURL := range []string{resource.ClusterType, resource.ListenerType} {
					if err := c.Subscribe(typeURL); err != nil {
						t.Fatal(err)
					}
					if _, err := c.Wait(ctx, "an answer", func(s xdsclient.State) bool { return len(s.Of(typeURL)) > 0 }); err != nil {
						t.Fatal(err)
					}
				}
				for typeURL, byName := range c.State().Versions {
					for name, version := range byName {
						distinct[typeURL+name+version] = true
					}
				}
			}
		}
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + a.address(t, "--monitoring-addr") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	metrics, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	count := func(name string) int {
		m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(metrics)
		if m == nil {
			t.Fatalf("no metric %s", name)
		}
		n, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		return int(n)
	}
	if got := count("meshd_xds_resources_generated_total"); got != len(distinct) || got == 0 {
		t.Errorf("%d resources were generated for %d proxies, want one for each of the %d that there are", got, 2*workloads*replicas, len(distinct))
	}
}
