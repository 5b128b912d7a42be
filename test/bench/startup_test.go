// Package bench measures how long whole processes take to start. docs/performance.md says what the figures are and
// were; what a process costs that serves is measured by tools/swarm.
package bench

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/meshd/meshd/internal/testkit/process"
)

const sample = "../../deploy/samples/shop"

// BenchmarkProcess is the floor under the others: a meshd that does nothing but say its version. What it costs is the
// Go runtime and the initialisation of the packages that are linked in.
func BenchmarkProcess(b *testing.B) {
	bin := process.Binary(b)
	for b.Loop() {
		run(b, bin, "version")
	}
}

// BenchmarkGraph is `meshd graph`, text to nowhere.
func BenchmarkGraph(b *testing.B) {
	bin := process.Binary(b)
	for b.Loop() {
		run(b, bin, "graph")
	}
}

// BenchmarkGraphVerify is `meshd graph verify --lock startup.lock`: the budget is 300 ms.
func BenchmarkGraphVerify(b *testing.B) {
	bin := process.Binary(b)
	for b.Loop() {
		run(b, bin, "graph", "verify", "--lock", "../../startup.lock")
	}
}

// BenchmarkHealth is from exec to the first answer of the health port: the budget is 60 ms.
func BenchmarkHealth(b *testing.B) { start(b, "/livez") }

// BenchmarkReady is from exec to the first yes of /ready on the sample mesh: the budget is 300 ms.
func BenchmarkReady(b *testing.B) { start(b, "/ready") }

func start(b *testing.B, path string) {
	bin := process.Binary(b)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for b.Loop() {
		b.StopTimer()
		health := freeAddress(b)
		cmd := command(bin, "discovery", "--dir="+sample, "--grpc-addr=127.0.0.1:0", "--http-addr="+health, "--monitoring-addr=127.0.0.1:0")
		b.StartTimer()
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		waitOK(b, client, "http://"+health+path)
		b.StopTimer()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			b.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Fatalf("meshd did not stop in order: %v", err)
		}
		b.StartTimer()
	}
}

func waitOK(b *testing.B, client *http.Client, url string) {
	for deadline := time.Now().Add(process.Patience); ; time.Sleep(time.Millisecond) {
		resp, err := client.Get(url)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // only the status counts
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		if time.Now().After(deadline) {
			b.Fatalf("%s: %v", url, err)
		}
	}
}

func run(b *testing.B, bin string, args ...string) {
	if out, err := command(bin, args...).CombinedOutput(); err != nil {
		b.Fatalf("%v: %v\n%s", args, err, out)
	}
}

func command(bin string, args ...string) *exec.Cmd {
	cmd := exec.Command(bin, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	return cmd
}

func freeAddress(b *testing.B) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
