package modules

import (
	"cmp"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/testkit/fxdot"
)

// The graph is derived without running anything; fx's own view of the same list must have the same edges.
func TestGraphEqualsFx(t *testing.T) {
	for _, v := range Variants() {
		diff, err := fxdot.Diff(All(v.Options))
		if err != nil {
			t.Fatal(err)
		}
		if diff != "" {
			t.Errorf("%s: the derived graph differs from fx's (-fx +derived):\n%s", v.Name, diff)
		}
	}
}

// Constructing the whole application starts no goroutine and opens no file.
func TestConstructionIsPure(t *testing.T) {
	o := runOptions(t)
	build := func() {
		if _, err := lifecycle.New(All(o), zap.NewNop(), lifecycle.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	build() // what is done once per process, such as reading the build's version, is done now
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	others := goleak.IgnoreCurrent() // those of tests before may end meanwhile
	build()
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines before, %d after", goroutines, n)
	}
	if err := goleak.Find(others); err != nil {
		t.Error(err)
	}
	if now := openFiles(t); !slices.Equal(now, files) {
		t.Errorf("open files before %v, after %v", files, now)
	}
	if _, err := os.Stat(o.AddressesFile); err == nil {
		t.Error("constructing wrote a file")
	}
}

func openFiles(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("this system has no /proc/self/fd: %v", err)
	}
	var out []string
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil { // the listing's own is gone
			out = append(out, target)
		}
	}
	slices.Sort(out)
	return out
}

// The plan is the same whatever the order in which components are listed.
func TestPlanDoesNotDependOnTheList(t *testing.T) {
	want, _ := lifecycle.Analyze(All(testOptions()))
	for seed := range uint64(50) {
		got, violations := lifecycle.Analyze(shuffled(All(testOptions()), rand.New(rand.NewPCG(seed, 2))))
		if len(violations) > 0 {
			t.Fatal(violations)
		}
		if !slices.EqualFunc(want.Steps, got.Steps, func(a, b *lifecycle.StepInfo) bool { return a.Name == b.Name }) ||
			!slices.EqualFunc(want.Order, got.Order, func(a, b lifecycle.Order) bool {
				return a.Before == b.Before && a.After == b.After && a.Reason == b.Reason && slices.Equal(a.Via, b.Via)
			}) {
			t.Fatalf("seed %d: another plan", seed)
		}
	}
}

// The trace of a real run tells the order that happened: it must be the plan's.
func TestTraceFollowsPlan(t *testing.T) {
	o := runOptions(t)
	a := start(t, o, All(o), lifecycle.Options{})
	defer a.stop(t)
	plan, record := a.runner.Plan(), a.runner.Trace().Record()
	spans := map[string]lifecycle.Span{}
	constructors := 0
	for _, s := range record.Spans {
		switch s.Kind {
		case "step":
			spans[s.Name] = s
		case "constructor":
			constructors++
		}
	}
	if constructors != len(plan.Graph.Constructors) {
		t.Errorf("%d constructors traced, want %d", constructors, len(plan.Graph.Constructors))
	}
	if len(spans) != len(plan.Steps) || record.Ready == 0 {
		t.Fatalf("%d steps traced, want %d; ready at %v", len(spans), len(plan.Steps), record.Ready)
	}
	for _, after := range plan.Steps {
		s := spans[after.Name]
		if s.State != lifecycle.Started || s.Started == 0 || s.Ended < s.Started || s.Started < s.Queued || s.Ended > record.Ready {
			t.Errorf("step %s: %+v", after.Name, s)
		}
		if !slices.Equal(s.WaitedFor, plan.Before(after.Name)) {
			t.Errorf("step %s waited for %v, planned %v", after.Name, s.WaitedFor, plan.Before(after.Name))
		}
		for _, before := range plan.Steps {
			if plan.Precedes(before.Name, after.Name) && cmp.Compare(spans[before.Name].Ended, s.Started) > 0 {
				t.Errorf("step %s started at %v, before %s had ended at %v", after.Name, s.Started, before.Name, spans[before.Name].Ended)
			}
		}
	}
}
