// Package memory gives memory back to the system when a burst of work is over.
//
// A control plane works in bursts: hundreds of proxies connect, or a change goes to all of them, and then nothing happens
// for a while. What such a burst took the Go runtime keeps, as garbage until its next collection, which may be two minutes
// away, and as headroom of the size of what is alive (https://go.dev/doc/gc-guide#GOGC). So when nothing is allocated any
// more it is told to collect once and to return what is free. While work goes on it is left alone.
package memory

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// every is the time between two looks, at least.
	every = time.Second
	// quiet is how many bytes may be allocated between two looks while nothing happens: keep-alive, probes and scrapes.
	quiet = 1 << 20
	// burst is how many bytes must have been allocated since memory was returned for that to be worth it again. To collect
	// costs a few tens of milliseconds of a core for the configuration of a thousand services.
	burst = 32 << 20
)

// Return looks after the memory of the process until the context ends. returned, if not nil, is called each time that
// memory was returned.
func Return(ctx context.Context, returned func()) {
	timer := time.NewTimer(every) // a ticker catches up after a look that was late, and the next then sees a moment only
	defer timer.Stop()
	begun, last := uint64(0), allocated()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		timer.Reset(every)
		now := allocated()
		calm := now-last < quiet
		last = now
		if !calm || now-begun < burst {
			continue
		}
		debug.FreeOSMemory()
		begun = now
		if returned != nil {
			returned()
		}
	}
}

// allocated is how many bytes the process has ever allocated on the heap.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
