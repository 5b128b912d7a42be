package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Violation is one thing that is wrong with a graph or a plan.
type Violation struct {
	// Rule is the id of the rule that is broken.
	Rule string `json:"rule"`
	// Message says what is wrong, with the edge or path.
	Message string `json:"message"`
	// Symptom is what a user would have seen.
	Symptom string `json:"symptom,omitempty"`
	// Pos is the file and line of the constructor to look at.
	Pos string `json:"pos,omitempty"`
}

// String gives the violation in one line.
func (v Violation) String() string {
	s := v.Rule + ": " + v.Message
	if v.Pos != "" {
		s += " (" + v.Pos + ")"
	}
	if v.Symptom != "" {
		s += "; symptom: " + v.Symptom
	}
	return s
}

// Check finds what fx leaves unsaid, and what it would only say at start: missing and double providers, circles, dead
// constructors, groups that are fed or read by nobody, optional parameters, slots without a setter.
func (g *Graph) Check() []Violation {
	out := slices.Clone(g.Malformed)
	for _, find := range []func() []Violation{g.checkProviders, g.checkGroups, g.checkSlots, g.checkCircles, g.checkDead} {
		out = append(out, find()...)
	}
	sortViolations(out)
	return slices.Compact(out)
}

func (g *Graph) checkProviders() []Violation {
	var out []Violation
	for _, c := range g.Constructors {
		for _, p := range c.Params {
			if p.Optional {
				out = append(out, Violation{Rule: "no-optional", Pos: c.Pos(), Symptom: "a part that is missing is silently left out",
					Message: fmt.Sprintf("%s takes %s as optional: list another constructor for the case without it", c.ID, p.Key.Short())})
			}
			if p.Role != RoleGroup && len(g.providers[p.Key]) == 0 {
				out = append(out, Violation{Rule: "provided", Pos: c.Pos(), Symptom: "the process does not start",
					Message: fmt.Sprintf("%s takes %s, which nobody gives", c.ID, p.Key)})
			}
			if p.Role == RoleStep {
				out = append(out, Violation{Rule: "steps-belong-to-the-runner", Pos: c.Pos(), Symptom: "the step runs twice, or out of its turn",
					Message: fmt.Sprintf("%s takes the step %s", c.ID, p.Key.Short())})
			}
		}
	}
	for key, from := range g.providers {
		if key.Group == "" && len(from) > 1 {
			out = append(out, Violation{Rule: "provided-once", Pos: from[1].Pos(), Symptom: "the process does not start",
				Message: fmt.Sprintf("%s and %s both give %s", from[0].ID, from[1].ID, key)})
		}
	}
	return out
}

func (g *Graph) checkGroups() []Violation {
	var out []Violation
	const symptom = "what was contributed is never seen, without an error"
	fed, read := map[Key]*Constructor{}, map[Key]*Constructor{}
	for _, c := range g.Constructors {
		for _, r := range c.Results {
			if r.Role == RoleGroup {
				fed[r.Key] = cmp.Or(fed[r.Key], c)
			}
		}
		for _, p := range c.Params {
			if p.Role == RoleGroup {
				read[p.Key] = cmp.Or(read[p.Key], c)
			}
		}
	}
	for key, c := range fed {
		if read[key] == nil {
			out = append(out, Violation{Rule: "groups-are-read", Pos: c.Pos(), Symptom: symptom,
				Message: fmt.Sprintf("%s contributes to %s, which nobody reads%s", c.ID, key, nearest(key, read))})
		}
	}
	for key, c := range read {
		if fed[key] == nil {
			out = append(out, Violation{Rule: "groups-are-fed", Pos: c.Pos(), Symptom: symptom,
				Message: fmt.Sprintf("%s reads %s, to which nobody contributes%s", c.ID, key, nearest(key, fed))})
		}
	}
	return out
}

// nearest proposes the group that was probably meant: the same name with another type, or the same type.
func nearest(key Key, others map[Key]*Constructor) string {
	var hints []string
	for other, c := range others {
		if other.Group == key.Group || other.Type == key.Type {
			hints = append(hints, fmt.Sprintf("; %s has %s", c.ID, other))
		}
	}
	slices.Sort(hints)
	return strings.Join(hints, "")
}

func (g *Graph) checkSlots() []Violation {
	var out []Violation
	for of, slot := range g.slots {
		if slot.setter == nil {
			out = append(out, Violation{Rule: "slot-is-set", Pos: slot.owner.Pos(), Symptom: "whoever waits for the value waits for ever",
				Message: fmt.Sprintf("%s publishes %s as %s, but no step's tag sets it", slot.owner.ID, typeName(of), slot.field)})
		}
	}
	for _, c := range g.Constructors {
		for _, p := range c.Params {
			for _, from := range g.providers[p.Key] {
				if p.Role == RoleSlot && from.Component != c.Component {
					out = append(out, Violation{Rule: "slot-stays-home", Pos: c.Pos(), Symptom: "the start fails where a part sets what it does not own",
						Message: fmt.Sprintf("%s takes the slot %s of component %s: take a Loaded, Peek or Gate", c.ID, p.Key.Short(), from.Component)})
				}
			}
		}
	}
	return out
}

// checkCircles finds circles of constructors over everything that fx has to build first, groups included.
func (g *Graph) checkCircles() []Violation {
	var out []Violation
	state := map[*Constructor]int{} // 1 on the way, 2 done
	var walk func(c *Constructor, path []string)
	walk = func(c *Constructor, path []string) {
		state[c] = 1
		path = append(path, c.ID)
		for _, p := range c.Params {
			for _, next := range g.providers[p.Key] {
				switch state[next] {
				case 0:
					walk(next, path)
				case 1:
					circle := append(slices.Clone(path[slices.Index(path, next.ID):]), next.ID)
					out = append(out, Violation{Rule: "no-circles", Pos: c.Pos(), Symptom: "the process does not start",
						Message: fmt.Sprintf("constructors need each other: %s", strings.Join(circle, " → "))})
				}
			}
		}
		state[c] = 2
	}
	for _, c := range g.Constructors {
		if state[c] == 0 {
			walk(c, nil)
		}
	}
	return out
}

// checkDead finds constructors that fx would never run: no step of theirs is run, and nobody who runs takes them.
func (g *Graph) checkDead() []Violation {
	alive := map[*Constructor]bool{}
	var mark func(c *Constructor)
	mark = func(c *Constructor) {
		if alive[c] {
			return
		}
		alive[c] = true
		for _, p := range c.Params {
			for _, from := range g.providers[p.Key] {
				mark(from)
			}
		}
	}
	for _, c := range g.Constructors {
		if len(c.Steps) > 0 || c.Component == startupName {
			mark(c)
		}
	}
	var out []Violation
	for _, c := range g.Constructors {
		if !alive[c] {
			out = append(out, Violation{Rule: "no-dead-constructors", Pos: c.Pos(), Symptom: "the part looks wired, and never runs",
				Message: fmt.Sprintf("nobody who runs takes anything that %s gives", c.ID)})
		}
	}
	return out
}

func sortViolations(vs []Violation) {
	slices.SortFunc(vs, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message))
	})
}

func itoa(n int) string { return strconv.Itoa(n) }
