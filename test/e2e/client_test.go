package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/meshd/meshd/internal/testkit/process"
)

// question is a line that a client reads: send one RPC to the target.
type question struct {
	Target string
	// Wait says that the RPC waits while there is nothing to send it to, or it cannot be reached.
	Wait bool
	// Seconds are the deadline.
	Seconds float64
}

// answer is the line that it prints then: who answered, or why nobody did.
type answer struct {
	Backend string
	Error   string
}

// proxyless is the metadata of a node that wants what gRPC understands.
const proxyless = `{"GENERATOR": "grpc", "NAMESPACE": "default", "CLUSTER_ID": "Kubernetes"}`

// client is a running program: gRPC reads its bootstrap from the environment of the process.
type client struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startClient runs a program as a client of the xDS server at the address.
func startClient(t *testing.T, p program, xdsAddress, metadata string) *client {
	t.Helper()
	bootstrap := filepath.Join(t.TempDir(), "bootstrap.json")
	// Node's implementation waits for ever for a locality if there is none.
	content := fmt.Sprintf(`{
  "xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}], "server_features": ["xds_v3"]}],
  "node": {"id": "sidecar~127.0.0.1~client.default~default.svc.cluster.local", "cluster": "client", "locality": {}, "metadata": %s}
}`, xdsAddress, metadata)
	if err := os.WriteFile(bootstrap, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	command, missing := p.find()
	if missing != "" {
		t.Fatal(missing)
	}
	c := &client{t: t, cmd: exec.Command(command[0], command[1:]...)}
	// Nothing else of the environment: gRPC would send its connections to a proxy that it finds there.
	c.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GRPC_XDS_BOOTSTRAP=" + bootstrap, clientMode + "=1"}
	var stderr bytes.Buffer // C core says there what it was told
	c.cmd.Stderr = &stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.in.Close()
		defer c.impatient().Stop()
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("the client: %v", err)
		}
		if t.Failed() {
			t.Logf("what the client wrote:\n%s", stderr.String())
		}
	})
	return c
}

// impatient kills the client if the timer is not stopped in good time.
func (c *client) impatient() *time.Timer {
	return time.AfterFunc(2*process.Patience, func() {
		_ = c.cmd.Process.Kill() // it may have ended
	})
}

func (c *client) send(q question) {
	c.t.Helper()
	line, err := json.Marshal(q)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c.in, "%s\n", line); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) receive() answer {
	c.t.Helper()
	defer c.impatient().Stop()
	if !c.out.Scan() {
		c.t.Fatalf("the client has ended, or was too slow: %v", c.out.Err())
	}
	var a answer
	if err := json.Unmarshal(c.out.Bytes(), &a); err != nil {
		c.t.Fatalf("%v: %s", err, c.out.Bytes())
	}
	return a
}

// try sends one RPC that does not wait.
func (c *client) try(target string) answer {
	c.t.Helper()
	c.send(question{Target: target, Seconds: process.Patience.Seconds()})
	return c.receive()
}

// poll sends RPCs that do not wait until one ends as wanted.
func (c *client) poll(what, target string, wanted func(answer) bool) {
	c.t.Helper()
	deadline := time.Now().Add(process.Patience)
	for {
		got := c.try(target)
		if wanted(got) {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: %+v, want %s", target, got, what)
		}
		time.Sleep(10 * time.Millisecond) // between two polls
	}
}

// answeredBy sends some RPCs and gives the names of those who answered. No RPC may fail.
func (c *client) answeredBy(target string) []string {
	c.t.Helper()
	seen := map[string]bool{}
	for range 8 { // round robin: twice as many as could miss one of a few
		c.send(question{Target: target, Wait: true, Seconds: process.Patience.Seconds()})
		a := c.receive()
		if a.Error != "" {
			c.t.Fatalf("an RPC failed: %s", a.Error)
		}
		seen[a.Backend] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func (c *client) waitAnsweredBy(target string, names ...string) {
	c.t.Helper()
	deadline := time.Now().Add(process.Patience)
	for {
		got := c.answeredBy(target)
		if slices.Equal(got, names) {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("answered by %v, want %v", got, names)
		}
		time.Sleep(10 * time.Millisecond) // between two polls
	}
}
