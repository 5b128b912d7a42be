package lifecycle_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/meshd/meshd/internal/lifecycle"
)

// edited changes the field of that name in a constructor of the toy, or removes it where change is nil.
func edited(t *testing.T, ctor any, name string, change func(*reflect.StructField)) []lifecycle.Component {
	t.Helper()
	shown := 0
	out := lifecycle.Edit(toy(newJournal()), ctor, func(f reflect.StructField) (reflect.StructField, bool) {
		if f.Name != name {
			return f, true
		}
		shown++
		if change == nil {
			return f, false
		}
		change(&f)
		return f, true
	})
	if shown != 1 {
		t.Fatalf("the field %s was shown %d times", name, shown)
	}
	return out
}

func tag(old, new string) func(*reflect.StructField) {
	return func(f *reflect.StructField) { f.Tag = reflect.StructTag(strings.Replace(string(f.Tag), old, new, 1)) }
}

func typed[T any](f *reflect.StructField) { f.Type = reflect.TypeFor[T]() }

func TestEdit(t *testing.T) {
	for name, tc := range map[string]struct {
		components []lifecycle.Component
		rule       string
		message    string
	}{
		"a plain parameter of another type": {edited(t, newCA, "arg 1", typed[*value]), "provided", "ca/newCA takes *github.com/meshd/meshd/internal/lifecycle_test.value, which nobody gives"},
		"a field of a parameter struct":     {edited(t, newAdmin, "Pages", tag("pages", "pagse")), "groups-are-fed", "admin/newAdmin reads github.com/meshd/meshd/internal/lifecycle_test.toyPage[group=pagse], to which nobody contributes"},
		"a tag of a result":                 {edited(t, newSynced, "Synced", nil), "step-tags", `step informers.wait: tag sets names "Synced"`},
		"a phase":                           {edited(t, newCA, "Create", tag("identity", "preflight")), "loaded-before-read", "step ca.create (phase preflight) reads a value that config.load sets only in phase load"},
		"a whole Published":                 {edited(t, newCA, "CA", nil), "provided", "roots/newRoots takes lifecycle.Loaded"},
		"a plain result":                    {edited(t, newPage[*toyConfig], "Page", nil), "no-dead-constructors", "config/newPage"},
	} {
		t.Run(name, func(t *testing.T) {
			_, violations := lifecycle.Analyze(tc.components)
			message := tc.message
			for _, v := range violations {
				if v.Rule == tc.rule && strings.Contains(strings.ReplaceAll(v.Message, "github.com/meshd/meshd/internal/lifecycle.Loaded", "lifecycle.Loaded"), message) {
					return
				}
			}
			t.Errorf("no violation of %s with %q in\n%v", tc.rule, tc.message, violations)
		})
	}
}

// An edit that is sound changes the plan, and nothing else.
func TestEditChangesThePlan(t *testing.T) {
	p := analyzed(t, edited(t, newRoots, "arg 1", typed[lifecycle.Peek[*toyCA]]))
	if p.Precedes("ca.create", "roots.collect") {
		t.Error("a peek orders")
	}
	p = analyzed(t, edited(t, newFilter, "arg 2", nil))
	if p.Precedes("kube.connect", "filter.load") || !p.Precedes("config.load", "filter.load") {
		t.Error("removing a parameter did not remove its order, and only that")
	}
	p = analyzed(t, edited(t, newAdmin, "Config", nil))
	for _, e := range p.Graph.Edges() {
		if e.Consumer == "admin/newAdmin" && e.Kind == lifecycle.Peeks {
			t.Errorf("the edge is still there: %v", e)
		}
	}
	p = analyzed(t, edited(t, newPlain, "Plain", tag(`rank:"2"`, `rank:"0"`)))
	if !p.Precedes("listeners.plain", "listeners.secure") {
		t.Error("the rank did not change")
	}
}

// The identity changes nothing; the list that is given stays as it is; edits add up.
func TestEditLeavesTheRestAlone(t *testing.T) {
	cs := toy(newJournal())
	want := written(t, analyzed(t, cs))
	same := cs
	for _, ctor := range []any{newConfig, newAdmin, newInformers, newPage[*toyConfig], newServer} {
		same = lifecycle.Edit(same, ctor, func(f reflect.StructField) (reflect.StructField, bool) { return f, true })
	}
	if got := written(t, analyzed(t, same)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	twice := lifecycle.Edit(edited(t, newFilter, "arg 2", nil), newFilter, func(f reflect.StructField) (reflect.StructField, bool) { return f, f.Name != "arg 1" })
	if p := analyzed(t, twice); p.Precedes("config.load", "filter.load") || p.Precedes("kube.connect", "filter.load") {
		t.Error("the second edit undid the first, or did nothing")
	}
	if got := written(t, analyzed(t, cs)); got != want {
		t.Error("the list that was given has changed")
	}
}

func TestEditedIsNotRun(t *testing.T) {
	_, err := lifecycle.New(edited(t, newFilter, "arg 2", nil), nop(), lifecycle.Options{})
	if err == nil || !strings.Contains(err.Error(), "constructor filter/newFilter was edited: it is there to be looked at, not to be run") {
		t.Errorf("got %v", err)
	}
}
