package e2e

import (
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/meshd/meshd/internal/testkit/process"
)

// A second signal ends the process at once, whatever the orderly stop is waiting for.
func TestSecondSignal(t *testing.T) {
	meshd := process.Start(t, "--dir="+t.TempDir())
	meshd.WaitReady()
	// A request that is never finished holds the health port's stop up for a second.
	slow, err := net.Dial("tcp", meshd.Address("--http-addr"))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := io.WriteString(slow, "GET /livez HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	meshd.Signal(syscall.SIGTERM)
	meshd.WaitLog("step stopped", "source.load")
	meshd.Signal(syscall.SIGTERM)
	if code := meshd.Exit(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	meshd.WaitLog("second signal")
}
