package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/meshd/meshd/internal/lifecycle"
)

// Formats names the formats that Write knows, the default first.
func Formats() []string { return []string{"text", "dot", "mermaid", "json", "svg"} }

// Write shows a plan in a format. The error names the formats there are, or is an *UnknownName.
func Write(w io.Writer, format string, p *lifecycle.Plan, o Options) error {
	switch format {
	case "text":
		return Text(w, p, o)
	case "dot":
		return DOT(w, p, o)
	case "mermaid":
		return Mermaid(w, p, o)
	case "json":
		return JSON(w, p, o)
	case "svg":
		return SVG(w, p, o)
	}
	return fmt.Errorf("unknown format %q: want one of %s", format, strings.Join(Formats(), ", "))
}

// JSON writes the Document, indented.
func JSON(w io.Writer, p *lifecycle.Plan, o Options) error {
	d, err := Describe(p, o)
	if err != nil {
		return err
	}
	return writeJSON(w, d)
}

// Text writes what a person reads: phases and steps in order, and who needs whom.
func Text(w io.Writer, p *lifecycle.Plan, o Options) error {
	d, err := Describe(p, o)
	if err != nil {
		return err
	}
	t := &text{d: d}
	t.header(o)
	for i, phase := range d.Phases {
		if len(phase.Steps) > 0 || o.Focus == "" {
			t.phase(i, phase, o)
		}
	}
	if !o.Stop {
		t.constructors()
	}
	if _, err := w.Write(t.b.Bytes()); err != nil {
		return fmt.Errorf("writing the graph: %w", err)
	}
	return nil
}

type text struct {
	d *Document
	b bytes.Buffer
}

// line writes one line. Names come from tags and may hold anything; a line stays a line.
func (t *text) line(indent int, format string, args ...any) {
	s := strings.Repeat(" ", indent) + fmt.Sprintf(format, args...)
	t.b.WriteString(strings.TrimRight(oneLine(s), " ") + "\n")
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '�'
		}
		return r
	}, s)
}

func (t *text) header(o Options) {
	t.line(0, "%s, %s, %s", count(len(t.d.Components), "component"), count(len(t.d.Constructors), "constructor"), count(t.d.stepCount(), "step"))
	if o.Focus != "" {
		t.line(0, "%s (marked *) and its neighbours", o.Focus)
	}
	t.line(0, "")
	if o.Stop {
		t.line(0, "Stop order. Phases stop one after another, the reverse of starting; within a phase, steps stop at the same")
		t.line(0, "time unless \"after\" says otherwise.")
	} else {
		t.line(0, "Start order. Phases run one after another; within a phase, steps run at the same time unless \"after\" says otherwise.")
	}
}

func (t *text) phase(i int, phase Phase, o Options) {
	t.line(0, "")
	title := phase.Name
	if o.Phase == 0 {
		title = fmt.Sprintf("%d %s", i+1, phase.Name)
	}
	if len(phase.Steps) == 0 {
		t.line(0, "%s (no steps)", title)
		return
	}
	t.line(0, "%s", title)
	for _, s := range phase.Steps {
		t.line(2, "%s%-*s  %-*s  %s", mark(s.Focus), t.width(func(s Step) string { return s.Name }), s.Name,
			t.width(func(s Step) string { return s.Component }), s.Component, strings.Join(t.attributes(s, o), ", "))
		for _, order := range t.d.Order {
			if order.After == s.Name {
				t.line(8, "after %s: %s", order.Before, because(order))
			}
		}
	}
}

func mark(focus bool) string {
	if focus {
		return "* "
	}
	return "  "
}

// width gives the width of a column of steps, which is the same in all phases.
func (t *text) width(of func(Step) string) int {
	w := 0
	for _, p := range t.d.Phases {
		for _, s := range p.Steps {
			w = max(w, len([]rune(of(s))))
		}
	}
	return w
}

func (t *text) attributes(s Step, o Options) []string {
	if o.Stop {
		return []string{"stop within " + s.StopBudget}
	}
	out := []string{"within " + s.Budget}
	if s.Waits != "" {
		out[0] = "waits for " + s.Waits + ", reports at least every " + s.Budget
	}
	if s.Listener != "" {
		out = append(out, "listens on --"+strings.TrimLeft(s.Listener, "-"))
	}
	if s.Probe != "" {
		out = append(out, "probe "+s.Probe)
	}
	if len(s.Sets) > 0 {
		out = append(out, "sets "+strings.Join(s.Sets, " and "))
	}
	if s.Rank != nil {
		out = append(out, fmt.Sprintf("rank %d", *s.Rank))
	}
	return out
}

// because says why one step comes after another.
func because(o Order) string {
	switch {
	case o.Reason == lifecycle.ByField && len(o.Via) == 2:
		return fmt.Sprintf("field %s stands after %s", o.Via[0], o.Via[1])
	case o.Reason == lifecycle.ByRank && len(o.Via) == 2:
		return fmt.Sprintf("rank %s after rank %s", o.Via[0], o.Via[1])
	}
	return fmt.Sprintf("%s %s", o.Reason, strings.Join(o.Via, " → "))
}

func (t *text) constructors() {
	t.line(0, "")
	t.line(0, "Who needs whom. A constructor takes (←) and gives (→); needs and reads order steps, the other kinds never do.")
	for _, c := range t.d.Components {
		t.line(0, "")
		t.line(0, "%s: %s", c.Name, c.For)
		for _, k := range t.d.Constructors {
			if k.Component == c.Name {
				t.constructor(k)
			}
		}
	}
}

func (t *text) constructor(k Constructor) {
	t.line(2, "%s%s (%s)", mark(k.Focus), k.ID, k.Pos)
	for _, take := range k.Takes {
		from := strings.Join(take.From, ", ")
		switch {
		case len(take.From) == 0:
			from = "nobody"
		case take.SetBy != "":
			from += ", set by " + take.SetBy
		}
		kind := string(take.Kind)
		if take.Kind == lifecycle.Contributes {
			kind = "collects"
		}
		t.line(6, "← %-8s %s from %s", kind, take.Value, from)
	}
	for _, give := range k.Gives {
		t.line(6, "→ %-8s %s", map[string]string{"value": "gives", "group": "adds to", "published": "publishes", "slot": "slot"}[give.Kind], give.Value)
	}
	for _, s := range k.Steps {
		t.line(6, "→ step     %s", s)
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
