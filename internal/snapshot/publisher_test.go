package snapshot_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/snapshot"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLive(t *testing.T) {
	r := newRig(t)
	live := snapshot.NewLive(r.compile())
	const last = 200
	var readers sync.WaitGroup
	for range 4 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			for seen := uint64(0); seen < last; {
				s, changed := live.Watch()
				if s.Version() < seen {
					t.Errorf("version %d after %d", s.Version(), seen)
				}
				if seen = s.Version(); seen < last {
					<-changed
				}
			}
		}()
	}
	for {
		r.setMesh(&meshv1alpha1.MeshConfig{TrustDomain: "td", IngressService: itoa(uint32(live.Current().Version()))})
		changed := live.Changes()
		s := r.compile()
		live.Publish(s)
		<-changed
		if live.Current() != s {
			t.Fatal("published, and not current")
		}
		if s.Version() == last {
			break
		}
	}
	readers.Wait()

	changed := live.Changes()
	live.Publish(live.Current())
	select {
	case <-changed:
		t.Error("the same snapshot again is not a change")
	default:
	}
}

func TestPublisher(t *testing.T) {
	ctx := context.Background()
	r := newRig(t)
	var boom func()
	logs, logged := observer.New(zap.ErrorLevel)
	var announced []*snapshot.Snapshot
	p := snapshot.NewPublisher(snapshot.NewCompiler(r.stores, func() *meshv1alpha1.MeshConfig {
		if boom != nil {
			boom()
		}
		return r.mesh
	}, snapshot.Options{}), zap.New(logs), func(s *snapshot.Snapshot) { announced = append(announced, s) })
	compile := func() error {
		changes, upTo := r.changes.Take()
		return p.Compile(context.Background(), r.stores.MarkSynced(), changes, upTo)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()

	// Nothing is compiled, so there is nothing to read, not even for who waits for no changes.
	if live, err := p.Wait(gone, 0); live != nil || !errors.Is(err, context.Canceled) {
		t.Fatalf("a live snapshot before the first: %v, %v", live, err)
	}

	// Who waits gets the snapshot that holds what was counted, and not one before it.
	r.put(svcA, svcB)
	count := r.changes.Added()
	got := make(chan *snapshot.Live)
	go func() {
		live, err := p.Wait(ctx, count)
		if err != nil {
			t.Error(err)
		}
		got <- live
	}()
	if err := p.Compile(context.Background(), r.stores.MarkSynced(), nil, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(gone, count); err == nil || !strings.Contains(err.Error(), "1 of 2 changes") {
		t.Fatalf("two changes are counted, one is compiled: %v", err)
	}
	if err := compile(); err != nil {
		t.Fatal(err)
	}
	live := <-got
	if live.Current().Service(hostA) == nil || p.Compiled() != count {
		t.Fatalf("compiled %d of %d", p.Compiled(), count)
	}

	// A panic keeps the last snapshot, is reported, and loses nothing.
	good := live.Current()
	boom = func() { panic("boom") }
	r.setMesh(&meshv1alpha1.MeshConfig{TrustDomain: "td"})
	r.stores.Services.Delete(model.NamespacedName{Namespace: "shop", Name: "a"})
	if err := compile(); err == nil || !strings.Contains(err.Error(), "boom") {
		t.Fatalf("a panic gives %v", err)
	}
	if live.Current() != good || p.Compiled() != count || p.Failed() != 1 || logged.Len() != 1 {
		t.Fatalf("after a panic: compiled %d, failed %d, %d lines", p.Compiled(), p.Failed(), logged.Len())
	}
	boom = nil
	r.put(podA1)
	if err := compile(); err != nil {
		t.Fatal(err)
	}
	s := live.Current()
	if s.Mesh().Config.TrustDomain != "td" || s.Service(hostA) != nil || s.Service(hostB) != good.Service(hostB) || p.Compiled() != r.changes.Added() {
		t.Errorf("after the panic: mesh %v, compiled %d of %d", s.Mesh().Config, p.Compiled(), r.changes.Added())
	}

	// Each snapshot is announced once, and what gives the same one is not.
	if err := compile(); err != nil || live.Current() != s {
		t.Fatalf("no change gives %v, another snapshot: %t", err, live.Current() != s)
	}
	if !slices.Equal(announced, []*snapshot.Snapshot{good, s}) {
		t.Errorf("%d snapshots are announced, want two", len(announced))
	}
}
