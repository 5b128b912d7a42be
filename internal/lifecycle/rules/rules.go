// Package rules holds the rules of docs/ordering.md as far as the graph can check them: the order of steps, and the
// path that the data takes.
//
// A rule demands a path and not only an order: a step that no longer takes what the rule is about breaks it, even if
// its phase still comes later. Steps are named, types are given as "package.Type".
package rules

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/meshd/meshd/internal/lifecycle"
)

// Rule is one rule of docs/ordering.md.
type Rule struct {
	// ID as docs/ordering.md names it.
	ID string
	// Text says what must hold.
	Text string
	// Symptom is what a user sees when it does not.
	Symptom string
	// Serves lists pairs of steps, "earlier later", whose order the rule is about; "*" stands for any step, and
	// "phase:NAME" for the steps of a phase.
	Serves []string

	applies func(*lifecycle.Plan) bool
	check   func(*check)
}

// Applies reports whether the components that the rule is about exist in the plan.
func (r Rule) Applies(p *lifecycle.Plan) bool { return r.applies == nil || r.applies(p) }

// Check finds where a plan breaks the rule.
func (r Rule) Check(p *lifecycle.Plan) []lifecycle.Violation {
	c := &check{plan: p, rule: r}
	r.check(c)
	return c.found
}

// CheckAll finds where a plan breaks any of the rules that apply.
func CheckAll(p *lifecycle.Plan) []lifecycle.Violation {
	var out []lifecycle.Violation
	for _, r := range All() {
		if r.Applies(p) {
			out = append(out, r.Check(p)...)
		}
	}
	return out
}

// Serving names the rules that the order of two steps serves.
func Serving(p *lifecycle.Plan, before, after string) []string {
	var out []string
	for _, r := range All() {
		if r.Served(p, before, after) {
			out = append(out, r.ID)
		}
	}
	return out
}

// Served reports whether the rule applies, and rests on one step coming before another.
func (r Rule) Served(p *lifecycle.Plan, before, after string) bool {
	return r.Applies(p) && slices.ContainsFunc(r.Serves, func(pair string) bool {
		a, b, _ := strings.Cut(pair, " ")
		return matches(p, a, before) && matches(p, b, after)
	})
}

func matches(p *lifecycle.Plan, pattern, step string) bool {
	if phase, ok := strings.CutPrefix(pattern, "phase:"); ok {
		s := p.Graph.Step(step)
		return s != nil && s.Phase.String() == phase
	}
	return pattern == "*" || pattern == step
}

// check collects what one rule finds.
type check struct {
	plan  *lifecycle.Plan
	rule  Rule
	found []lifecycle.Violation
}

func (c *check) fail(at *lifecycle.Constructor, format string, args ...any) {
	v := lifecycle.Violation{Rule: c.rule.ID, Message: fmt.Sprintf(format, args...), Symptom: c.rule.Symptom, Pos: demanded()}
	if at != nil {
		v.Pos = at.Pos()
	}
	c.found = append(c.found, v)
}

// demanded is the line of the rule that demands what is not there, for want of a constructor to point at.
func demanded() string {
	var callers [8]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers[:])])
	for {
		frame, more := frames.Next()
		if name := filepath.Base(frame.File); name != "rules.go" {
			return fmt.Sprintf("internal/lifecycle/rules/%s:%d", name, frame.Line)
		}
		if !more {
			return ""
		}
	}
}

// step finds a step that the rule cannot do without.
func (c *check) step(name string) *lifecycle.StepInfo {
	s := c.plan.Graph.Step(name)
	if s == nil {
		c.fail(nil, "step %s does not exist", name)
	}
	return s
}

// inPhase demands that a step exists and is in a phase.
func (c *check) inPhase(name string, phase lifecycle.Phase) *lifecycle.StepInfo {
	s := c.step(name)
	if s != nil && s.Phase != phase {
		c.fail(s.Constructor, "step %s is in phase %s, and belongs into %s", name, s.Phase, phase)
	}
	return s
}

// precedes demands an order of two steps that exist.
func (c *check) precedes(before, after *lifecycle.StepInfo) {
	if before != nil && after != nil && !c.plan.Precedes(before.Name, after.Name) {
		c.fail(after.Constructor, "step %s (phase %s) does not come before step %s (phase %s)", before.Name, before.Phase, after.Name, after.Phase)
	}
}

// takes demands that a constructor takes a value, itself or through what it needs.
func (c *check) takes(at *lifecycle.Constructor, what string) {
	if at != nil && c.plan.Takes(at, what) == nil {
		c.fail(at, "%s does not take %s, neither itself nor through what it needs", at.ID, what)
	}
}

// takesDirectly demands that a constructor has a parameter of a type, in a role.
func (c *check) takesDirectly(at *lifecycle.Constructor, role lifecycle.Role, what string) {
	if at == nil {
		return
	}
	for _, p := range at.Params {
		t := p.Key.Type.String()
		if p.Of != nil {
			t = p.Of.String()
		}
		if name, _, _ := strings.Cut(t, "["); p.Role == role && strings.TrimPrefix(name, "*") == what {
			return
		}
	}
	c.fail(at, "%s has no parameter of type %s of the kind that the rule demands", at.ID, what)
}

// provider finds the one constructor that gives a type.
func (c *check) provider(what string) *lifecycle.Constructor {
	at := provider(c.plan, what)
	if at == nil {
		c.fail(nil, "nobody gives %s", what)
	}
	return at
}

func provider(p *lifecycle.Plan, what string) *lifecycle.Constructor {
	for _, ctor := range p.Graph.Constructors {
		for _, r := range ctor.Results {
			if r.Role == lifecycle.RoleValue && strings.TrimPrefix(r.Key.Type.String(), "*") == what {
				return ctor
			}
		}
	}
	return nil
}

// sets demands that a step sets the slot of a type.
func (c *check) sets(s *lifecycle.StepInfo, what string) {
	if s == nil {
		return
	}
	for _, of := range s.Sets {
		if strings.TrimPrefix(of.String(), "*") == what {
			return
		}
	}
	c.fail(s.Constructor, "step %s does not set %s", s.Name, what)
}

// listening lists the steps of a phase that open a port.
func listening(p *lifecycle.Plan, phase lifecycle.Phase) []*lifecycle.StepInfo {
	var out []*lifecycle.StepInfo
	for _, s := range p.Steps {
		if s.Listener != "" && s.Phase == phase {
			out = append(out, s)
		}
	}
	return out
}

// hasListener reports whether some step opens the port of a flag.
func hasListener(flag string) func(*lifecycle.Plan) bool {
	return func(p *lifecycle.Plan) bool {
		return slices.ContainsFunc(p.Steps, func(s *lifecycle.StepInfo) bool { return s.Listener == flag })
	}
}

// longestBudget is what a step may ask for without saying what outside the process it waits for.
const longestBudget = 30 * time.Second
