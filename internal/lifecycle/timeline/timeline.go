// Package timeline shows where the time of a start went, from a trace: who took how long and who only waited, the
// chain that decided when the process was ready, a drawing, and the difference between two starts.
package timeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meshd/meshd/internal/lifecycle"
)

const (
	kindConstructor = "constructor"
	kindStep        = "step"
)

// Parse reads a trace as /debug/startup serves it, from a saved file or a response.
func Parse(r io.Reader) (lifecycle.Record, error) {
	var record lifecycle.Record
	in := json.NewDecoder(r)
	if err := in.Decode(&record); err != nil {
		return record, fmt.Errorf("reading the start-up trace (want the JSON of /debug/startup): %w", err)
	}
	if record.Began.IsZero() && len(record.Spans) == 0 {
		return record, errors.New("reading the start-up trace: this is JSON, but not that of /debug/startup: it has neither \"began\" nor \"spans\"")
	}
	for _, s := range record.Spans {
		if s.Kind != kindConstructor && s.Kind != kindStep {
			return record, fmt.Errorf("reading the start-up trace: span %q is of kind %q, want constructor or step", s.Name, s.Kind)
		}
	}
	return record, nil
}

// end is the latest moment of the start that the record knows of; for an unfinished one, when it was taken.
func end(r lifecycle.Record) time.Duration {
	last := r.Ready
	if r.Ready == 0 && slices.ContainsFunc(r.Spans, running) {
		last = r.Taken
	}
	for _, s := range r.Spans {
		last = max(last, s.Queued, s.Ready, s.Started, s.Ended)
	}
	return last
}

// started reports whether a span has begun its own work.
func started(s lifecycle.Span) bool { return s.Kind == kindConstructor || s.State != lifecycle.Pending }

// running reports whether a span has begun its work and not ended it.
func running(s lifecycle.Span) bool {
	return started(s) && s.Ended < s.Started || s.State == lifecycle.Starting
}

// own is the time that a span took itself, up to the end of the record if it still runs.
func own(s lifecycle.Span, end time.Duration) time.Duration {
	switch {
	case !started(s):
		return 0
	case running(s):
		return max(0, end-s.Started)
	}
	return s.Own()
}

// waiting is the time from the beginning of a span's phase to its own beginning, up to the end of the record if that
// has not come.
func waiting(s lifecycle.Span, end time.Duration) time.Duration {
	switch {
	case started(s):
		return s.Waited()
	case s.Queued == 0: // not even its phase has begun
		return 0
	}
	return max(0, end-s.Queued)
}

// summary says in one line how the start went.
func summary(r lifecycle.Record) string {
	if cause := cause(r); cause != nil {
		return fmt.Sprintf("start failed at %s: %s %s: %s", ms(cause.Ended), cause.Kind, oneLine(cause.Name), oneLine(cause.Error))
	}
	if len(r.Spans) == 0 {
		return "nothing has been recorded yet"
	}
	if r.Ready > 0 {
		return "ready after " + ms(r.Ready)
	}
	return "not ready yet: the trace covers " + ms(end(r))
}

// cause finds what made a start fail: what failed first, for others only fail because their context ends. A step that
// failed was stopped since, so its state does not tell.
func cause(r lifecycle.Record) *lifecycle.Span {
	var first *lifecycle.Span
	for i, s := range r.Spans {
		if r.Ready == 0 && s.Error != "" && (first == nil || s.Ended < first.Ended) {
			first = &r.Spans[i]
		}
	}
	return first
}

// ms writes a time in milliseconds, precisely enough to compare constructors too.
func ms(d time.Duration) string {
	f := float64(d) / float64(time.Millisecond)
	switch {
	case d == 0:
		return "0ms"
	case f >= 100 || f <= -100:
		return strconv.FormatFloat(f, 'f', 0, 64) + "ms"
	case f >= 1 || f <= -1:
		return strconv.FormatFloat(f, 'f', 1, 64) + "ms"
	}
	return strconv.FormatFloat(f, 'f', 3, 64) + "ms"
}

// oneLine keeps a name or message on its line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

func writeText(w io.Writer, b *strings.Builder) error {
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the timeline: %w", err)
	}
	return nil
}

func writeJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(v); err != nil {
		return fmt.Errorf("writing the timeline as JSON: %w", err)
	}
	return nil
}
