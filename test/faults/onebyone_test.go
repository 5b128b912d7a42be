package faults

import (
	"fmt"
	"testing"

	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// A delta client that subscribes to names one at a time does not pay for those that it has with each one more. In the
// state of the world each request lists them all, so that it cannot do that.
func TestNamesOneByOne(t *testing.T) {
	const few, many = 2_000, 50_000
	r := newRig(t, true)
	before := r.used()
	c := r.connect(1)
	asked := 0
	ask := func(count int) (seconds float64) {
		began := r.metric("process_cpu_seconds_total")
		for range count {
			r.check(r.send(c, resource.EndpointType, "", fmt.Sprintf("outbound|80||missing-%d.ns-0.svc.cluster.local", asked)))
			asked++
		}
		r.waitFor(c, "that they are not there", func(s xdsclient.State) bool {
			told := 0
			for _, resp := range s.Deltas {
				told += len(resp.GetRemovedResources())
			}
			return told >= asked
		})
		return (r.metric("process_cpu_seconds_total") - began) / float64(count)
	}
	first := ask(few)
	ask(many - 2*few)
	last := ask(few)
	t.Logf("a name costs %.0f µs of processor time at first, and %.0f µs beside %d others", first*1e6, last*1e6, asked-few)
	// The clock of the processor has steps of 10 ms. It was 1 ms a name when each looked at all others.
	if last > 4*first+200e-6 {
		t.Errorf("a name costs %.0f µs at first, and %.0f µs beside %d others", first*1e6, last*1e6, asked-few)
	}
	r.change()
	c.Close()
	r.back(before, 3e6)
}
