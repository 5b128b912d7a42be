package timeline

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/meshd/meshd/internal/lifecycle"
)

// Link is one part of the critical chain.
type Link struct {
	// Kind is "step", "constructors" (all of them: they run one after another) or "process" (what came before).
	Kind  string `json:"kind"`
	Name  string `json:"name"`
	Phase string `json:"phase,omitempty"`
	// At is when it began, Own how long it took itself, Waiting how long it had waited since its phase began, Idle the
	// time between the end of the link before and its own beginning; in nanoseconds.
	At      time.Duration `json:"at"`
	Own     time.Duration `json:"own"`
	Waiting time.Duration `json:"waiting"`
	Idle    time.Duration `json:"idle"`
	// Because says why it could not begin earlier: "after" a step of its phase, "phase" for the last step of an earlier
	// one, "constructors" if steps could begin once these had run.
	Because string `json:"because,omitempty"`
	Running bool   `json:"running,omitempty"`
	// Slowest names the constructor that took longest.
	Slowest string `json:"slowest,omitempty"`
}

// Critical is what decided when the process was ready: each link could not begin before the one after it in the list
// had ended.
type Critical struct {
	Summary string `json:"summary"`
	// Links begin with what ended last.
	Links []Link `json:"links"`
}

// CriticalChain finds the chain that decided when the process was ready or, in an unfinished start, what it is
// waiting for.
func CriticalChain(r lifecycle.Record) Critical {
	out := Critical{Summary: summary(r), Links: []Link{}}
	last := end(r)
	var steps []lifecycle.Span
	for _, s := range r.Spans {
		if s.Kind == kindStep && started(s) {
			steps = append(steps, s)
		}
	}
	at, found := latest(steps, last, nil)
	for found {
		link := Link{Kind: kindStep, Name: at.Name, Phase: at.Phase, At: at.Started, Own: own(at, last), Waiting: at.Waited(), Running: running(at)}
		// Of what it waited for, what ended last decided; if nothing in its phase, then the end of the phases before.
		before, ok := latest(steps, last, func(s lifecycle.Span) bool { return slices.Contains(at.WaitedFor, s.Name) })
		link.Because = "after"
		if !ok {
			link.Because = "phase"
			before, ok = latest(steps, last, func(s lifecycle.Span) bool { return phase(s) < phase(at) })
		}
		if ok {
			link.Idle = max(0, at.Started-before.Ended)
		} else {
			link.Because = ""
		}
		out.Links = append(out.Links, link)
		at, found = before, ok
		steps = slices.DeleteFunc(steps, func(s lifecycle.Span) bool { return s.Name == link.Name }) // a broken record must not loop
	}
	out.beforeSteps(r)
	return out
}

// latest finds the span that ended last, or that still runs.
func latest(spans []lifecycle.Span, end time.Duration, want func(lifecycle.Span) bool) (lifecycle.Span, bool) {
	var best lifecycle.Span
	found := false
	finish := func(s lifecycle.Span) time.Duration {
		if running(s) {
			return end + 1
		}
		return s.Ended
	}
	for _, s := range spans {
		if want != nil && !want(s) {
			continue
		}
		if !found || cmp.Or(cmp.Compare(finish(s), finish(best)), cmp.Compare(phase(s), phase(best)), cmp.Compare(best.Name, s.Name)) > 0 {
			best, found = s, true
		}
	}
	return best, found
}

func phase(s lifecycle.Span) lifecycle.Phase {
	p, err := lifecycle.ParsePhase(s.Phase)
	if err != nil {
		return 0
	}
	return p
}

// beforeSteps adds the constructors, and what the process did before them.
func (c *Critical) beforeSteps(r lifecycle.Record) {
	first, last, slowest := time.Duration(-1), time.Duration(0), lifecycle.Span{}
	total, n := time.Duration(0), 0
	for _, s := range r.Spans {
		if s.Kind != kindConstructor {
			continue
		}
		n++
		if first < 0 || s.Started < first {
			first = s.Started
		}
		last = max(last, s.Ended)
		total += s.Own()
		if s.Own() > slowest.Own() {
			slowest = s
		}
	}
	if n == 0 {
		return
	}
	if len(c.Links) > 0 {
		oldest := &c.Links[len(c.Links)-1]
		oldest.Because, oldest.Idle = "constructors", max(0, oldest.At-last)
	}
	c.Links = append(c.Links,
		Link{Kind: "constructors", Name: fmt.Sprintf("%d constructors", n), At: first, Own: total, Waiting: max(0, last-first-total), Because: "process", Slowest: slowest.Name},
		Link{Kind: "process", Name: "process start, until the first constructor", Own: first})
}

// WriteText writes the chain, what ended last on top, each line with when it began (@), its own time (+) and how long
// it had waited in its phase.
func (c Critical) WriteText(w io.Writer) error {
	var b strings.Builder
	b.WriteString(c.Summary + "\n")
	if len(c.Links) > 0 {
		b.WriteString("What decided that, the last first: when it began (@), its own time (+), how long it had waited in its phase.\n\n")
	}
	for i, l := range c.Links {
		if i > 0 {
			b.WriteString(strings.Repeat("  ", i-1) + "└─")
		}
		fmt.Fprintf(&b, "%s @%s +%s", oneLine(l.Name), ms(l.At), ms(l.Own))
		if l.Waiting > 0 {
			fmt.Fprintf(&b, ", waited %s", ms(l.Waiting))
		}
		if l.Phase != "" {
			b.WriteString(" (" + oneLine(l.Phase) + ")")
		}
		if l.Slowest != "" {
			b.WriteString(" (slowest: " + oneLine(l.Slowest) + ")")
		}
		if l.Running {
			b.WriteString(", still running")
		}
		if l.Idle >= time.Millisecond {
			fmt.Fprintf(&b, ", %s after what it waited for", ms(l.Idle))
		}
		b.WriteString("\n")
	}
	return writeText(w, &b)
}

// WriteJSON writes the chain as JSON.
func (c Critical) WriteJSON(w io.Writer) error { return writeJSON(w, c) }
