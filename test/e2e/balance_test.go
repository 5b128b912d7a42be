package e2e

import (
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meshd/meshd/internal/testkit/process"
)

const zones = `
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {topology.kubernetes.io/region: r1, topology.kubernetes.io/zone: z1}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {topology.kubernetes.io/region: r1, topology.kubernetes.io/zone: z2}}
`

// placed makes a backend an endpoint of a service, by a pod that runs on a node.
func placed(service, node string, b *backend) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %[1]s-%[2]s, namespace: default, labels: {app: %[1]s}}
spec: {nodeName: %[4]s}
status: {phase: Running, podIPs: [{ip: 127.0.0.1}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
addressType: IPv4
metadata: {name: %[1]s-%[2]s, namespace: default, labels: {kubernetes.io/service-name: %[1]s}}
endpoints: [{addresses: [127.0.0.1], conditions: {ready: true}, targetRef: {kind: Pod, name: %[1]s-%[2]s, namespace: default}}]
ports: [{name: grpc, port: %[3]d, protocol: TCP}]
`, service, b.name, b.port, node)
}

// The weight of a place is that of the endpoints in it, and all implementations send by it: with one endpoint in one
// zone and three in another each endpoint gets a quarter, and a zone that is left alone everything. Within a place
// they take turns, whatever the weights: there the protocol leaves it to the policy, which is round robin.
func TestWeights(t *testing.T) {
	eachProgram(t, func(t *testing.T, p program) {
		dir := t.TempDir()
		write(t, dir, "echo.yaml", service("echo", 7070))
		write(t, dir, "zones.yaml", zones)
		near := startBackend(t, "near")
		write(t, dir, "near.yaml", placed("echo", "n1", near))
		for i := range 3 {
			far := startBackend(t, fmt.Sprint("far", i))
			write(t, dir, far.name+".yaml", placed("echo", "n2", far))
		}
		meshd := process.Start(t, "--dir="+dir)
		meshd.WaitReady()
		c := startClient(t, p, meshd.Address("--grpc-addr"), proxyless)
		c.waitAnsweredBy(echoTarget, "far0", "far1", "far2", "near")

		const calls = 2000
		got := c.tally(echoTarget, calls)
		// Places are drawn at random: five standard deviations of that are not reached in a lifetime of runs. Within a
		// place the turns are even, up to those of several connections.
		if want, off := calls/4.0, 5*math.Sqrt(calls*0.25*0.75); math.Abs(float64(got["near"])-want) > off {
			t.Errorf("of %d calls %d went to the zone with a quarter of the endpoints: %v", calls, got["near"], got)
		}
		for i := range 3 {
			if want, off := float64(calls-got["near"])/3, 0.1*calls/3; math.Abs(float64(got[fmt.Sprint("far", i)])-want) > off {
				t.Errorf("endpoints of a zone do not take turns: %v", got)
			}
		}
		wantNoRefusals(t, meshd)

		for i := range 3 {
			remove(t, dir, fmt.Sprint("far", i, ".yaml"))
		}
		c.waitAnsweredBy(echoTarget, "near")
		if got := c.tally(echoTarget, 200); got["near"] != 200 {
			t.Errorf("with one zone left: %v", got)
		}
		wantNoRefusals(t, meshd)
	})
}

// tally sends RPCs one after another, none of which may fail, and counts who answered.
func (c *client) tally(target string, calls int) map[string]int {
	c.t.Helper()
	out := map[string]int{}
	for range calls {
		c.send(question{Target: target, Wait: true, Seconds: process.Patience.Seconds()})
		a := c.receive()
		if a.Error != "" {
			c.t.Fatalf("an RPC failed after %v: %s", out, a.Error)
		}
		out[a.Backend]++
	}
	return out
}

// A backend that moves is followed by its clients, and meshd that is killed, or asked to stop, and comes back is missed
// by none of their RPCs.
func TestRestartsUnderTraffic(t *testing.T) {
	eachProgram(t, func(t *testing.T, p program) {
		dir := t.TempDir()
		write(t, dir, "echo.yaml", service("echo", 7070))
		before := startBackend(t, "b0")
		write(t, dir, "backend.yaml", strings.ReplaceAll(slice("echo", before), "echo-b0", "echo-x"))
		meshd := process.Start(t, "--dir="+dir)
		meshd.WaitReady()
		xds := meshd.Address("--grpc-addr")
		c := startClient(t, p, xds, proxyless)
		c.waitAnsweredBy(echoTarget, "b0")
		for round, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
			meshd.Signal(sig)
			c.tally(echoTarget, 50)
			meshd.Exit()
			// While nobody tells the client, the backend moves: it has both until it is told.
			after := startBackend(t, fmt.Sprint("b", round+1))
			write(t, dir, "backend.yaml", strings.ReplaceAll(slice("echo", after), "echo-"+after.name, "echo-x"))
			if got := c.tally(echoTarget, 50); got[before.name] != 50 {
				t.Errorf("with meshd away: %v, want what there was", got)
			}
			meshd = process.Start(t, "--dir="+dir, "--grpc-addr="+xds)
			c.follow(echoTarget, after.name)
			if got := c.tally(echoTarget, 100); got[after.name] != 100 {
				t.Errorf("after the move: %v", got)
			}
			wantNoRefusals(t, meshd)
			before = after
		}
	})
}

// follow sends RPCs, none of which may fail, until a backend answers.
func (c *client) follow(target, backend string) {
	c.t.Helper()
	for deadline := time.Now().Add(process.Patience); c.tally(target, 1)[backend] == 0; {
		if time.Now().After(deadline) {
			c.t.Fatalf("%s never answers", backend)
		}
	}
}
