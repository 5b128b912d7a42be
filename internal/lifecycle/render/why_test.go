package render

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/meshd/meshd/internal/lifecycle"
)

func toyRules(before, after string) []RuleRef {
	if before == "config.read" && after == "store.fill" {
		return []RuleRef{{ID: "config-before-store", Symptom: "an empty store"}}
	}
	return nil
}

func TestWhyGolden(t *testing.T) {
	toy, mesh := planOf(t, toyComponents()), planOf(t, meshComponents())
	var b bytes.Buffer
	for _, q := range []struct {
		p    *lifecycle.Plan
		a, b string
	}{
		{toy, "config", "store"},                        // reads, and the rule
		{toy, "config.find", "server.open"},             // two phases; field, reads and needs
		{toy, "config.find", "config.read"},             // field
		{toy, "server.open", "server.second"},           // rank
		{toy, "store/newToyIndexed", "server"},          // no steps, and a group does not order
		{toy, "server", "config"},                       // the reverse
		{toy, "store", "store"},                         // itself
		{mesh, "admin.health", "xds.open"},              // only the phases
		{mesh, "sources.start", "xds.open"},             // two hops in one phase
		{mesh, "sources.handlers", "snapshot.catch-up"}, // through a constructor
		{mesh, "grpc/newSecure", "listeners"},           // built before
		{mesh, "controllers", "snapshot.compiler"},      // unordered
		{mesh, "newMesh", "ca"},                         // the function's name alone
	} {
		chain, err := Why(q.p, q.a, q.b, toyRules)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "$ why %s %s\n", q.a, q.b)
		if err := chain.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n")
	}
	golden(t, "why.text", b.Bytes())
}

// Every pair of steps: the answer agrees with the plan, and each hop leads on from where the last one ended.
func TestWhyAgreesWithThePlan(t *testing.T) {
	for _, components := range [][]lifecycle.Component{toyComponents(), meshComponents()} {
		p := planOf(t, components)
		for _, a := range p.Steps {
			for _, b := range p.Steps {
				chain, err := Why(p, a.Name, b.Name, nil)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := chain.Relation == Precedes, p.Precedes(a.Name, b.Name); got != want {
					t.Errorf("%s and %s: relation %s, but the plan says %v", a.Name, b.Name, chain.Relation, want)
				}
				if chain.Relation == Precedes && a.Phase == b.Phase && len(chain.Hops) == 0 {
					t.Errorf("%s precedes %s in one phase, and no hop says why", a.Name, b.Name)
				}
				checkHops(t, p, chain)
			}
		}
	}
}

func checkHops(t *testing.T, p *lifecycle.Plan, c Chain) {
	t.Helper()
	at := c.After
	same := func(a, b string) bool { // a step and its constructor are one place
		place := func(n string) string {
			if s := p.Graph.Step(n); s != nil {
				return s.Constructor.ID
			}
			return n
		}
		return a == b || place(a) == place(b)
	}
	for _, h := range c.Hops {
		if !same(at, h.From) {
			t.Errorf("%s to %s: hop from %s does not go on from %s", c.A, c.B, h.From, at)
		}
		at = h.To
	}
	if len(c.Hops) > 0 && !same(at, c.Before) {
		t.Errorf("%s to %s: the chain ends at %s instead of %s", c.A, c.B, at, c.Before)
	}
}

func TestWhyUnknownNames(t *testing.T) {
	p := planOf(t, meshComponents())
	for name, want := range map[string]string{"mesh-confg": "mesh-config", "ca.crate": "ca.create", "newXD": "xds/newXDS", "listen": "listeners"} {
		for _, pair := range [][2]string{{name, "ca"}, {"ca", name}} {
			_, err := Why(p, pair[0], pair[1], nil)
			var unknown *UnknownName
			if !errors.As(err, &unknown) || !slices.Contains(unknown.Near, want) {
				t.Errorf("%s: error %v, want one that proposes %s", name, err, want)
			}
		}
	}
	if _, err := Why(p, "zzzzzz", "ca", nil); err == nil || strings.Contains(err.Error(), "mean") {
		t.Errorf("error %v proposes something", err)
	}
}

func TestRdepsGolden(t *testing.T) {
	mesh := planOf(t, meshComponents())
	var b bytes.Buffer
	for _, name := range []string{"mesh-config", "sources.start", "sources.handlers", "listeners.secure", "grpc/newSecure", "leader-election"} {
		deps, err := Rdeps(mesh, name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "$ rdeps %s\n", name)
		if err := deps.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n")
	}
	golden(t, "rdeps.text", b.Bytes())

	b.Reset()
	deps, err := Rdeps(planOf(t, toyComponents()), "store")
	if err != nil {
		t.Fatal(err)
	}
	if err := deps.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "rdeps.json", b.Bytes())
	if _, err := Rdeps(mesh, "stor"); err == nil {
		t.Error("no error for an unknown name")
	}
}

// Rdeps reaches exactly what takes from the constructor, over however many hops.
func TestRdepsIsComplete(t *testing.T) {
	p := planOf(t, meshComponents())
	for _, c := range p.Graph.Constructors {
		want := map[string]bool{}
		for grown := true; grown; {
			grown = false
			for _, e := range p.Graph.Edges() {
				if (e.Provider == c.ID || want[e.Provider]) && !want[e.Consumer] {
					want[e.Consumer], grown = true, true
				}
			}
		}
		deps, err := Rdeps(p, c.ID)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		var walk func(d *Dependent)
		walk = func(d *Dependent) {
			for _, next := range d.Dependents {
				got[next.Name] = true
				walk(next)
			}
		}
		walk(deps)
		if len(got) != len(want) {
			t.Errorf("%s: %d dependents, want %d", c.ID, len(got), len(want))
		}
		for name := range want {
			if !got[name] {
				t.Errorf("%s: %s is missing", c.ID, name)
			}
		}
	}
}
