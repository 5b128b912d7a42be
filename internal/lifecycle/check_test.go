package lifecycle_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/fx"

	"github.com/meshd/meshd/internal/lifecycle"
)

// Every fault of a list that fx leaves unsaid, or says only when the process starts.
func TestCheck(t *testing.T) {
	type noNameOut struct {
		fx.Out
		S lifecycle.Step `phase:"sync"`
	}
	type noPhaseOut struct {
		fx.Out
		S lifecycle.Step `name:"s"`
	}
	type badPhaseOut struct {
		fx.Out
		S lifecycle.Step `name:"s" phase:"sink"`
	}
	type badBudgetOut struct {
		fx.Out
		S lifecycle.Step `name:"s" phase:"sync" budget:"5"`
	}
	type badStopOut struct {
		fx.Out
		S lifecycle.Step `name:"s" phase:"sync" stop:"-1s"`
	}
	type badRankOut struct {
		fx.Out
		S lifecycle.Step `name:"s" phase:"sync" rank:"last"`
	}
	type badTagOut struct {
		fx.Out
		S lifecycle.Step `name:"s" phase:"sync" budgte:"5s"`
	}
	type groupedOut struct {
		fx.Out
		S lifecycle.Step `name:"s" phase:"sync" group:"steps"`
	}
	type twinsOut struct {
		fx.Out
		A lifecycle.Step `name:"s" phase:"sync"`
		B lifecycle.Step `name:"s" phase:"sync"`
	}
	type setsNothingOut struct {
		fx.Out
		S lifecycle.Step `name:"s" phase:"sync" sets:"Lazy"`
	}
	type setTwiceOut struct {
		fx.Out
		Lazy lifecycle.Published[lazy]
		A    lifecycle.Step `name:"a" phase:"sync" sets:"Lazy"`
		B    lifecycle.Step `name:"b" phase:"sync" sets:"Lazy"`
	}
	type lazyTooOut struct {
		fx.Out
		Lazy lifecycle.Published[other]
	}
	type optionalIn struct {
		fx.In
		V *value `optional:"true"`
	}
	type stepIn struct {
		fx.In
		S lifecycle.Step `name:"second"`
	}
	type softIn struct {
		fx.In
		V []value `group:"members,soft"`
	}
	type noSliceIn struct {
		fx.In
		V value `group:"members"`
	}
	type misspeltIn struct {
		fx.In
		V []value `group:"member"`
	}
	type wrongTypeIn struct {
		fx.In
		V []other `group:"members"`
	}
	type embeddedSlot struct{ lifecycle.Loaded[lazy] }
	member := memberFrom[lifecycle.Peek[lazy]]
	var missing func() *value
	list := func(ctors ...any) []lifecycle.Component { return []lifecycle.Component{component("a", ctors...)} }

	for name, tc := range map[string]struct {
		components    []lifecycle.Component
		rule, message string
	}{
		"an fx option":             {list(fx.Invoke(func() {})), "plain-constructors", "entry of type fx.invokeOption is not a function"},
		"an annotated constructor": {list(fx.Annotate(first, fx.ResultTags(`name:"x"`))), "plain-constructors", "is not a function"},
		"nil":                      {list(nil), "plain-constructors", "is not a function"},
		"a function that is nil":   {list(missing), "plain-constructors", "(or is nil)"},
		"a variadic constructor":   {list(func(...int) (o secondOut) { return o }), "plain-constructors", "variadic"},
		"one constructor twice":    {list(first, first), "constructor-unique", "constructor a/first is listed twice"},
		"one name for two":         {append(list(first), component("a", alone)), "component-unique", `two components have the name "a"`},

		"a step without a name":             {list(func() (o noNameOut) { return o }), "step-tags", "step field S of a/TestCheck.func"},
		"a step without a phase":            {list(func() (o noPhaseOut) { return o }), "step-tags", `unknown phase "": want one of preflight, admin`},
		"an unknown phase":                  {list(func() (o badPhaseOut) { return o }), "step-tags", `unknown phase "sink"`},
		"a budget without a unit":           {list(func() (o badBudgetOut) { return o }), "step-tags", `tag budget: "5" is not a positive duration`},
		"a negative stop budget":            {list(func() (o badStopOut) { return o }), "step-tags", `tag stop: "-1s" is not a positive duration`},
		"a rank in words":                   {list(func() (o badRankOut) { return o }), "step-tags", `tag rank: "last" is not a number`},
		"a misspelt tag":                    {list(func() (o badTagOut) { return o }), "step-tags", `unknown tag "budgte"`},
		"a step in a group":                 {list(func() (o groupedOut) { return o }), "step-tags", `unknown tag "group"`},
		"a step that stands alone":          {list(func() (s lifecycle.Step) { return s }), "step-tags", "tag name is missing"},
		"two steps of one name":             {append(list(first), component("b", rankOne)), "step-tags", `the name "first" belongs to field First of a/first already`},
		"two steps of one name, in one":     {list(func() (o twinsOut) { return o }), "step-tags", `the name "s" belongs to field A of`},
		"sets a field that is not there":    {list(func() (o setsNothingOut) { return o }), "step-tags", `tag sets names "Lazy", and 0 constructors of component a publish such a field`},
		"sets a field of two constructors":  {list(slotOf, func() (o lazyTooOut) { return o }, setter), "step-tags", `tag sets names "Lazy", and 2 constructors`},
		"sets a slot of another component":  {append(list(slotOf), component("b", setter)), "step-tags", `0 constructors of component b publish such a field`},
		"two steps that set one slot":       {list(func() (o setTwiceOut) { return o }), "one-setter", "steps a and b both set github.com/meshd/meshd/internal/lifecycle_test.lazy"},
		"a slot that nobody sets":           {list(slotOf, secondOf[lifecycle.Loaded[lazy]]), "slot-is-set", "a/slotOf publishes github.com/meshd/meshd/internal/lifecycle_test.lazy as Lazy, but no step's tag sets it"},
		"a slot taken by another":           {append(list(slotOf, setter), component("b", secondOf[*lifecycle.Slot[lazy]])), "slot-stays-home", "b/secondOf takes the slot *lifecycle.Slot[lifecycle_test.lazy] of component a"},
		"a value that nobody gives":         {list(secondOf[*value]), "provided", "a/secondOf takes *github.com/meshd/meshd/internal/lifecycle_test.value, which nobody gives"},
		"a pointer to a reader":             {list(first, secondOf[*lifecycle.Loaded[lazy]]), "provided", "which nobody gives"},
		"a type that embeds a reader":       {list(first, secondOf[embeddedSlot]), "provided", "which nobody gives"},
		"fx's own lifecycle":                {list(secondOf[fx.Lifecycle]), "provided", "takes go.uber.org/fx.Lifecycle, which nobody gives"},
		"a value that two give":             {append(list(first), component("b", func() *value { return nil })), "provided-once", "both give *github.com/meshd/meshd/internal/lifecycle_test.value"},
		"an optional parameter":             {list(first, func(optionalIn) (o secondOut) { return o }), "no-optional", "takes *lifecycle_test.value as optional"},
		"a step that is taken":              {list(alone, func(stepIn) (o rankOneOut) { return o }), "steps-belong-to-the-runner", "takes the step lifecycle.Step second"},
		"a group read in parts":             {list(first, member, func(softIn) (o secondOut) { return o }), "groups", `with the option "soft"`},
		"a group read into no slice":        {list(func(noSliceIn) (o secondOut) { return o }), "groups", "which is not a slice"},
		"a group that nobody reads":         {append(list(slotOf, setter), component("b", func(lifecycle.Peek[lazy]) (o serviceOut) { return o })), "groups-are-read", "which nobody reads"},
		"a group that nobody feeds":         {list(membersTaken), "groups-are-fed", "[group=members], to which nobody contributes"},
		"a misspelt group":                  {list(memberFrom[*other], func() *other { return nil }, func(misspeltIn) (o secondOut) { return o }), "groups-are-fed", "[group=member], to which nobody contributes; a/memberFrom has github.com/meshd/meshd/internal/lifecycle_test.value[group=members]"},
		"a group of another type":           {list(memberFrom[*other], func() *other { return nil }, func(wrongTypeIn) (o secondOut) { return o }), "groups-are-read", "which nobody reads; a/TestCheck.func"},
		"a constructor that nobody runs":    {list(first, through[*value]), "no-dead-constructors", "nobody who runs takes anything that a/through gives"},
		"a function that gives nothing":     {list(first, func(*value) {}), "no-dead-constructors", "nobody who runs takes anything"},
		"constructors that need each other": {list(func(*other) (o firstOut) { return o }, through[*value]), "no-circles", "constructors need each other"},
		"a constructor that takes its own":  {list(func(*value) (o firstOut) { return o }), "no-circles", "constructors need each other"},
	} {
		t.Run(name, func(t *testing.T) {
			_, violations := lifecycle.Analyze(tc.components)
			expect(t, violations, tc.rule, tc.message)
			_, err := lifecycle.New(tc.components, nil, lifecycle.Options{})
			if err == nil || !strings.Contains(err.Error(), tc.rule) {
				t.Errorf("New: %v", err)
			}
		})
	}
}

// The rules report once what is wrong once.
func TestCheckReportsNothingTwice(t *testing.T) {
	type in struct {
		fx.In
		A lifecycle.Loaded[lazy]
		B lifecycle.Peek[lazy]
	}
	_, violations := lifecycle.Analyze([]lifecycle.Component{component("a", func(*other) (o firstOut) { return o }, func(in) *other { return nil })})
	seen := map[string]int{}
	for _, v := range violations {
		if seen[v.String()]++; seen[v.String()] > 1 {
			t.Errorf("twice: %s", v)
		}
	}
	if seen := len(seen); seen == 0 {
		t.Error("nothing was found")
	}
}

func TestViolationInOneLine(t *testing.T) {
	v := lifecycle.Violation{Rule: "some-rule", Message: "a before b", Symptom: "nothing works", Pos: "a/b.go:7"}
	if got := v.String(); got != "some-rule: a before b (a/b.go:7); symptom: nothing works" {
		t.Error(got)
	}
}

func TestPositionsAreThoseOfTheConstructors(t *testing.T) {
	g := lifecycle.Derive(toy(newJournal()))
	c := g.Constructor("config/newConfig")
	if c.File != "internal/lifecycle_test/toy_test.go" || c.Line == 0 || !strings.HasPrefix(c.Pos(), c.File+":") {
		t.Errorf("position %s", c.Pos())
	}
	if g.Constructor("config/newPage") == nil || g.Constructor("journal/(*journal).self") == nil {
		t.Error("a generic function or a method value is not named")
	}
}

type box[T any] struct{ v T }

func (b *box[T]) give() T { return b.v }

// Methods of generic types have the type's name and their own.
func TestMethodOfAGenericTypeIsNamed(t *testing.T) {
	g := lifecycle.Derive([]lifecycle.Component{component("a", (&box[*value]{}).give)})
	if g.Constructor("a/(*box).give") == nil {
		t.Errorf("named %q", g.Constructors[0].ID)
	}
}

func TestConstructorErrorsNameComponentAndFunction(t *testing.T) {
	type failingOut struct {
		fx.Out
		S lifecycle.Step `name:"s" phase:"sync"`
	}
	_, err := lifecycle.New([]lifecycle.Component{component("parts", failing), component("user", func(*value) (o failingOut) { return o })}, nop(), lifecycle.Options{})
	if !errors.Is(err, errBoom) || !strings.HasPrefix(err.Error(), "constructing component parts: failing (internal/lifecycle_test/check_test.go:") || !strings.HasSuffix(err.Error(), "): boom") {
		t.Errorf("got %v", err)
	}
	_, err = lifecycle.New([]lifecycle.Component{component("parts", func() *value { panic("oh no") }), component("user", func(*value) (o failingOut) { return o })}, nop(), lifecycle.Options{})
	if err == nil || !strings.Contains(err.Error(), "constructing component parts: TestConstructorErrorsNameComponentAndFunction.func2 (internal/lifecycle_test/check_test.go:") ||
		!strings.HasSuffix(err.Error(), "): panic: oh no") {
		t.Errorf("got %v", err)
	}
	_, err = lifecycle.New([]lifecycle.Component{component("idle", func() (o failingOut) { return o })}, nop(), lifecycle.Options{})
	if err == nil || !strings.Contains(err.Error(), "step s (component idle) has neither Start nor Run nor Stop") {
		t.Errorf("got %v", err)
	}
}

var errBoom = errors.New("boom")

func failing() (*value, error) { return nil, errBoom }

// A constructor that gives readers without a slot behind them is found when the application is built.
func TestEmptyPublishedIsFound(t *testing.T) {
	_, err := lifecycle.New([]lifecycle.Component{component("a", func() firstOut {
		return firstOut{First: lifecycle.Step{Start: func(context.Context) error { return nil }}}
	})}, nop(), lifecycle.Options{})
	if err == nil || !strings.Contains(err.Error(), "step first (component a): its constructor gives an empty Published") {
		t.Errorf("got %v", err)
	}
}

func TestApplicationWithoutSteps(t *testing.T) {
	for name, cs := range map[string][]lifecycle.Component{"no component": nil, "an empty component": {component("a")}} {
		t.Run(name, func(t *testing.T) {
			r, err := lifecycle.New(cs, nop(), lifecycle.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Start(t.Context()); err != nil {
				t.Error(err)
			}
			if err := r.Stop(); err != nil {
				t.Error(err)
			}
			if len(r.Plan().Steps) != 0 || r.Trace().Record().Ready == 0 {
				t.Errorf("plan %v, record %v", r.Plan().Steps, r.Trace().Record())
			}
		})
	}
}

// A type that only embeds a reader is an ordinary value: it does not read, and orders as a value does.
func TestEmbeddingAReaderIsNotReading(t *testing.T) {
	type holds struct{ lifecycle.Loaded[lazy] }
	p := analyzed(t, []lifecycle.Component{component("a", first), component("b", func() holds { return holds{} }, secondEarlyOf[holds])})
	for _, e := range p.Graph.Edges() {
		if e.Kind != lifecycle.Needs {
			t.Errorf("edge %v", e)
		}
	}
}
