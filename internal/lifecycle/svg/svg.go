// Package svg writes drawings: elements with their attributes, escaped, and nothing that runs in a browser.
package svg

import (
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Drawing is an SVG document that is being written. The zero value is not useful: see New.
type Drawing struct {
	b    strings.Builder
	open []string
}

// New begins a drawing of a width and height in pixels, which shrinks with the page it stands in. Title and
// description are what a screen reader says of it; style is a style sheet.
func New(width, height float64, title, description, style string) *Drawing {
	d := &Drawing{}
	d.Open("svg", "xmlns", "http://www.w3.org/2000/svg", "width", width, "height", height,
		"viewBox", "0 0 "+Num(width)+" "+Num(height), "style", "max-width:100%;height:auto",
		"role", "img", "aria-labelledby", "title desc")
	d.Leaf("title", title, "id", "title")
	d.Leaf("desc", description, "id", "desc")
	d.Leaf("style", style)
	return d
}

// Open begins an element. Attributes are pairs of a name and a string or number.
func (d *Drawing) Open(name string, attrs ...any) {
	d.tag(name, attrs)
	d.b.WriteString(">\n")
	d.open = append(d.open, name)
}

// Close ends the element that was begun last.
func (d *Drawing) Close() {
	last := len(d.open) - 1
	name := d.open[last]
	d.open = d.open[:last]
	d.indent()
	d.b.WriteString("</" + name + ">\n")
}

// Leaf writes an element that holds only text, which may be empty.
func (d *Drawing) Leaf(name, text string, attrs ...any) {
	d.tag(name, attrs)
	if text == "" {
		d.b.WriteString("/>\n")
		return
	}
	d.b.WriteString(">" + escape(text) + "</" + name + ">\n")
}

// Titled writes a shape with the text that appears when the pointer rests on it.
func (d *Drawing) Titled(name, title string, attrs ...any) {
	d.tag(name, attrs)
	d.b.WriteString("><title>" + escape(title) + "</title></" + name + ">\n")
}

// WriteTo ends what is open and writes the drawing.
func (d *Drawing) WriteTo(w io.Writer) (int64, error) {
	for len(d.open) > 0 {
		d.Close()
	}
	n, err := io.WriteString(w, d.b.String())
	if err != nil {
		return int64(n), fmt.Errorf("writing the drawing: %w", err)
	}
	return int64(n), nil
}

func (d *Drawing) indent() { d.b.WriteString(strings.Repeat(" ", len(d.open))) }

func (d *Drawing) tag(name string, attrs []any) {
	d.indent()
	d.b.WriteString("<" + name)
	for i := 0; i+1 < len(attrs); i += 2 {
		value := ""
		switch v := attrs[i+1].(type) {
		case float64:
			value = Num(v)
		default:
			value = fmt.Sprint(v)
		}
		fmt.Fprintf(&d.b, ` %s="%s"`, attrs[i], escape(value))
	}
}

// Num writes a coordinate with one decimal at the most, so that drawings are the same on every machine.
func Num(f float64) string {
	// Adding 0 turns -0 into 0.
	return strconv.FormatFloat(math.Round(f*10)/10+0, 'f', -1, 64)
}

// escape also replaces what must not stand in XML at all, such as control characters.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder does not fail
	return b.String()
}

// Width estimates how wide a text is, in pixels, in the sans-serif fonts there are: on the safe side.
func Width(s string, size float64) float64 {
	w := 0.0
	for _, r := range s {
		switch {
		case strings.ContainsRune("il.,:;'|!jtfr()[]/ -", r):
			w += 0.40
		case r == 'm' || r == 'w' || r == 'M' || r == 'W':
			w += 0.95
		case r >= 'A' && r <= 'Z' || r > 0x2000:
			w += 0.75
		default:
			w += 0.625
		}
	}
	return w * size
}

// Fit shortens a text so that it is not wider than a width in pixels.
func Fit(s string, size, width float64) string {
	if Width(s, size) <= width {
		return s
	}
	runes := []rune(s)
	for len(runes) > 1 && Width(string(runes)+"…", size) > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}
