package fxdot

import (
	"strings"
	"testing"

	"go.uber.org/fx"

	"github.com/meshd/meshd/internal/lifecycle"
)

type (
	clock  struct{}
	member struct{}
	store  struct{}
)

type given struct {
	fx.Out
	lifecycle.Published[*store]
	One  member         `group:"members"`
	Many []member       `group:"members,flatten"`
	Step lifecycle.Step `name:"a.start" phase:"load" sets:"Published"`
}

type taken struct {
	fx.In
	Members []member `group:"members"`
	Clock   *clock   `optional:"true"`
	Nested  struct {
		fx.In
		Store lifecycle.Loaded[*store]
	}
}

func newClock() *clock            { panic("a constructor ran") }
func newGiven(*clock) given       { panic("a constructor ran") }
func newTaken(taken) (int, error) { panic("a constructor ran") }

func components() []lifecycle.Component {
	return []lifecycle.Component{{Name: "b", New: []any{newTaken}}, {Name: "a", New: []any{newGiven, newClock}}}
}

func TestEdgesAreThoseOfFx(t *testing.T) {
	edges, err := Edges(components())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range edges {
		got = append(got, strings.ReplaceAll(e.String(), "github.com/meshd/meshd/internal/testkit/", ""))
	}
	want := []string{
		"fxdot.newClock gives *fxdot.clock",
		"fxdot.newGiven gives fxdot.member[group=members]",
		"fxdot.newGiven gives fxdot.member[group=members]",
		"fxdot.newGiven gives lifecycle.Gate[*fxdot.store]",
		"fxdot.newGiven gives lifecycle.Loaded[*fxdot.store]",
		"fxdot.newGiven gives lifecycle.Peek[*fxdot.store]",
		"fxdot.newGiven gives lifecycle.Step[name=a.start]",
		"fxdot.newGiven takes *fxdot.clock",
		"fxdot.newTaken gives int",
		"fxdot.newTaken takes fxdot.member[group=members]",
		"fxdot.newTaken takes lifecycle.Loaded[*fxdot.store]",
		"fxdot.newTaken takes optionally *fxdot.clock",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	if diff, err := Diff(components()); diff != "" || err != nil {
		t.Errorf("%s (%v)", diff, err)
	}
}

func TestEdgesSayWhyFxRefuses(t *testing.T) {
	twice := append(components(), lifecycle.Component{Name: "c", New: []any{func() *clock { return nil }}})
	if _, err := Edges(twice); err == nil || !strings.Contains(err.Error(), "already provided") {
		t.Errorf("got %v", err)
	}
}

func TestParseRefusesWhatItDoesNotKnow(t *testing.T) {
	if _, err := parse("digraph {\n\tsomething new\n}"); err == nil {
		t.Error("an unknown line was passed over")
	}
}
