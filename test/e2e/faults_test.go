package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meshd/meshd/internal/testkit/process"
	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// A port that is taken is named with its flag in the first second, before anything listens.
func TestTakenPort(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, flag := range []string{"--grpc-addr", "--http-addr", "--monitoring-addr"} {
		process.Binary(t) // its build does not count
		began := time.Now()
		meshd := process.Start(t, "--dir="+t.TempDir(), flag+"="+l.Addr().String())
		if code := meshd.Exit(); code != 1 {
			t.Errorf("%s: exit code %d, want 1", flag, code)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s: it took %v to say so", flag, took)
		}
		for _, want := range []string{flag, l.Addr().String(), "address already in use", "listeners.claim"} {
			if want == "listeners.claim" && flag != "--grpc-addr" {
				want = "admin."
			}
			if last := lastLine(meshd.Log()); !strings.Contains(last, want) {
				t.Errorf("%s: the last line of the log lacks %q: %s", flag, want, last)
			}
		}
	}
}

func lastLine(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return lines[len(lines)-1]
}

func TestDirectoryThatCannotBeRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a-file")
	write(t, filepath.Dir(file), "a-file", "not a directory")
	for _, dir := range []string{filepath.Join(t.TempDir(), "missing"), file} {
		meshd := process.Start(t, "--dir="+dir)
		if code := meshd.Exit(); code != 1 {
			t.Errorf("%s: exit code %d, want 1", dir, code)
		}
		for _, want := range []string{"--dir", dir, "source.load"} {
			if !strings.Contains(lastLine(meshd.Log()), want) {
				t.Errorf("the last line of the log lacks %q: %s", want, lastLine(meshd.Log()))
			}
		}
	}
}

// An empty directory is a mesh without services: ready, and serving what every proxy gets.
func TestEmptyDirectory(t *testing.T) {
	meshd := process.Start(t, "--dir="+t.TempDir())
	meshd.WaitReady()
	ctx, cancel := context.WithTimeout(context.Background(), process.Patience)
	defer cancel()
	c, err := xdsclient.Connect(ctx, meshd.Address("--grpc-addr"), xdsclient.Options{NodeID: "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for typeURL, want := range map[string][]string{
		resource.ClusterType:  {"BlackHoleCluster", "InboundPassthroughCluster", "PassthroughCluster"},
		resource.ListenerType: {"virtualInbound", "virtualOutbound"},
	} {
		if err := c.Subscribe(typeURL); err != nil {
			t.Fatal(err)
		}
		state, err := c.Wait(ctx, typeURL, func(s xdsclient.State) bool { return len(s.Of(typeURL)) > 0 })
		if err != nil {
			t.Fatal(err)
		}
		if got := state.Names(typeURL); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", typeURL, got, want)
		}
	}
}

// SIGTERM while the source is still loading leads to the orderly stop of what has started.
func TestSignalDuringStart(t *testing.T) {
	dir := t.TempDir()
	for i := range 5000 {
		write(t, dir, fmt.Sprintf("%04d.yaml", i), fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: s%04d}\nspec: {ports: [{port: 80}]}\n", i))
	}
	meshd := process.Start(t, "--dir="+dir)
	meshd.WaitLog("step started", "snapshot.compile") // the load comes next
	meshd.Signal(syscall.SIGTERM)
	if code := meshd.Exit(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	log := meshd.Log()
	if strings.Contains(log, "readiness.announce") {
		t.Fatal("the signal came after the start: the test shows nothing")
	}
	order := []string{"snapshot.compile", "mesh-config.load", "admin.health", "listeners.claim"}
	at := -1
	for _, step := range order {
		next := strings.Index(log, "step stopped step="+step)
		if next <= at {
			t.Errorf("%s was not stopped in its turn:\n%s", step, log)
		}
		at = next
	}
}

// The process tells the same on its debug pages and on the command line, and stops at once when nobody is connected.
func TestPagesAndStop(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "service.yaml", service("echo", 7070))
	write(t, dir, "bad.yaml", "kind: Service\nmetadata: [\n")
	meshd := process.Start(t, "--dir="+dir)
	meshd.WaitReady()
	for path, want := range map[string]string{
		"/version": `"go"`, "/livez": "alive", "/readyz?verbose": "[+] snapshot", "/debug/startup": `"source.load"`,
		"/debug/source": "bad.yaml", "/debug/connections": `"clients":[`, "/debug/addresses": "--grpc-addr", "/debug/": "/debug/startup",
		"/metrics": "meshd_xds_resources_generated_total",
	} {
		if status, body := meshd.Get(path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, no %q in %s", path, status, want, body)
		}
	}
	began := time.Now()
	if code := meshd.Stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("stopping took %v with nobody connected", took)
	}
}

// A mesh config that is wrong at start is fatal; one that becomes wrong keeps the last good one.
func TestMeshConfigFaults(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "mesh.yaml", "connectTimeout: -1s\n")
	meshd := process.Start(t, "--dir="+t.TempDir(), "--mesh-config="+filepath.Join(dir, "mesh.yaml"))
	if code := meshd.Exit(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, want := range []string{"--mesh-config", "connectTimeout", "mesh-config.load"} {
		if !strings.Contains(lastLine(meshd.Log()), want) {
			t.Errorf("the last line of the log lacks %q: %s", want, lastLine(meshd.Log()))
		}
	}

	write(t, dir, "mesh.yaml", "connectTimeout: 3s\n")
	meshd = process.Start(t, "--dir="+t.TempDir(), "--mesh-config="+filepath.Join(dir, "mesh.yaml"))
	meshd.WaitReady()
	write(t, dir, "mesh.yaml", "connectTimeout: -1s\n")
	meshd.WaitLog("connectTimeout", "mesh.yaml")
	if status, body := meshd.Get("/ready"); status != http.StatusOK {
		t.Errorf("/ready after a bad edit: %d %s", status, body)
	}
	if err := os.Remove(filepath.Join(dir, "mesh.yaml")); err != nil {
		t.Fatal(err)
	}
}
