package render

import (
	"math"
	"slices"

	"github.com/meshd/meshd/internal/lifecycle/svg"
)

// Sizes of the drawing, in pixels.
const (
	margin       = 24.0
	top          = 76.0 // title and subtitle
	headHeight   = 38.0 // of a phase's name
	columnPad    = 11.0
	columnGap    = 26.0
	slimWidth    = 32.0 // of a phase without steps
	minColumn    = 150.0
	minWidth     = 720.0
	maxRow       = 1320.0
	rowGap       = 48.0
	laneStep     = 5.0 // between flows that share a gap
	boxGap       = 20.0
	boxPad       = 10.0
	lineHeight   = 16.0
	arcStep      = 9.0 // between arcs beside a column
	nameSize     = 13.0
	smallSize    = 11.0
	minBoxWidth  = 124.0
	maxBoxWidth  = 228.0
	legendHeight = 38.0
)

// box is a step with its place in the drawing.
type box struct {
	step       Step
	lines      []string
	x, y, w, h float64
	column     int
}

func (b *box) middle() float64 { return b.y + b.h/2 }

// column is a phase with its place.
type column struct {
	phase      Phase
	boxes      []*box
	row        int
	x, y, w, h float64
}

// arc is an order between two steps of a phase that do not stand next to each other.
type arc struct {
	order    Order
	from, to *box
	lane     int
	straight bool // they do stand next to each other
}

// layout is the whole drawing before it is drawn.
type layout struct {
	columns       []*column
	boxes         map[string]*box
	arcs          []*arc
	width, height float64
}

func newLayout(d *Document) *layout {
	l := &layout{boxes: map[string]*box{}}
	total := 0.0
	for i, phase := range d.Phases {
		c := &column{phase: phase, w: slimWidth}
		l.columns = append(l.columns, c)
		if len(phase.Steps) > 0 {
			width := boxWidth(phase, d.Direction == "stop")
			l.stack(d, c, i, width)
			c.w = width + 2*columnPad + float64(l.lanes(d, c))*arcStep
		}
		total += c.w + columnGap
	}
	y := top
	for r, row := range rows(l.columns, total) {
		x, height := margin, minColumn
		for _, c := range row {
			if n := len(c.boxes); n > 0 {
				height = max(height, c.boxes[n-1].y+c.boxes[n-1].h+columnPad)
			}
		}
		for _, c := range row {
			c.row, c.x, c.y, c.h = r, x, y, height
			for _, b := range c.boxes {
				b.x, b.y = x+columnPad, b.y+y
			}
			x += c.w + columnGap
		}
		l.width = max(l.width, x-columnGap+margin)
		y += height + rowGap
	}
	l.width = max(l.width, minWidth)
	l.height = y - rowGap + legendHeight + margin
	return l
}

// rows breaks the columns into as many rows as keep the drawing readable on a page, about equally wide.
func rows(columns []*column, total float64) [][]*column {
	n := max(1, math.Ceil(total/maxRow))
	out := [][]*column{nil}
	width := 0.0
	for _, c := range columns {
		last := len(out) - 1
		if width+c.w/2 > total/n && len(out) < int(n) && len(out[last]) > 0 {
			out = append(out, nil)
			last, width = last+1, 0
		}
		out[last] = append(out[last], c)
		width += c.w + columnGap
	}
	return out
}

// boxWidth is the width that the widest text of a phase asks for, within limits.
func boxWidth(p Phase, stop bool) float64 {
	w := minBoxWidth
	for _, s := range p.Steps {
		w = max(w, svg.Width(s.Name, nameSize)*1.06+2*boxPad)
		for _, line := range label(s, stop)[1:] {
			w = max(w, svg.Width(line, smallSize)+2*boxPad)
		}
	}
	return min(w, maxBoxWidth)
}

// stack puts the steps of a phase under each other: a step after those it comes after; a chain without a break where
// that is possible; and otherwise near the height of what flows into it.
func (l *layout) stack(d *Document, c *column, index int, width float64) {
	before := map[string][]string{}
	for _, o := range d.Order {
		before[o.After] = append(before[o.After], o.Before)
	}
	y := headHeight + columnPad - 6 // from the top of the row
	for len(c.boxes) < len(c.phase.Steps) {
		var best *Step
		bestScore := 0.0
		for i := range c.phase.Steps {
			s := &c.phase.Steps[i]
			if l.boxes[s.Name] != nil || !l.placed(before[s.Name]) {
				continue
			}
			score := l.pull(d, s.Name, y)
			if n := len(c.boxes); n > 0 && slices.Contains(before[s.Name], c.boxes[n-1].step.Name) {
				score -= 1e6
			}
			if best == nil || score < bestScore {
				best, bestScore = s, score
			}
		}
		b := &box{step: *best, lines: label(*best, d.Direction == "stop"), y: y, w: width, column: index}
		b.h = 2*boxPad + float64(len(b.lines))*lineHeight - 3
		l.boxes[best.Name] = b
		c.boxes = append(c.boxes, b)
		y += b.h + boxGap
	}
}

// pull is how far a step would stand, on average, from the steps whose values it takes.
func (l *layout) pull(d *Document, name string, y float64) float64 {
	sum, n := 0.0, 0.0
	for _, f := range d.Flows {
		if from := l.boxes[f.From]; f.To == name && from != nil {
			sum += from.middle()
			n++
		}
	}
	if n == 0 {
		return y
	}
	return sum / n
}

func (l *layout) placed(names []string) bool {
	for _, n := range names {
		if l.boxes[n] == nil {
			return false
		}
	}
	return true
}

// lanes gives each order of a column that passes other boxes a lane beside the column, short ones inside, and says
// how many lanes there are.
func (l *layout) lanes(d *Document, c *column) int {
	place := map[string]int{}
	for i, b := range c.boxes {
		place[b.step.Name] = i
	}
	var taken [][][2]int // per lane, the stretches in use
	for span := 1; span < len(c.boxes); span++ {
		for _, o := range d.Order {
			from, okFrom := place[o.Before]
			to, okTo := place[o.After]
			if !okFrom || !okTo || to-from != span {
				continue
			}
			a := &arc{order: o, from: c.boxes[from], to: c.boxes[to], straight: span == 1}
			l.arcs = append(l.arcs, a)
			if a.straight {
				continue
			}
			for a.lane = 0; ; a.lane++ {
				if a.lane == len(taken) {
					taken = append(taken, nil)
				}
				if free(taken[a.lane], from, to) {
					taken[a.lane] = append(taken[a.lane], [2]int{from, to})
					break
				}
			}
		}
	}
	return len(taken)
}

func free(taken [][2]int, from, to int) bool {
	for _, t := range taken {
		if from < t[1] && t[0] < to {
			return false
		}
	}
	return true
}
