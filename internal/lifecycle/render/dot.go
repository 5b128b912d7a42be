package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/meshd/meshd/internal/lifecycle"
)

// DOT writes the plan in the language of Graphviz, one cluster per phase.
func DOT(w io.Writer, p *lifecycle.Plan, o Options) error {
	d, err := Describe(p, o)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("digraph startup {\n\trankdir=LR;\n\tnewrank=true;\n\tcompound=true;\n")
	b.WriteString("\tnode [shape=box, style=\"rounded\", fontname=\"sans-serif\", fontsize=11];\n\tedge [fontname=\"sans-serif\", fontsize=9];\n")
	last := ""
	for i, phase := range d.Phases {
		if len(phase.Steps) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\tsubgraph cluster_%d {\n\t\tlabel=%s;\n", i, dotQuote(phase.Name))
		for _, s := range phase.Steps {
			extra := ""
			if s.Focus {
				extra = ", penwidth=2"
			}
			fmt.Fprintf(&b, "\t\t%s [label=%s%s];\n", dotQuote(s.Name), dotQuote(strings.Join(label(s, o.Stop), "\n")), extra)
		}
		b.WriteString("\t}\n")
		// An edge from phase to phase keeps the clusters in their order.
		cluster := fmt.Sprintf("cluster_%d", i)
		if first := phase.Steps[0].Name; last != "" {
			before, step, _ := strings.Cut(last, " ")
			fmt.Fprintf(&b, "\t%s -> %s [ltail=%s, lhead=%s, style=bold, color=gray, weight=10];\n", dotQuote(step), dotQuote(first), before, cluster)
		}
		last = cluster + " " + phase.Steps[len(phase.Steps)-1].Name
	}
	for _, e := range d.Order {
		fmt.Fprintf(&b, "\t%s -> %s [label=%s, edgetooltip=%s];\n", dotQuote(e.Before), dotQuote(e.After), dotQuote(string(e.Reason)), dotQuote(because(e)))
	}
	if o.Data {
		for _, f := range d.flowsBesides() {
			fmt.Fprintf(&b, "\t%s -> %s [style=dashed, color=gray, constraint=false, label=%s];\n", dotQuote(f.From), dotQuote(f.To), dotQuote(f.Value))
		}
	}
	b.WriteString("}\n")
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the graph as DOT: %w", err)
	}
	return nil
}

// label gives the lines that stand in a step's box: its name, its component and budget, and what is special.
func label(s Step, stop bool) []string {
	budget := s.Budget
	if stop {
		budget = s.StopBudget
	}
	out := []string{s.Name, s.Component + " · " + budget}
	if stop {
		return out
	}
	if s.Waits != "" {
		out = append(out, "waits for "+s.Waits)
	}
	if len(s.Sets) > 0 {
		out = append(out, "sets "+strings.Join(s.Sets, ", "))
	}
	if s.Listener != "" {
		out = append(out, "listens on --"+strings.TrimLeft(s.Listener, "-"))
	}
	return out
}

// dotQuote writes a DOT string: line breaks as \n, and backslashes doubled so that they are not taken for escapes.
func dotQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", "", "\x00", "").Replace(s) + `"`
}
