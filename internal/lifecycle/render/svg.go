package render

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/lifecycle/svg"
)

// style keeps to plain selectors and colours, which every viewer knows; the dark scheme repeats what differs.
const style = `
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","DejaVu Sans",sans-serif;fill:#1c2430}
.page{fill:#ffffff}.title{font-size:19px;font-weight:600}.sub,.small,.more{font-size:11px;fill:#5a6675}.sub{font-size:12px}
.name{font-size:13px;font-weight:600}.head{font-size:13px;font-weight:600;fill:#2d4a6b}.number{font-size:11px;fill:#7d8a99}
.column{fill:#f2f5f9;stroke:#e1e7ee}.slim{fill:#f8fafc;stroke:#e9eef3}.slimhead{font-size:11px;fill:#93a0af}
.box{fill:#ffffff;stroke:#b9c5d3}.focus{stroke:#c2410c;stroke-width:2}.plain{fill:#8fa3ba}.waits{fill:#e0a100}.listens{fill:#2f9e6e}
.order{fill:none;stroke:#2563a8;stroke-width:1.6}.tip{fill:#2563a8}
.flow{fill:none;stroke:#93a9c4;stroke-width:1.1;stroke-opacity:.75}.gates{stroke-dasharray:4 3}.flowtip{fill:#93a9c4}
@media (prefers-color-scheme:dark){
text{fill:#e4e9f0}.page{fill:#11161d}.sub,.small,.more{fill:#9aa7b6}.head{fill:#a9c6e8}.number{fill:#7f8c9b}
.column{fill:#19202a;stroke:#252f3c}.slim{fill:#151b23;stroke:#1f2833}.slimhead{fill:#66727f}
.box{fill:#212a36;stroke:#3d4b5c}.focus{stroke:#fb923c}.plain{fill:#5f738b}.waits{fill:#d9a520}.listens{fill:#3db882}
.order{stroke:#6aaef5}.tip{fill:#6aaef5}.flow{stroke:#5f7796}.flowtip{fill:#5f7796}
}
`

// SVG draws the plan: phases as columns, steps as boxes, orders within a phase as arrows that say why when the
// pointer rests on them, and with Options.Data the values that flow between steps as light curves.
func SVG(w io.Writer, p *lifecycle.Plan, o Options) error {
	d, err := Describe(p, o)
	if err != nil {
		return err
	}
	l := newLayout(d)
	title := "Start order"
	if o.Stop {
		title = "Stop order"
	}
	if o.Focus != "" {
		title += " around " + o.Focus
	}
	c := &canvas{svg.New(l.width, l.height, title, description(d), style), l, o}
	c.Leaf("rect", "", "class", "page", "width", l.width, "height", l.height)
	c.Leaf("text", title, "class", "title", "x", margin, "y", 36)
	c.Leaf("text", fmt.Sprintf("%s · %s · %s · phases run one after another; within a phase, only arrows order steps",
		count(len(d.Components), "component"), count(len(d.Constructors), "constructor"), count(d.stepCount(), "step")), "class", "sub", "x", margin, "y", 57)
	for i, column := range l.columns {
		c.column(i, column)
	}
	if o.Data {
		c.flows(d.Flows)
	}
	for _, column := range l.columns {
		for _, b := range column.boxes {
			c.box(b)
		}
	}
	for _, a := range l.arcs {
		c.arc(a)
	}
	c.legend()
	_, err = c.WriteTo(w)
	return err
}

// description tells in words what the drawing shows, for those who do not see it.
func description(d *Document) string {
	var parts []string
	for _, p := range d.Phases {
		names := make([]string, len(p.Steps))
		for i, s := range p.Steps {
			names[i] = s.Name
		}
		if len(names) > 0 {
			parts = append(parts, p.Name+": "+strings.Join(names, ", "))
		}
	}
	return "Steps by phase, in order. " + strings.Join(parts, "; ") + "."
}

type canvas struct {
	*svg.Drawing
	l *layout
	o Options
}

func (c *canvas) column(i int, col *column) {
	if len(col.boxes) == 0 {
		c.Leaf("rect", "", "class", "slim", "x", col.x, "y", col.y, "width", col.w, "height", col.h, "rx", 9)
		x, y := col.x+col.w/2+4, col.y+14
		c.Leaf("text", fmt.Sprintf("%d  %s", i+1, col.phase.Name), "class", "slimhead", "text-anchor", "end", "x", x, "y", y,
			"transform", fmt.Sprintf("rotate(-90 %s %s)", svg.Num(x), svg.Num(y)))
		return
	}
	c.Leaf("rect", "", "class", "column", "x", col.x, "y", col.y, "width", col.w, "height", col.h, "rx", 9)
	x := col.x + columnPad + 2
	if len(c.l.columns) > 1 {
		c.Leaf("text", fmt.Sprint(i+1), "class", "number", "x", x, "y", col.y+25)
		x += 16
	}
	c.Leaf("text", col.phase.Name, "class", "head", "x", x, "y", col.y+25)
}

func (c *canvas) box(b *box) {
	class, bar := "box", "plain"
	if b.step.Focus {
		class += " focus"
	}
	switch {
	case b.step.Listener != "":
		bar = "listens"
	case b.step.Waits != "":
		bar = "waits"
	}
	c.Open("g")
	c.Leaf("title", strings.Join(append(b.lines, "given by "+b.step.Constructor), "\n"))
	c.Leaf("rect", "", "class", class, "x", b.x, "y", b.y, "width", b.w, "height", b.h, "rx", 6)
	c.Leaf("rect", "", "class", bar, "x", b.x, "y", b.y+7, "width", 3, "height", b.h-14)
	for i, line := range b.lines {
		class, size := "more", smallSize
		if i == 0 {
			class, size = "name", nameSize
		}
		c.Leaf("text", svg.Fit(line, size, b.w-2*boxPad+4), "class", class, "x", b.x+boxPad+1, "y", b.y+boxPad+10+float64(i)*lineHeight)
	}
	c.Close()
}

// arc draws an order: straight down to the next box, or around the boxes between.
func (c *canvas) arc(a *arc) {
	title := a.order.After + " after " + a.order.Before + ": " + because(a.order)
	if a.straight {
		x, y1, y2 := a.from.x+a.from.w/2, a.from.y+a.from.h, a.to.y
		c.Titled("path", title, "class", "order", "d", path("M", x, y1, "L", x, y2-6))
		c.tip("tip", x, y2, 0, 1)
		return
	}
	x, lane := a.from.x+a.from.w, float64(a.lane+1)*arcStep+4
	y1, y2 := a.from.middle()+6, a.to.middle()-6
	c.Titled("path", title, "class", "order", "d", path("M", x, y1, "h", lane-7, "q", 7, 0, 7, 7, "V", y2-7, "q", 0, 7, -7, 7, "H", x+5))
	c.tip("tip", x, y2, -1, 0)
}

// flows draws the values on their way from step to step, as curves between columns. Within a column the arrow of the
// order says it already.
func (c *canvas) flows(flows []Flow) {
	flows = slices.DeleteFunc(slices.Clone(flows), func(f Flow) bool { return c.l.boxes[f.From].column == c.l.boxes[f.To].column })
	// Ends that share the side of a box are spread over it, in the order of what they lead to, so that they cross
	// less.
	ends := func(at, to func(Flow) *box) map[Flow]float64 {
		sides := map[*box][]Flow{}
		for _, f := range flows {
			sides[at(f)] = append(sides[at(f)], f)
		}
		out := map[Flow]float64{}
		for b, fs := range sides {
			slices.SortStableFunc(fs, func(x, y Flow) int {
				return cmp.Or(cmp.Compare(to(x).y, to(y).y), cmp.Compare(to(x).column, to(y).column))
			})
			for i, f := range fs {
				out[f] = b.y + b.h*float64(i+1)/float64(len(fs)+1)
			}
		}
		return out
	}
	from, to := func(f Flow) *box { return c.l.boxes[f.From] }, func(f Flow) *box { return c.l.boxes[f.To] }
	if c.o.Stop { // values flow against the order of stopping
		from, to = to, from
	}
	starts, stops := ends(from, to), ends(to, from)
	type gap struct {
		where string
		n     int
	}
	used := map[gap]int{}
	lane := func(where string, n, lanes int) float64 {
		used[gap{where, n}]++
		return laneStep * float64((used[gap{where, n}]-1)%lanes)
	}
	for _, f := range flows {
		a, b := from(f), to(f)
		x1, y1, x2, y2 := a.x+a.w, starts[f], b.x, stops[f]
		class := "flow"
		if f.Kind == lifecycle.Gates {
			class += " gates"
		}
		source, target := c.l.columns[a.column], c.l.columns[b.column]
		d := ""
		if source.row == target.row {
			bend := min(max((x2-x1)/2, 30), 110)
			d = path("M", x1, y1, "C", x1+bend, y1, x2-bend, y2, x2-5, y2)
		} else {
			right := source.x + source.w + 5 + lane("right of column", a.column, 4)
			below := source.y + source.h + 9 + lane("below row", source.row, 7)
			left := target.x - 5 - lane("left of column", b.column, 4)
			d = rounded(6, x1, y1, right, y1, right, below, left, below, left, y2, x2-5, y2)
		}
		c.Titled("path", fmt.Sprintf("%s %s %s, from %s", f.To, f.Kind, f.Value, f.From), "class", class, "d", d)
		c.tip("flowtip", x2, y2, 1, 0)
	}
}

// rounded writes the path through points, with rounded corners.
func rounded(radius float64, points ...float64) string {
	parts := []any{"M", points[0], points[1]}
	for i := 2; i+3 < len(points); i += 2 {
		x, y := points[i], points[i+1]
		toward := func(px, py float64) (float64, float64) {
			length := math.Hypot(px-x, py-y)
			if length == 0 {
				return x, y
			}
			r := min(radius, length/2)
			return x + (px-x)/length*r, y + (py-y)/length*r
		}
		x1, y1 := toward(points[i-2], points[i-1])
		x2, y2 := toward(points[i+2], points[i+3])
		parts = append(parts, "L", x1, y1, "Q", x, y, x2, y2)
	}
	return path(append(parts, "L", points[len(points)-2], points[len(points)-1])...)
}

// tip draws an arrow head that points along (dx, dy).
func (c *canvas) tip(class string, x, y, dx, dy float64) {
	c.Leaf("path", "", "class", class, "d", path("M", x, y, "L", x-7*dx-3.5*dy, y-7*dy-3.5*dx, "L", x-7*dx+3.5*dy, y-7*dy+3.5*dx, "Z"))
}

// path writes the commands of a path; numbers are rounded as everywhere.
func path(parts ...any) string {
	var out []string
	for _, p := range parts {
		switch v := p.(type) {
		case float64:
			out = append(out, svg.Num(v))
		default:
			out = append(out, fmt.Sprint(v))
		}
	}
	return strings.Join(out, " ")
}

func (c *canvas) legend() {
	x, y := margin, c.l.height-margin-8
	item := func(width float64, text string, draw func()) {
		draw()
		c.Leaf("text", text, "class", "small", "x", x+width+7, "y", y+4)
		x += width + 7 + svg.Width(text, smallSize) + 22
	}
	bar := func(class string) func() {
		return func() { c.Leaf("rect", "", "class", class, "x", x, "y", y-7, "width", 3, "height", 14) }
	}
	item(26, "comes before, in its phase", func() {
		c.Leaf("path", "", "class", "order", "d", path("M", x, y, "H", x+20))
		c.tip("tip", x+26, y, 1, 0)
	})
	if c.o.Data {
		text := "gives a value to"
		if c.o.Stop {
			text = "took a value from"
		}
		item(26, text, func() {
			c.Leaf("path", "", "class", "flow", "d", path("M", x, y, "H", x+20))
			c.tip("flowtip", x+26, y, 1, 0)
		})
	}
	item(3, "waits for something outside", bar("waits"))
	item(3, "opens a port", bar("listens"))
}
