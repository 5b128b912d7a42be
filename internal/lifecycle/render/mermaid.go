package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/meshd/meshd/internal/lifecycle"
)

// Mermaid writes the plan as a Mermaid flowchart, one subgraph per phase that has steps.
func Mermaid(w io.Writer, p *lifecycle.Plan, o Options) error {
	d, err := Describe(p, o)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	b.WriteString("flowchart LR\n")
	ids := map[string]string{} // Mermaid's ids are plain words; names are not
	previous := ""
	for _, phase := range d.Phases {
		if len(phase.Steps) == 0 {
			continue
		}
		id := "phase_" + phase.Name
		fmt.Fprintf(&b, "  subgraph %s[\"%s\"]\n    direction TB\n", id, phase.Name)
		for _, s := range phase.Steps {
			ids[s.Name] = fmt.Sprintf("s%d", len(ids)+1)
			lines := label(s, o.Stop)
			for i := range lines {
				lines[i] = mermaidText(lines[i])
			}
			fmt.Fprintf(&b, "    %s[\"%s\"]\n", ids[s.Name], strings.Join(lines, "<br/>"))
		}
		b.WriteString("  end\n")
		if previous != "" {
			fmt.Fprintf(&b, "  %s ==> %s\n", previous, id)
		}
		previous = id
	}
	for _, e := range d.Order {
		fmt.Fprintf(&b, "  %s -->|%s| %s\n", ids[e.Before], e.Reason, ids[e.After])
	}
	if o.Data {
		for _, f := range d.flowsBesides() {
			fmt.Fprintf(&b, "  %s -.->|\"%s\"| %s\n", ids[f.From], mermaidText(f.Value), ids[f.To])
		}
	}
	for _, phase := range d.Phases {
		for _, s := range phase.Steps {
			if s.Focus {
				fmt.Fprintf(&b, "  style %s stroke-width:3px\n", ids[s.Name])
			}
		}
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the graph as Mermaid: %w", err)
	}
	return nil
}

// mermaidText escapes what Mermaid would take for the end of a label, for markup, or for Markdown.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range oneLine(s) {
		if strings.ContainsRune("\"#<>&`[]{}|;*\\", r) {
			fmt.Fprintf(&b, "#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
