package lifecycle_test

import (
	"slices"
	"strings"
	"testing"

	"go.uber.org/fx"

	"github.com/meshd/meshd/internal/lifecycle"
)

// What the tables below wire. Constructors are never run, so their bodies are empty.
type (
	value struct{}
	lazy  struct{}
	other struct{}

	// firstOut sets lazy, and gives an ordinary value as well.
	firstOut struct {
		fx.Out
		Value *value
		Lazy  lifecycle.Published[lazy]
		First lifecycle.Step `name:"first" phase:"sync" sets:"Lazy"`
	}
	firstLateOut struct {
		fx.Out
		Value *value
		Lazy  lifecycle.Published[lazy]
		First lifecycle.Step `name:"first" phase:"listen" sets:"Lazy"`
	}
	slotOut struct {
		fx.Out
		Slot *lifecycle.Slot[lazy]
		Lazy lifecycle.Published[lazy]
	}
	setterOut struct {
		fx.Out
		First lifecycle.Step `name:"first" phase:"sync" sets:"Lazy"`
	}
	memberOut struct {
		fx.Out
		Member value          `group:"members"`
		First  lifecycle.Step `name:"first" phase:"sync"`
	}
	secondOut struct {
		fx.Out
		Second lifecycle.Step `name:"second" phase:"sync"`
	}
	secondEarlyOut struct {
		fx.Out
		Second lifecycle.Step `name:"second" phase:"register"`
	}
	bothOut struct {
		fx.Out
		First  lifecycle.Step `name:"first" phase:"sync"`
		Second lifecycle.Step `name:"second" phase:"sync"`
	}
	rankOneOut struct {
		fx.Out
		First lifecycle.Step `name:"first" phase:"sync" rank:"1"`
	}
	rankTwoOut struct {
		fx.Out
		Second lifecycle.Step `name:"second" phase:"sync" rank:"2"`
	}
	rankTooOut struct {
		fx.Out
		Second lifecycle.Step `name:"second" phase:"sync" rank:"1"`
	}
)

func component(name string, ctors ...any) lifecycle.Component {
	return lifecycle.Component{Name: name, For: "a test", New: ctors}
}

func first() (o firstOut)                        { return o }
func secondOf[T any](T) (o secondOut)            { return o }
func secondEarlyOf[T any](T) (o secondEarlyOut)  { return o }
func through[T any](T) *other                    { return nil }
func slotOf() (o slotOut)                        { return o }
func setter(*lifecycle.Slot[lazy]) (o setterOut) { return o }
func memberFrom[T any](T) (o memberOut)          { return o }
func membersTaken(struct {
	fx.In
	Members []value `group:"members"`
}) (o secondOut) {
	return o
}
func rankOne() (o rankOneOut) { return o }
func rankTwo() (o rankTwoOut) { return o }
func alone() (o secondOut)    { return o }

func TestOrderRule(t *testing.T) {
	type loaded = lifecycle.Loaded[lazy]
	for name, tc := range map[string]struct {
		components []lifecycle.Component
		reason     lifecycle.Reason // "" where the two must not be ordered
		via        string           // of what Order says
	}{
		"needs": {
			components: []lifecycle.Component{component("a", first), component("b", secondOf[*value])},
			reason:     lifecycle.ByNeeds, via: "b/secondOf *lifecycle_test.value a/first",
		},
		"needs, through a constructor without steps": {
			components: []lifecycle.Component{component("a", first), component("b", through[*value]), component("c", secondOf[*other])},
			reason:     lifecycle.ByNeeds, via: "c/secondOf *lifecycle_test.other b/through *lifecycle_test.value a/first",
		},
		"reads": {
			components: []lifecycle.Component{component("a", first), component("b", secondOf[loaded])},
			reason:     lifecycle.ByLoaded, via: "b/secondOf lifecycle.Loaded[lifecycle_test.lazy]",
		},
		"reads, through needs": {
			components: []lifecycle.Component{component("a", first), component("b", through[loaded]), component("c", secondOf[*other])},
			reason:     lifecycle.ByLoaded, via: "c/secondOf *lifecycle_test.other b/through lifecycle.Loaded[lifecycle_test.lazy]",
		},
		"reads what a step of a separate constructor sets": {
			components: []lifecycle.Component{component("a", slotOf, setter), component("b", secondOf[loaded])},
			reason:     lifecycle.ByLoaded, via: "b/secondOf lifecycle.Loaded[lifecycle_test.lazy]",
		},
		"field": {
			components: []lifecycle.Component{component("a", func() (o bothOut) { return o })},
			reason:     lifecycle.ByField, via: "Second First",
		},
		"rank": {
			components: []lifecycle.Component{component("a", rankOne, rankTwo)},
			reason:     lifecycle.ByRank, via: "2 1",
		},
		"equal ranks do not order":             {components: []lifecycle.Component{component("a", rankOne, func() (o rankTooOut) { return o })}},
		"ranks of two components do not":       {components: []lifecycle.Component{component("a", rankOne), component("b", rankTwo)}},
		"a rank against none does not":         {components: []lifecycle.Component{component("a", rankOne, alone)}},
		"being of one component does not":      {components: []lifecycle.Component{component("a", first, alone)}},
		"a peek does not":                      {components: []lifecycle.Component{component("a", first), component("b", secondOf[lifecycle.Peek[lazy]])}},
		"a gate does not":                      {components: []lifecycle.Component{component("a", first), component("b", secondOf[lifecycle.Gate[lazy]])}},
		"a peek through needs does not":        {components: []lifecycle.Component{component("a", first), component("b", through[lifecycle.Peek[lazy]]), component("c", secondOf[*other])}},
		"a group does not, read":               {components: []lifecycle.Component{component("a", memberFrom[struct{}], func() struct{} { return struct{}{} }), component("b", membersTaken)}},
		"taking the slot orders by needs only": {components: []lifecycle.Component{component("a", slotOf, setter, secondOf[*lifecycle.Slot[lazy]])}},
	} {
		t.Run(name, func(t *testing.T) {
			p := analyzed(t, tc.components)
			if p.Precedes("second", "first") {
				t.Error("second precedes first")
			}
			if got := p.Precedes("first", "second"); got != (tc.reason != "") {
				t.Fatalf("first precedes second: %v", got)
			}
			if tc.reason == "" {
				if len(p.Order) > 0 {
					t.Errorf("order %v, want none", p.Order)
				}
				return
			}
			want := lifecycle.Order{Before: "first", After: "second", Reason: tc.reason}
			if len(p.Order) != 1 || p.Order[0].Before != want.Before || p.Order[0].After != want.After || p.Order[0].Reason != want.Reason {
				t.Fatalf("order %v, want %v", p.Order, want)
			}
			if got := strings.Join(p.Order[0].Via, " "); got != tc.via {
				t.Errorf("via %q, want %q", got, tc.via)
			}
			if got := p.Before("second"); !slices.Equal(got, []string{"first"}) {
				t.Errorf("before second: %q", got)
			}
		})
	}
}

// The member of a group may read what the step that consumes the group sets, if the slot is made apart.
func TestMemberOfAGroupComesAfterItsConsumer(t *testing.T) {
	type consumerOut struct {
		fx.Out
		Second lifecycle.Step `name:"second" phase:"sync" sets:"Lazy"`
	}
	consumer := func(struct {
		fx.In
		Members []value `group:"members"`
		Slot    *lifecycle.Slot[lazy]
	}) (o consumerOut) {
		return o
	}
	p := analyzed(t, []lifecycle.Component{component("a", memberFrom[lifecycle.Loaded[lazy]]), component("b", slotOf, consumer)})
	if !p.Precedes("second", "first") {
		t.Error("the reader is not ordered after the setter")
	}
	// Made by the consumer itself, the slot closes a circle of constructors.
	whole := func(struct {
		fx.In
		Members []value `group:"members"`
	}) (o firstOut) {
		return o
	}
	type readerOut struct {
		fx.Out
		Member value          `group:"members"`
		Second lifecycle.Step `name:"second" phase:"sync"`
	}
	_, violations := lifecycle.Analyze([]lifecycle.Component{component("a", func(lifecycle.Loaded[lazy]) (o readerOut) { return o }), component("b", whole)})
	expect(t, violations, "no-circles", "constructors need each other: a/TestMemberOfAGroupComesAfterItsConsumer.func3 → b/TestMemberOfAGroupComesAfterItsConsumer.func2 → a/TestMemberOfAGroupComesAfterItsConsumer.func3")
}

func TestPhaseOrders(t *testing.T) {
	type lateOut struct {
		fx.Out
		Second lifecycle.Step `name:"second" phase:"lead"`
	}
	p := analyzed(t, []lifecycle.Component{component("b", func() (o lateOut) { return o }), component("z", first)})
	if !p.Precedes("first", "second") || p.Precedes("second", "first") {
		t.Error("phases do not order")
	}
	if len(p.Order) != 0 || p.Before("second") != nil {
		t.Errorf("order across phases is written down: %v", p.Order)
	}
	if p.Steps[0].Name != "first" || p.Steps[1].Name != "second" {
		t.Errorf("steps %v", p.Steps)
	}
}

func TestPlanRefuses(t *testing.T) {
	type loaded = lifecycle.Loaded[lazy]
	type selfOut struct {
		fx.Out
		First lifecycle.Step `name:"first" phase:"sync" sets:"Lazy"`
	}
	type rankBackOut struct {
		fx.Out
		Value *value
		First lifecycle.Step `name:"first" phase:"sync" rank:"2"`
	}
	type rankFrontOut struct {
		fx.Out
		Second lifecycle.Step `name:"second" phase:"sync" rank:"1"`
	}
	for name, tc := range map[string]struct {
		components []lifecycle.Component
		rule       string
		message    string
	}{
		"a read of what is set in a later phase": {
			[]lifecycle.Component{component("a", func() (o firstLateOut) { return o }), component("b", secondOf[loaded])},
			"loaded-before-read", "step second (phase sync) reads a value that first sets only in phase listen: b/secondOf → lifecycle.Loaded[",
		},
		"the same, through needs": {
			[]lifecycle.Component{component("a", first), component("b", through[loaded]), component("c", secondEarlyOf[*other])},
			"loaded-before-read", "step second (phase register) reads a value that first sets only in phase sync: c/secondEarlyOf → *lifecycle_test.other → b/through → lifecycle.Loaded[",
		},
		"a step that reads what it sets itself": {
			[]lifecycle.Component{component("a", slotOf, func(*lifecycle.Slot[lazy], loaded) (o selfOut) { return o })},
			"loaded-before-read", "step first reads the value that it sets itself: a/TestPlanRefuses.func2 → lifecycle.Loaded[",
		},
		"a rank against a need": {
			[]lifecycle.Component{component("a", func() (o rankBackOut) { return o }, func(*value) (o rankFrontOut) { return o })},
			"no-circles", "step first would have to come before itself, by way of second (rank)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, violations := lifecycle.Analyze(tc.components)
			expect(t, violations, tc.rule, tc.message)
		})
	}
}

// expect asks for a violation of a rule whose message contains a text, and that it says where to look.
func expect(t *testing.T, violations []lifecycle.Violation, rule, message string) {
	t.Helper()
	for _, v := range violations {
		if v.Rule == rule && strings.Contains(v.Message, message) {
			if v.Pos == "" {
				t.Errorf("%s has no position", v)
			}
			return
		}
	}
	t.Errorf("no violation of %s with %q in\n%v", rule, message, violations)
}

func TestPathTakesReads(t *testing.T) {
	p := analyzed(t, toy(newJournal()))
	g := p.Graph
	secure, config := g.Constructor("listeners/newSecure"), g.Constructor("config/newConfig")
	if got := strings.Join(p.Path(secure, config), " "); got != "listeners/newSecure lifecycle.Loaded[*lifecycle_test.toyCert] cert/newCert "+
		"lifecycle.Loaded[*lifecycle_test.toyCA] ca/newCA lifecycle.Loaded[*lifecycle_test.toyConfig] config/newConfig" {
		t.Errorf("path %s", got)
	}
	if p.Path(config, secure) != nil {
		t.Error("there is a path backwards")
	}
	if got := p.Takes(secure, "lifecycle_test.toyConfig"); len(got) != 6 {
		t.Errorf("takes %q", got)
	}
	if got := p.Takes(g.Constructor("admin/newAdmin"), "lifecycle_test.toyConfig"); got != nil {
		t.Errorf("a peek counts as taking: %q", got)
	}
	ca := g.Constructor("ca/newCA")
	setter, owner := g.Setter(ca.Results[0].Of)
	if setter != g.Step("ca.create") || owner != ca {
		t.Errorf("setter %v of %v", setter, owner)
	}
	if !p.Reads(secure, ca.Results[0].Of) || p.Reads(config, ca.Results[0].Of) {
		t.Error("Reads is wrong")
	}
	if p.Precedes("config.load", "nobody") || p.Precedes("nobody", "config.load") || p.Precedes("config.load", "config.load") {
		t.Error("Precedes is wrong about a step that is not there, or itself")
	}
}

// Order adds up over reasons of different kinds, and what follows from others is not written down.
func TestOrderIsTransitiveAndReduced(t *testing.T) {
	type middleOut struct {
		fx.Out
		Lazy   lifecycle.Published[lazy]
		Middle lifecycle.Step `name:"middle" phase:"sync" rank:"2" sets:"Lazy"`
		After  lifecycle.Step `name:"middle.after" phase:"sync" rank:"3"`
	}
	p := analyzed(t, []lifecycle.Component{component("a", rankOne, func() (o middleOut) { return o }), component("b", secondOf[lifecycle.Loaded[lazy]])})
	for _, pair := range [][2]string{{"first", "middle"}, {"middle", "middle.after"}, {"first", "middle.after"}, {"first", "second"}, {"middle.after", "second"}} {
		if !p.Precedes(pair[0], pair[1]) || p.Precedes(pair[1], pair[0]) {
			t.Errorf("%s does not precede %s", pair[0], pair[1])
		}
	}
	var got []string
	for _, o := range p.Order {
		got = append(got, o.Before+" "+string(o.Reason)+" "+o.After)
	}
	if want := []string{"first rank middle", "middle field middle.after", "middle.after needs second"}; !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
}
