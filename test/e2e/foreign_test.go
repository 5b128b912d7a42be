package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// requireClients makes missing programs a failure: "1" for all of them, or their names with commas between.
const requireClients = "MESHD_REQUIRE_CLIENTS"

// program is a client on one of gRPC's own implementations of xDS.
type program struct {
	name string
	// find gives the command, or says what is missing on this machine and how to get it.
	find func() (command []string, missing string)
	// forgets says that it keeps a service deleted that comes back the way it was: it compares the listener, or the
	// routes, with what it had before the deletion, and finds no change. Only a new process helps.
	forgets bool
}

func programs() []program {
	return []program{
		{name: "go", find: findGo},
		{name: "node", find: findNode, forgets: true},
		{name: "python", find: findPython, forgets: true},
	}
}

// findGo gives this test binary, which is a client when it is told to be one.
func findGo() (command []string, missing string) { return []string{os.Args[0]}, "" }

func findNode() (command []string, missing string) {
	const dir = "clients/node"
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, "no node on the PATH: install Node.js, or run .ci/run clients"
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@grpc", "grpc-js-xds")); err != nil {
		return nil, "test/e2e/clients/node has no node_modules: run npm ci there, or .ci/run clients"
	}
	return []string{node, filepath.Join(dir, "client.js")}, ""
}

// findPython looks for Debian's Python first, because a package of Debian is where gRPC for it comes from.
func findPython() (command []string, missing string) {
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "import grpc").Run() == nil {
			return []string{python, filepath.Join("clients", "python", "client.py")}, ""
		}
	}
	return nil, "no Python has the module grpc: install python3-grpcio, or run .ci/run clients"
}

// eachProgram runs a test with each implementation, at the same time as others.
func eachProgram(t *testing.T, test func(t *testing.T, p program)) {
	t.Parallel()
	for _, p := range programs() {
		t.Run(p.name, func(t *testing.T) {
			p.need(t)
			t.Parallel()
			test(t, p)
		})
	}
}

// need skips a test if the program is missing, or fails it if that must not be.
func (p program) need(t *testing.T) {
	t.Helper()
	_, missing := p.find()
	if missing == "" {
		return
	}
	if required := strings.Split(os.Getenv(requireClients), ","); slices.Contains(required, "1") || slices.Contains(required, p.name) {
		t.Fatalf("%s (%s=%s)", missing, requireClients, os.Getenv(requireClients))
	}
	t.Skip(missing)
}
