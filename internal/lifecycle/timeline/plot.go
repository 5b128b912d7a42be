package timeline

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/lifecycle/svg"
)

// Sizes of the drawing, in pixels.
const (
	margin     = 24.0
	plotTop    = 126.0
	rowHeight  = 22.0
	barHeight  = 13.0
	plotWidth  = 860.0
	labelSize  = 12.0
	smallSize  = 11.0
	maxLabel   = 260.0
	valueSpace = 120.0 // to the right of the plot, for times
	sectionGap = 14.0
	bottom     = 58.0
)

const style = `
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","DejaVu Sans",sans-serif;fill:#1c2430}
.page{fill:#ffffff}.title{font-size:19px;font-weight:600}.sub{font-size:12px;fill:#5a6675}.small{font-size:11px;fill:#5a6675}
.label{font-size:12px}.tick{font-size:11px;fill:#7d8a99}.grid{stroke:#dfe5ec;stroke-width:1}.phase{font-size:11px;font-weight:600;fill:#2d4a6b}
.band0{fill:#f2f5f9}.band1{fill:#e7edf5}.own{fill:#2563a8}.constructor{fill:#7a5bb0}.wait{fill:#b9cbe2}.bad{fill:#c4361f}.open{fill:#2563a8;fill-opacity:.55}
.ready{stroke:#2f9e6e;stroke-width:1.5;stroke-dasharray:5 3}.readytext{font-size:11px;font-weight:600;fill:#23845a}
@media (prefers-color-scheme:dark){
text{fill:#e4e9f0}.page{fill:#11161d}.sub,.small{fill:#9aa7b6}.tick{fill:#7f8c9b}.grid{stroke:#283240}.phase{fill:#a9c6e8}
.band0{fill:#19202a}.band1{fill:#202a37}.own{fill:#6aaef5}.constructor{fill:#b196e6}.wait{fill:#3d5474}.bad{fill:#f0715c}.open{fill:#6aaef5}
.ready{stroke:#3db882}.readytext{fill:#4fcf97}
}
`

type plot struct {
	*svg.Drawing
	record      lifecycle.Record
	left, scale float64 // pixels before time 0, and per nanosecond
	last        time.Duration
	bottom      float64
}

// Plot draws the start as a timeline: a row for each constructor, then for each step, over the phases as bands. The
// light part of a bar is waiting, the strong part own time.
func Plot(w io.Writer, r lifecycle.Record) error {
	spans, sections := slices.Clone(r.Spans), 0
	slices.SortStableFunc(spans, func(a, b lifecycle.Span) int { return kindOrder(a) - kindOrder(b) })
	label := 90.0
	for i, s := range spans {
		label = max(label, min(svg.Width(s.Name, labelSize), maxLabel))
		if i > 0 && s.Kind != spans[i-1].Kind {
			sections++
		}
	}
	p := &plot{record: r, left: margin + label + 12, last: max(end(r), time.Microsecond)}
	step, axis := ticks(p.last)
	p.scale = plotWidth / float64(axis)
	p.bottom = plotTop + float64(max(len(spans), 1))*rowHeight + float64(sections)*sectionGap
	width, height := p.left+plotWidth+valueSpace+margin, p.bottom+bottom
	p.Drawing = svg.New(width, height, "Start-up timeline", describe(r), style)
	p.Leaf("rect", "", "class", "page", "width", width, "height", height)
	p.Leaf("text", "Start-up timeline", "class", "title", "x", margin, "y", 36)
	p.Leaf("text", svg.Fit(fmt.Sprintf("%s · began %s", summary(r), r.Began.UTC().Format("2006-01-02 15:04:05.000 MST")), 12, width-2*margin), "class", "sub", "x", margin, "y", 57)
	p.bands()
	p.grid(step, axis)
	if r.Ready > 0 {
		x := p.x(r.Ready)
		p.Leaf("line", "", "class", "ready", "x1", x, "x2", x, "y1", plotTop-6, "y2", p.bottom+4)
		p.Leaf("text", "ready "+ms(r.Ready), "class", "readytext", "x", x, "y", p.bottom+17, "text-anchor", "middle")
	}
	y := plotTop
	for i, s := range spans {
		if i > 0 && s.Kind != spans[i-1].Kind {
			y += sectionGap
		}
		p.row(s, y)
		y += rowHeight
	}
	p.legend()
	_, err := p.WriteTo(w)
	return err
}

func kindOrder(s lifecycle.Span) int {
	if s.Kind == kindConstructor {
		return 0
	}
	return 1
}

func describe(r lifecycle.Record) string {
	parts := []string{summary(r)}
	for _, c := range Blame(r).Costs {
		if len(parts) > 5 || c.Own == 0 {
			break
		}
		parts = append(parts, fmt.Sprintf("%s took %s", c.Name, ms(c.Own)))
	}
	return strings.Join(parts, "; ") + "."
}

func (p *plot) x(t time.Duration) float64 { return p.left + float64(t)*p.scale }

// ticks chooses a round distance of the lines of the axis, and where the axis ends.
func ticks(last time.Duration) (step, axis time.Duration) {
	raw := float64(last) / 8
	magnitude := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if step = time.Duration(m * magnitude); float64(step) >= raw {
			break
		}
	}
	step = max(step, 1)
	return step, (last + step - 1) / step * step
}

// bands shades the stretches of the phases that have steps; names that would run into each other stand in up to three
// lines.
func (p *plot) bands() {
	n, taken := 0, [3]float64{}
	for _, ph := range lifecycle.Phases() {
		from, to, found := time.Duration(math.MaxInt64), time.Duration(0), false
		for _, s := range p.record.Spans {
			if s.Kind != kindStep || s.Phase != ph.String() || s.Queued == 0 {
				continue
			}
			found = true
			from, to = min(from, s.Queued), max(to, s.Ended)
			if running(s) || !started(s) {
				to = p.last
			}
		}
		if !found {
			continue
		}
		x, w := p.x(from), max(float64(to-from)*p.scale, 1)
		p.Titled("rect", fmt.Sprintf("phase %s: from %s to %s", ph, ms(from), ms(to)), "class", fmt.Sprintf("band%d", n%2),
			"x", x, "y", plotTop-6, "width", w, "height", p.bottom-plotTop+10)
		for line := range taken {
			if x >= taken[line] {
				p.Leaf("text", ph.String(), "class", "phase", "x", x+2, "y", plotTop-26-float64(line)*13)
				taken[line] = x + svg.Width(ph.String(), smallSize) + 8
				break
			}
		}
		n++
	}
}

func (p *plot) grid(step, axis time.Duration) {
	for t := time.Duration(0); t <= axis; t += step {
		x := p.x(t)
		p.Leaf("line", "", "class", "grid", "x1", x, "x2", x, "y1", plotTop-6, "y2", p.bottom+4)
		p.Leaf("text", tickLabel(t), "class", "tick", "x", x, "y", plotTop-11, "text-anchor", "middle")
	}
}

func tickLabel(t time.Duration) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.3f", float64(t)/float64(time.Millisecond)), "0"), ".") + " ms"
}

func (p *plot) row(s lifecycle.Span, y float64) {
	title := fmt.Sprintf("%s %s (%s): own %s, waiting %s", s.Kind, s.Name, s.Component, ms(own(s, p.last)), ms(waiting(s, p.last)))
	if len(s.WaitedFor) > 0 {
		title += "\nafter " + strings.Join(s.WaitedFor, ", ")
	}
	if s.Waits != "" {
		title += "\nwaits for " + s.Waits
	}
	if s.Error != "" {
		title += "\n" + s.Error
	}
	p.Open("g")
	p.Leaf("title", title)
	p.Leaf("text", svg.Fit(s.Name, labelSize, maxLabel), "class", "label", "x", p.left-10, "y", y+14, "text-anchor", "end")
	top := y + (rowHeight-barHeight)/2
	if wait := waiting(s, p.last); wait > 0 {
		p.Leaf("rect", "", "class", "wait", "x", p.x(s.Queued), "y", top+3, "width", max(float64(wait)*p.scale, 0.5), "height", barHeight-6, "rx", 2)
	}
	if started(s) {
		class := "own"
		switch {
		case s.Error != "":
			class = "bad"
		case running(s):
			class = "open"
		case s.Kind == kindConstructor:
			class = "constructor"
		}
		width := max(float64(own(s, p.last))*p.scale, 2)
		p.Leaf("rect", "", "class", class, "x", p.x(s.Started), "y", top, "width", width, "height", barHeight, "rx", 2)
		text := ms(own(s, p.last))
		if running(s) {
			text += ", still running"
		}
		p.Leaf("text", text, "class", "small", "x", p.x(s.Started)+width+5, "y", y+15)
	} else {
		p.Leaf("text", "not started", "class", "small", "x", p.x(p.last)+5, "y", y+15)
	}
	p.Close()
}

func (p *plot) legend() {
	x, y := margin, p.bottom+bottom-20
	for _, item := range [][2]string{{"constructor", "constructor, own time"}, {"own", "step, own time"}, {"wait", "waiting in its phase"}, {"bad", "failed"}} {
		p.Leaf("rect", "", "class", item[0], "x", x, "y", y-9, "width", 16, "height", 10, "rx", 2)
		p.Leaf("text", item[1], "class", "small", "x", x+22, "y", y)
		x += 22 + svg.Width(item[1], smallSize) + 20
	}
}
