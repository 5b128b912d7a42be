package snapshot_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/testkit/randommesh"
)

// records are what a snapshot says, by the names of the things it says it of: pointers to immutable records.
type records map[string]any

// recordsOf asks a snapshot everything it can be asked.
func recordsOf(s *snapshot.Snapshot) records {
	out := records{"mesh": s.Mesh(), "names": s.View("").Names()}
	for _, svc := range s.Services() {
		out["service "+svc.Hostname] = svc
		out["definition "+svc.Hostname] = svc.Service
		for _, p := range svc.Ports {
			eps := s.Endpoints(svc.Hostname, p.Number)
			out["endpoints "+svc.Hostname+" "+itoa(p.Number)] = eps
			for _, ep := range eps.All {
				out["endpoint "+svc.Hostname+" "+eps.Port.Name+" "+ep.Addresses[0]+":"+itoa(ep.Port)] = ep
			}
		}
	}
	for _, p := range s.Ports() {
		out["port "+itoa(p.Number)] = p
	}
	for _, p := range randommesh.Proxies() {
		out["inbound "+p.ID], out["place "+p.ID] = s.Inbound(p), s.Place(p)
	}
	for _, namespace := range []string{"ns-a", "ns-b", "ns-c"} {
		scope := s.Scope(namespace)
		view := s.View(scope)
		of := "view of " + namespace + " "
		out[of+"scope"], out[of+"placed"] = scope, view.Placed()
		out[of+"names"] = view.Names()
		for _, svc := range view.Services() {
			out[of+svc.Hostname] = svc
			for _, p := range svc.Ports {
				out[of+"endpoints "+svc.Hostname+" "+itoa(p.Number)] = view.Endpoints(svc.Hostname, p.Number)
			}
		}
		for _, p := range view.Ports() {
			out[of+"port "+itoa(p.Number)] = p
		}
	}
	return out
}

// content is a record by value. The mesh config is a message, which reflection must not look into.
func content(record any) any {
	if m, ok := record.(*snapshot.Mesh); ok {
		return m.DNSDomain + m.Config.String()
	}
	return record
}

func contents(r records) map[string]any {
	out := map[string]any{}
	for name, record := range r {
		out[name] = content(record)
	}
	return out
}

// TestIncremental makes random edits, and holds snapshots that were compiled edit by edit to one compiled from scratch:
// equal in all they say, each record with the pointer it had before if its content is the same.
func TestIncremental(t *testing.T) {
	const edits = 60
	for seed := range uint64(12) {
		t.Run(itoa(uint32(seed)), func(t *testing.T) {
			t.Parallel()
			r := randommesh.Random{Rand: rand.New(rand.NewPCG(seed, 1))}
			each, some := randommesh.New(mesh()), randommesh.New(mesh())
			compile := func(c *snapshot.Compiler, s *randommesh.Source, changes map[model.Change]struct{}) *snapshot.Snapshot {
				snap, err := c.Compile(context.Background(), s.Stores.MarkSynced(), changes)
				if err != nil {
					t.Fatal(err)
				}
				return snap
			}
			for range 60 { // a populated world to begin with
				e := r.Edit()
				e(each)
				e(some)
			}
			eachCompiler, someCompiler := each.Compiler(), some.Compiler()
			last := compile(eachCompiler, each, nil)
			before := recordsOf(last)
			compile(someCompiler, some, nil)
			endpoints, targets := 0, 0
			for i := range edits {
				e := r.Edit()
				e(each)
				e(some)
				failed := r.One(20)
				if failed {
					// A compilation that fails loses nothing: the changes are in the next one.
					good := each.Mesh
					each.Mesh = nil
					each.Changes.Add(model.Change{Kind: model.KindMeshConfig})
					changes, _ := each.Changes.Take()
					if _, err := eachCompiler.Compile(context.Background(), each.Stores.MarkSynced(), changes); !errors.Is(err, snapshot.ErrNoMesh) {
						t.Fatalf("compiled without a mesh config: %v", err)
					}
					each.Mesh = good
				}
				was := frozen(t, before)
				changes, _ := each.Changes.Take()
				now := compile(eachCompiler, each, changes)
				after := recordsOf(now)
				scratch := recordsOf(compile(each.Compiler(), each, nil))
				equal(t, i, "one by one", scratch, after)
				for name, record := range after {
					if old, had := before[name]; had && old != record && reflect.DeepEqual(content(old), content(record)) {
						t.Errorf("edit %d: %s is a new record with the old content", i, name)
					}
				}
				if len(changes) == 0 && !failed && now != last {
					t.Errorf("edit %d: a new snapshot of nothing new", i)
				}
				if !bytes.Equal(was, frozen(t, before)) {
					t.Fatalf("edit %d: the snapshot before it changed", i)
				}
				for _, record := range after {
					switch r := record.(type) {
					case *model.Endpoint:
						endpoints++
					case *snapshot.Inbound:
						targets += len(r.Targets)
					}
				}
				before, last = after, now
				if r.One(10) || i == edits-1 {
					changes, _ := some.Changes.Take()
					equal(t, i, "several at once", scratch, recordsOf(compile(someCompiler, some, changes)))
				}
			}
			if endpoints < edits || targets < edits {
				t.Errorf("%d endpoints and %d inbound targets in all prove little", endpoints, targets)
			}
		})
	}
}

func equal(t *testing.T, edit int, how string, scratch, got records) {
	t.Helper()
	if !reflect.DeepEqual(contents(scratch), contents(got)) {
		t.Fatalf("edit %d: from scratch and %s differ (-scratch +incremental):\n%s", edit, how, cmp.Diff(contents(scratch), contents(got)))
	}
}

// frozen is the content of records at this moment.
func frozen(t *testing.T, r records) []byte {
	t.Helper()
	data, err := json.Marshal(contents(r))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
