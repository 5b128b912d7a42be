package directory

import (
	"bytes"
	"errors"
	"iter"
	"unicode/utf8"
)

// document is a part of a file that is parsed by itself.
type document struct {
	number int // counted from 1
	line   int // of the file, on which text begins
	first  int // line of the file with the first content
	text   []byte
	json   bool  // text is one JSON value
	err    error // why there is no text
}

// documents splits a YAML file where its markers stand at the beginning of a line: "---" begins a document, "..." ends
// one. Those that hold only comments are left out. A YAML parser that is given a whole file reads the first document and
// says nothing of the others.
func documents(data []byte) iter.Seq[document] {
	return func(yield func(document) bool) {
		doc := document{line: 1}
		start := 0
		flush := func(end, nextLine int) bool {
			doc.text = data[start:end]
			if doc.first > 0 && !yield(doc) {
				return false
			}
			doc.line, doc.first, start = nextLine, 0, end
			return true
		}
		for at, line := 0, 1; at < len(data); line++ {
			end := len(data)
			if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
				end = at + n + 1
			}
			text := data[at:end]
			switch {
			case isMarker(text, "---"):
				if !flush(at, line) {
					return
				}
				if hasContent(text[3:]) {
					doc.first = line
				} else {
					doc.line, start = line+1, end
				}
			case isMarker(text, "..."):
				if !flush(end, line+1) {
					return
				}
			case doc.first == 0 && hasContent(text) && text[0] != '%':
				doc.first = line
			}
			at = end
		}
		flush(len(data), 0)
	}
}

func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || rest[0] == '\r' || rest[0] == '\n')
}

func hasContent(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] != '#'
}

// checkText finds the first line that is not text. YAML allows no control characters but these three; binary junk
// fails here, with its line, which a YAML parser would not give.
func checkText(data []byte) (line int, err error) {
	if bytes.HasPrefix(data, []byte{0xFF, 0xFE}) || bytes.HasPrefix(data, []byte{0xFE, 0xFF}) {
		return 1, errors.New("the file is UTF-16: save it as UTF-8")
	}
	line = 1
	for len(data) > 0 {
		c := data[0]
		switch {
		case c == '\n':
			line++
		case c < ' ' && c != '\t' && c != '\r':
			return line, errors.New("the file is not text: it has control characters")
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(data)
			if r == utf8.RuneError && size == 1 {
				return line, errors.New("the file is not text: it is not UTF-8")
			}
			data = data[size:]
			continue
		}
		data = data[1:]
	}
	return 0, nil
}
