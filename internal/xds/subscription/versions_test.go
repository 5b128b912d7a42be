package subscription

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/meshd/meshd/internal/xds/resource"
)

// Of what a client with a wildcard says it has nothing stays when it is answered (case B16).
func TestCaseB16(t *testing.T) {
	for _, encoding := range []Encoding{StateOfTheWorld, Delta} {
		t.Run(encoding.String(), func(t *testing.T) { testCaseB16(t, encoding) })
	}
}

func testCaseB16(t *testing.T, encoding Encoding) {
	const clients, resources = 200, 5000
	world := newConversation(t)
	content := map[string]string{}
	for i := range resources {
		content[fmt.Sprint("outbound|80||service-", i, ".default.svc.cluster.local")] = "1"
	}
	source := &fakeSource{c: world, url: resource.ClusterType, content: content}
	same := fixed{source.All()}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	var machines []*Machine
	for range clients {
		m := New(encoding, func(string) bool { return true }, Nonces("n"))
		have := make(map[string]string, resources)
		for _, r := range same.set.List() {
			have[strings.Clone(r.Name())] = strings.Clone(r.Version())
		}
		delete(have, same.set.List()[0].Name())
		want := 1 // the one that it does not have
		if encoding == StateOfTheWorld {
			// There it states no versions of single resources.
			have, want = nil, resources
		}
		m.Request(Request{TypeURL: resource.ClusterType, Have: have})
		r, ok := m.Next(func(string, Source) Source { return same })
		if !ok || len(r.Resources) != want || len(r.Removed) != 0 {
			t.Fatalf("%d resources, %d removed: want %d", len(r.Resources), len(r.Removed), want)
		}
		m.Request(Request{TypeURL: resource.ClusterType, Nonce: r.Nonce})
		machines = append(machines, m)
	}
	if got := (heap() - before) / clients; got > 4<<10 {
		t.Errorf("%d bytes stay for each client", got)
	}
	runtime.KeepAlive(machines)
	runtime.KeepAlive(source)
}

// fixed is a source that has one set.
type fixed struct{ set *resource.Set }

func (f fixed) All() *resource.Set                  { return f.set }
func (f fixed) Named([]string) []*resource.Resource { return nil }
func (f fixed) Since(Source) *resource.Diff         { return nil }

// Both protocols give the same contents the same version, so that what a client has can be compared.
func TestVersionsAgreeInBothProtocols(t *testing.T) {
	sotw, delta := newConversation(t), converse(t, Delta)
	sotw.run(`
		= cds a=1 b=2
		= eds a=1 b=2
		> cds
		< cds a=1 b=2
		> cds
		> eds a b
		< eds a=1 b=2`)
	delta.run(`
		= cds a=1 b=1 c=1
		= eds a=1 b=1
		> cds
		< cds a=1 b=1 c=1
		> cds
		= cds a=1 b=2
		< cds b=2 -c
		> cds
		> eds +a
		< eds a=1
		> eds @none +b
		> eds
		< eds b=1
		> eds
		= eds a=1 b=2
		< eds b=2`)
	for i, s := range sotw.machine.Status() {
		if d := delta.machine.Status()[i]; d.Sent != s.Sent || d.Sent == "" {
			t.Errorf("%s: version %q in delta, %q in the state of the world", s.Type.Short, d.Sent, s.Sent)
		}
	}
}
