package lifecycle_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/testkit/fxdot"
)

// analyzed fails the test where the components are not sound.
func analyzed(t testing.TB, cs []lifecycle.Component) *lifecycle.Plan {
	t.Helper()
	p, violations := lifecycle.Analyze(cs)
	for _, v := range violations {
		t.Error(v)
	}
	if t.Failed() {
		t.FailNow()
	}
	return p
}

// written is everything that a plan says, as text.
func written(t testing.TB, p *lifecycle.Plan) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", " ")
	for _, s := range p.Steps {
		b.WriteString(s.Phase.String() + " " + s.Name + " after " + strings.Join(p.Before(s.Name), ",") + "\n")
	}
	for _, c := range p.Graph.Constructors {
		b.WriteString(c.ID + " " + c.Pos() + "\n")
	}
	for _, v := range []any{p.Order, p.Graph.Edges()} {
		if err := enc.Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func shuffled(cs []lifecycle.Component, rng *rand.Rand) []lifecycle.Component {
	out := slices.Clone(cs)
	rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	for i := range out {
		out[i].New = slices.Clone(out[i].New)
		rng.Shuffle(len(out[i].New), func(a, b int) { out[i].New[a], out[i].New[b] = out[i].New[b], out[i].New[a] })
	}
	return out
}

func TestToyIsSound(t *testing.T) {
	p := analyzed(t, toy(newJournal()))
	var names []string
	for _, s := range p.Steps {
		names = append(names, s.Name)
	}
	want := []string{"listeners.bind", "admin.health", "admin.debug", "config.load", "kube.connect", "filter.load", "ca.create", "cert.issue", "roots.collect",
		"informers.build", "services.wire", "xds.push", "informers.wait", "services.sync", "snapshot.catch-up", "listeners.secure", "listeners.plain", "leader.campaign", "ready.announce"}
	if !slices.Equal(names, want) {
		t.Errorf("plan\n%q, want\n%q", names, want)
	}
	if slices.Sort(names); !slices.Equal(names, toySteps) {
		t.Errorf("steps %q, want %q", names, toySteps)
	}
}

func TestGraphAndPlanAreTheSameInAnyOrderOfTheList(t *testing.T) {
	cs := toy(newJournal())
	want := written(t, analyzed(t, cs))
	for seed := range uint64(200) {
		if got := written(t, analyzed(t, shuffled(cs, rand.New(rand.NewPCG(seed, 1))))); got != want {
			t.Fatalf("seed %d:\n%s\nwant\n%s", seed, got, want)
		}
	}
}

func TestViolationsAreTheSameInAnyOrderOfTheList(t *testing.T) {
	cs := with(toy(newJournal()), "services", newServices) // reads Synced too early
	cs = with(cs, "ready")
	cs = with(cs, "xds")
	_, want := lifecycle.Analyze(cs)
	if len(want) < 4 {
		t.Fatalf("too few violations to compare: %v", want)
	}
	for seed := range uint64(100) {
		if _, got := lifecycle.Analyze(shuffled(cs, rand.New(rand.NewPCG(seed, 2)))); !slices.Equal(got, want) {
			t.Fatalf("seed %d:\n%v\nwant\n%v", seed, got, want)
		}
	}
}

func TestGraphEqualsThatOfFx(t *testing.T) {
	cs := toy(newJournal())
	edges, err := fxdot.Edges(cs)
	if err != nil {
		t.Fatal(err)
	}
	if len(edges) < 60 {
		t.Errorf("fx shows only %d edges", len(edges))
	}
	if diff, err := fxdot.Diff(cs); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

func panicking(*journal) configOut { panic("a constructor ran") }

func TestAnalyzeRunsNoConstructor(t *testing.T) {
	analyzed(t, with(toy(newJournal()), "config", panicking, newPage[*toyConfig]))
}

func BenchmarkAnalyze(b *testing.B) {
	cs := toy(newJournal())
	for b.Loop() {
		analyzed(b, cs)
	}
}
