package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/meshd/meshd/internal/testkit/process"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// elsewhere gives an address of this machine that is not loopback: who connects to it comes from it.
func elsewhere(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback")
	return ""
}

// on gives the port of a flag at another address.
func on(meshd *process.Meshd, flag, host string) string {
	_, port, _ := net.SplitHostPort(meshd.Address(flag))
	return net.JoinHostPort(host, port)
}

// everywhere serves a service on all addresses of the machine.
func everywhere(t *testing.T) *process.Meshd {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "service.yaml", service("echo", 7070))
	meshd := process.Start(t, "--dir="+dir, "--grpc-addr=0.0.0.0:0", "--monitoring-addr=0.0.0.0:0")
	meshd.WaitReady()
	return meshd
}

// tool asks a question as istioctl does.
func tool(ctx context.Context, t *testing.T, addr, typeURL string, names ...string) (xdsclient.State, error) {
	t.Helper()
	c, err := xdsclient.Connect(ctx, addr, xdsclient.Options{
		NodeID:   "sidecar~192.0.2.2~test-1.default~default.svc.cluster.local",
		Metadata: map[string]any{"GENERATOR": "event", "NAMESPACE": "istio-system", "SERVICE_ACCOUNT": "default"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Subscribe(typeURL, names...); err != nil {
		t.Fatal(err)
	}
	return c.Wait(ctx, typeURL, func(s xdsclient.State) bool { return len(s.Responses) > 0 })
}

// Pages and questions are answered on loopback. To other machines only what is no page is shown.
func TestPagesAreForThisMachine(t *testing.T) {
	host := elsewhere(t)
	meshd := everywhere(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	get := func(host, path string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+on(meshd, "--monitoring-addr", host)+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Forwarded-For", "127.0.0.1")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	status200 := map[string]bool{"/metrics": true, "/ready": true, "/livez": true, "/version": true}
	for _, path := range []string{"/debug/", "/debug", "/debug/syncz", "/debug/config_dump?proxyID=a.b", "/debug/startup", "/debug/list", "/debug/logging", "/debug/source", "/metrics", "/ready", "/livez", "/version"} {
		if code, body := get("127.0.0.1", path); code == http.StatusUnauthorized {
			t.Errorf("%s on loopback: %d %s", path, code, body)
		}
		code, body := get(host, path)
		if status200[path] != (code == http.StatusOK) || !status200[path] && (code != http.StatusUnauthorized || !strings.Contains(body, "loopback only")) {
			t.Errorf("%s from %s: %d %s", path, host, code, body)
		}
	}
	for _, typeURL := range []string{"istio.io/debug", "istio.io/debug/syncz", "istio.io/debug/config_dump"} {
		if s, err := tool(ctx, t, on(meshd, "--grpc-addr", "127.0.0.1"), typeURL, "syncz"); err != nil {
			t.Errorf("%s on loopback: %v %s", typeURL, err, s)
		}
		s, err := tool(ctx, t, on(meshd, "--grpc-addr", host), typeURL, "syncz")
		if err == nil || status.Code(s.Err) != codes.Unauthenticated || !strings.Contains(s.Err.Error(), "loopback only") {
			t.Errorf("%s from %s: %v %v", typeURL, host, s.Err, err)
		}
	}
}

// A real process tells of its clients over xDS, and the command line over HTTP.
func TestProxyStatus(t *testing.T) {
	meshd := everywhere(t)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	grpcAddr := on(meshd, "--grpc-addr", "127.0.0.1")
	const id = "sidecar~10.1.1.1~echo-0.default~default.svc.cluster.local"
	for _, delta := range []bool{false, true} {
		c, err := xdsclient.Connect(ctx, grpcAddr, xdsclient.Options{NodeID: id, Delta: delta, Metadata: map[string]any{"CLUSTER_ID": "Kubernetes", "ISTIO_VERSION": "1.31.0"}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for _, typeURL := range []string{resource.ClusterType, resource.ListenerType} {
			if err := c.Subscribe(typeURL); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Wait(ctx, typeURL, func(s xdsclient.State) bool { return len(s.Of(typeURL)) > 0 }); err != nil {
				t.Fatal(err)
			}
		}
	}
	meshd.Eventually("both are in sync", func() error {
		s, err := tool(ctx, t, grpcAddr, "istio.io/debug/syncz")
		if err != nil {
			return err
		}
		for _, a := range s.Responses[0].GetResources() {
			var config statusv3.ClientConfig
			if err := a.UnmarshalTo(&config); err != nil {
				return err
			}
			for _, x := range config.GetGenericXdsConfigs() {
				if x.GetConfigStatus() != statusv3.ConfigStatus_SYNCED {
					return fmt.Errorf("%v", x)
				}
			}
		}
		if n := len(s.Responses[0].GetResources()); n != 2 {
			return fmt.Errorf("%d clients", n)
		}
		return nil
	})
	out, err := exec.CommandContext(ctx, process.Binary(t), "request", "GET", "/debug/config_dump?proxyID=echo-0.default",
		"--address="+on(meshd, "--monitoring-addr", "127.0.0.1")).Output()
	if err != nil || !strings.Contains(string(out), "outbound|7070||echo.default.svc.cluster.local") {
		t.Errorf("meshd request: %v %.500s", err, out)
	}

	istioctl := os.Getenv("MESHD_ISTIOCTL")
	if istioctl == "" {
		t.Log("MESHD_ISTIOCTL names no istioctl to try as well")
		return
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	write(t, filepath.Dir(file), "kubeconfig", `{"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "none", "cluster": {"server": "http://127.0.0.1:1"}}],
"contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}], "users": [{"name": "none", "user": {}}], "current-context": "none"}`)
	for want, args := range map[string][]string{
		"SUBSCRIBED TYPES": {"proxy-status"},
		`"cluster_acked"`:  {"x", "internal-debug", "syncz"},
		"echo-0.default":   {"x", "internal-debug", "adsz"},
		"config_dump":      {"x", "internal-debug", "--list"},
	} {
		args = append(args, "--xds-address", grpcAddr, "--plaintext", "--kubeconfig", file, "--revision", "default")
		out, err := exec.CommandContext(ctx, istioctl, args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("istioctl %v: %v, no %q in\n%s", args, err, want, out)
		}
	}
}
