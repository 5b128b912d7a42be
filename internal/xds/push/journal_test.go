package push

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meshd/meshd/internal/model"
	"github.com/meshd/meshd/internal/xds/debounce"
)

func newJournal(t testing.TB) (*Journal, *prometheus.Registry) {
	t.Helper()
	reg := prometheus.NewRegistry()
	j, err := New(reg)
	if err != nil {
		t.Fatal(err)
	}
	return j, reg
}

func batch(kinds ...model.Kind) debounce.Batch {
	b := debounce.Batch{Changes: map[model.Change]struct{}{}, First: time.Now().Add(-2 * time.Second), Last: time.Now().Add(-time.Second)}
	for _, kind := range kinds {
		b.Changes[model.Change{Kind: kind, NamespacedName: model.NamespacedName{Name: "a"}}] = struct{}{}
	}
	return b
}

// publish books a push from beginning to end.
func publish(j *Journal, version uint64) *Push {
	j.Begin(batch(model.KindService))
	j.Publish(version)
	j.End(nil)
	return j.Of(version)
}

func sum(t testing.TB, reg *prometheus.Registry, name string) (count uint64, total float64) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				count += m.GetHistogram().GetSampleCount()
				total += m.GetHistogram().GetSampleSum() + m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return count, total
}

func TestJournal(t *testing.T) {
	j, reg := newJournal(t)
	if j.Of(1) != nil || len(j.Between(nil, nil)) != 0 {
		t.Error("an empty journal knows a push")
	}
	j.Begin(batch(model.KindService, model.KindPod, model.KindEndpointSlice, model.KindMeshConfig, model.KindNamespace, model.KindServiceAccount, model.KindNode))
	if j.Of(1) != nil {
		t.Error("what is not published is known")
	}
	j.Publish(1)
	first := j.Of(1)
	j.End(nil)
	if first == nil || first.Number != 1 || first.Taken.Before(first.Last) || first.Compiled.Before(first.Taken) {
		t.Fatalf("got %+v", first)
	}
	for reason, n := range map[Reason]int{Service: 1, Proxy: 1, Endpoint: 1, Global: 2, Namespace: 1, Config: 1} {
		if first.Reasons[reason] != n {
			t.Errorf("%d changes are a reason of %s, want %d", first.Reasons[reason], reason, n)
		}
	}

	// One that comes to nothing leaves no push, and counts as compiled.
	j.Begin(batch(model.KindPod))
	j.End(nil)
	third := publish(j, 3)
	if j.Of(2) != nil || third.Number != 2 {
		t.Errorf("got %+v and %+v", j.Of(2), third)
	}
	if n, total := sum(t, reg, "pilot_debounce_time"); n != 2 || total < 4 {
		t.Errorf("debounce time: %d, %v s", n, total)
	}
	if n, _ := sum(t, reg, "pilot_pushcontext_init_seconds"); n != 3 {
		t.Errorf("%d compilations", n)
	}

	// Only the latest are kept, and Between gives what is kept of a stretch.
	for v := uint64(4); v < 4+2*kept; v++ {
		publish(j, v)
	}
	last := j.Of(3 + 2*kept)
	if j.Of(1) != nil || last == nil || len(j.Between(first, last)) != kept {
		t.Errorf("%d pushes since the first are kept, want %d", len(j.Between(first, last)), kept)
	}
	var numbers []uint64
	for _, p := range j.Between(j.Of(last.version-3), j.Of(last.version-1)) {
		numbers = append(numbers, last.Number-p.Number)
	}
	if want := []uint64{2, 1}; !slices.Equal(numbers, want) {
		t.Errorf("got those %v before the last, want %v", numbers, want)
	}
	if len(j.Between(last, last)) != 0 {
		t.Error("something lies between a push and itself")
	}

	for _, c := range []model.Change{
		{Kind: model.KindService}, {Kind: model.KindService, What: model.AspectEndpoints}, {Kind: model.KindEndpointSlice}, {Kind: model.KindMeshConfig},
	} {
		j.Changed(c)
	}
	if _, total := sum(t, reg, "pilot_inbound_updates"); total != 4 {
		t.Errorf("%v changes came", total)
	}
	if _, err := New(reg); err == nil {
		t.Error("metrics are registered twice")
	}
}

// What is not traced costs nothing.
func TestUntracedAllocatesNothing(t *testing.T) {
	j, _ := newJournal(t)
	pushes := []*Push{publish(j, 1)}
	response := Response{Node: "a", Type: "cds", Resources: 3, Bytes: 100}
	if n := testing.AllocsPerRun(100, func() {
		pushes[0].Generate("cds").End()
		Sent(pushes, response).Answered(time.Time{}, false)
		(*Push)(nil).Generate("cds").End()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
