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

// Cost is what one constructor or step cost.
type Cost struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Component string `json:"component"`
	Phase     string `json:"phase,omitempty"`
	// Own is the time it took itself, Waiting the time from the beginning of its phase until it could start; both in
	// nanoseconds.
	Own     time.Duration `json:"own"`
	Waiting time.Duration `json:"waiting"`
	// Running is set if it had not ended when the trace was taken: then Own is what it had taken until then.
	Running bool            `json:"running,omitempty"`
	State   lifecycle.State `json:"state"`
	// Failed is set if it has an error; a step that failed is stopped afterwards, which is then its state.
	Failed bool `json:"failed,omitempty"`
	// Waits is what it said it waited for, outside the process.
	Waits string `json:"waits,omitempty"`
}

// Costs is the table that Blame makes.
type Costs struct {
	Summary string `json:"summary"`
	Costs   []Cost `json:"costs"`
}

// Blame lists constructors and steps by their own time, longest first.
func Blame(r lifecycle.Record) Costs {
	out := Costs{Summary: summary(r), Costs: []Cost{}}
	last := end(r)
	for _, s := range r.Spans {
		out.Costs = append(out.Costs, Cost{Kind: s.Kind, Name: s.Name, Component: s.Component, Phase: s.Phase,
			Own: own(s, last), Waiting: waiting(s, last), Running: running(s), State: s.State, Failed: s.Error != "", Waits: s.Waits})
	}
	slices.SortStableFunc(out.Costs, func(a, b Cost) int {
		return cmp.Or(cmp.Compare(b.Own, a.Own), cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// WriteText writes the table.
func (c Costs) WriteText(w io.Writer) error {
	var b strings.Builder
	b.WriteString(c.Summary + "\n")
	if len(c.Costs) == 0 {
		return writeText(w, &b)
	}
	fmt.Fprintf(&b, "\n%10s %10s  %-11s  %-9s  name\n", "own", "waiting", "kind", "phase")
	for _, cost := range c.Costs {
		notes := ""
		switch {
		case cost.Running:
			notes = "  still running"
		case cost.Failed:
			notes = "  failed"
		case cost.State != lifecycle.Started:
			notes = "  " + string(cost.State)
		}
		if cost.Waits != "" {
			notes += ", waits for " + oneLine(cost.Waits)
		}
		fmt.Fprintf(&b, "%10s %10s  %-11s  %-9s  %s%s\n", ms(cost.Own), ms(cost.Waiting), cost.Kind, cmp.Or(cost.Phase, "-"), oneLine(cost.Name), notes)
	}
	return writeText(w, &b)
}

// WriteJSON writes the table as JSON.
func (c Costs) WriteJSON(w io.Writer) error { return writeJSON(w, c) }
