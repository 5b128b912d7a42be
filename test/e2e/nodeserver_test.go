package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meshd/meshd/internal/testkit/process"
)

// A gRPC server for Node is a member of the mesh as one for Go is: see TestServer.
func TestNodeServer(t *testing.T) {
	p := program{name: "node", find: findNode}
	p.need(t)
	t.Parallel()
	command, _ := p.find()
	dir := t.TempDir()
	// Its server is told the port, and binds it when the mesh says what to do there.
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	direct, port := socket.Addr().String(), socket.Addr().(*net.TCPAddr).Port
	if err := socket.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "pod.yaml", fmt.Sprintf(member, port))
	write(t, dir, "echo.yaml", service("echo", 7070))
	meshd := process.Start(t, "--dir="+dir)
	meshd.WaitReady()
	file := filepath.Join(t.TempDir(), "bootstrap.json")
	if err := os.WriteFile(file, serverBootstrap(t, meshd.Address("--grpc-addr")), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*process.Patience)
	defer cancel()
	server := exec.CommandContext(ctx, command[0], filepath.Join(filepath.Dir(command[1]), "server.js"), direct)
	server.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "GRPC_XDS_BOOTSTRAP=" + file}
	var stderr bytes.Buffer
	server.Stderr = &stderr
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		if err := server.Wait(); err != nil || t.Failed() {
			t.Errorf("the server ended with %v, and wrote:\n%s", err, stderr.String())
		}
	}()
	c := startClient(t, p, meshd.Address("--grpc-addr"), proxyless)
	meshd.Eventually("the server's stream", func() error {
		if _, body := meshd.Get("/debug/connections"); !strings.Contains(body, "member-0.default") {
			return fmt.Errorf("it is not among the clients: %s", body)
		}
		return nil
	})
	if got := c.ask(question{Target: direct, Seconds: 2}); got.Error == "" {
		t.Errorf("without a service that leads to it, it answers: %+v", got)
	}
	write(t, dir, "member.yaml", fmt.Sprintf(memberService, port))
	c.waitAnsweredBy("xds:///member:7070", "member")
	c.poll("an answer, as the server is there now", direct, func(a answer) bool { return a.Backend == "member" })
	remove(t, dir, "member.yaml")
	c.poll("an error, as the service is gone", direct, func(a answer) bool { return a.Error != "" })
	wantNoRefusals(t, meshd)
}
