package xds

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/meshd/meshd/internal/testkit/xdsclient"
	"github.com/meshd/meshd/internal/xds/resource"
)

// BenchmarkFirstAnswers measures until 100 streams of 5 classes have all four types of 500 services, from nothing
// generated. Clients run in the same process and parse everything, which is most of it.
func BenchmarkFirstAnswers(b *testing.B) {
	const streams, classes, services = 100, 5, 500
	names := make([]string, services)
	texts := map[string]string{}
	for i := range services {
		names[i] = fmt.Sprintf("outbound|80||s%d.default.svc.cluster.local", i)
		texts[names[i]] = strings.Repeat("x", 200)
	}
	b.ReportAllocs()
	for range b.N {
		b.StopTimer()
		r := newRig(b)
		for _, short := range []string{"cds", "eds", "lds", "rds"} {
			r.setAll(short, texts)
		}
		r.publish()
		clients := make([]*xdsclient.Client, streams)
		for i := range clients {
			clients[i] = r.connect(fmt.Sprint("w", i%classes))
		}
		b.StartTimer()
		var all sync.WaitGroup
		for _, c := range clients {
			all.Go(func() {
				ignore(c.Subscribe(resource.ClusterType))
				ignore(c.Subscribe(resource.EndpointType, names...))
				ignore(c.Subscribe(resource.ListenerType))
				ignore(c.Subscribe(resource.RouteType, names...))
				if _, err := c.Wait(r.ctx, "four types", func(s xdsclient.State) bool { return len(s.Responses) == 4 }); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
		b.StopTimer()
		b.ReportMetric(float64(r.store.Stats().Generated), "generated")
		for _, c := range clients {
			c.Close()
		}
		b.StartTimer()
	}
}
