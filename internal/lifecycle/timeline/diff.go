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

// Delta is the difference of one constructor or step between two starts.
type Delta struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Change is "same" (in both), "new" or "gone".
	Change string `json:"change"`
	// Before and After are its own times and Delta their difference, in nanoseconds.
	Before time.Duration `json:"before"`
	After  time.Duration `json:"after"`
	Delta  time.Duration `json:"delta"`
	// Unfinished is set if it had not ended in one of them.
	Unfinished bool `json:"unfinished,omitempty"`
}

// Comparison is the difference between two starts.
type Comparison struct {
	// Before and After are the times until ready, or as far as an unfinished start had come, in nanoseconds.
	Before time.Duration `json:"before"`
	After  time.Duration `json:"after"`
	Delta  time.Duration `json:"delta"`
	// Unfinished is set if one of the starts had not become ready.
	Unfinished bool `json:"unfinished,omitempty"`
	// Deltas begin with the greatest, whatever its sign.
	Deltas []Delta `json:"deltas"`
}

// Diff compares the own times of two starts.
func Diff(a, b lifecycle.Record) Comparison {
	out := Comparison{Before: total(a), After: total(b), Unfinished: a.Ready == 0 || b.Ready == 0, Deltas: []Delta{}}
	out.Delta = out.After - out.Before
	at := map[[2]string]*Delta{}
	for _, s := range a.Spans {
		at[[2]string{s.Kind, s.Name}] = &Delta{Kind: s.Kind, Name: s.Name, Change: "gone", Before: own(s, end(a)), Unfinished: !ended(s)}
	}
	for _, s := range b.Spans {
		d := at[[2]string{s.Kind, s.Name}]
		if d == nil {
			d = &Delta{Kind: s.Kind, Name: s.Name, Change: "new"}
			at[[2]string{s.Kind, s.Name}] = d
		} else {
			d.Change = "same"
		}
		d.After, d.Unfinished = own(s, end(b)), d.Unfinished || !ended(s)
	}
	for _, d := range at {
		d.Delta = d.After - d.Before
		out.Deltas = append(out.Deltas, *d)
	}
	slices.SortFunc(out.Deltas, func(a, b Delta) int {
		return cmp.Or(cmp.Compare(b.Delta.Abs(), a.Delta.Abs()), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func ended(s lifecycle.Span) bool { return started(s) && !running(s) }

func total(r lifecycle.Record) time.Duration { return cmp.Or(r.Ready, end(r)) }

// WriteText writes the comparison as a table.
func (c Comparison) WriteText(w io.Writer) error {
	var b strings.Builder
	what := "ready after"
	if c.Unfinished {
		what = "(not both became ready) traced"
	}
	fmt.Fprintf(&b, "%s %s, before %s: %s\n", what, ms(c.After), ms(c.Before), signed(c.Delta))
	if len(c.Deltas) > 0 {
		fmt.Fprintf(&b, "\n%10s %10s %10s  %-11s  name\n", "before", "after", "change", "kind")
	}
	for _, d := range c.Deltas {
		before, after, note := ms(d.Before), ms(d.After), ""
		switch d.Change {
		case "new":
			before, note = "-", "  (new)"
		case "gone":
			after, note = "-", "  (gone)"
		}
		if d.Unfinished {
			note += "  (not ended)"
		}
		fmt.Fprintf(&b, "%10s %10s %10s  %-11s  %s%s\n", before, after, signed(d.Delta), d.Kind, oneLine(d.Name), note)
	}
	return writeText(w, &b)
}

func signed(d time.Duration) string {
	if d > 0 {
		return "+" + ms(d)
	}
	return ms(d)
}

// WriteJSON writes the comparison as JSON.
func (c Comparison) WriteJSON(w io.Writer) error { return writeJSON(w, c) }
