package directory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const jsonSpace = " \t\r\n"

// looksLikeJSON reports whether a document may be JSON. YAML includes JSON, but a JSON decoder is many times faster.
func (d document) looksLikeJSON() bool {
	return bytes.HasPrefix(bytes.TrimLeft(d.text, jsonSpace), []byte("{"))
}

// jsonValues makes a document of each JSON value in a document; they may follow each other without a mark. If one is
// broken, the last that it gives has the error. It ends early if the context does.
func jsonValues(ctx context.Context, doc document) (out []document, err error) {
	dec := json.NewDecoder(bytes.NewReader(doc.text))
	lines := lineCounter{text: doc.text, line: doc.line}
	for ctx.Err() == nil {
		at := int(dec.InputOffset())
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			offset := int(dec.InputOffset())
			if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
				offset = int(syntax.Offset)
			}
			err = fmt.Errorf("it is not JSON: %w", err)
			return append(out, document{line: lines.at(offset), err: err}), err
		}
		text := bytes.TrimLeft(doc.text[at:dec.InputOffset()], jsonSpace)
		line := lines.at(int(dec.InputOffset()) - len(text))
		out = append(out, document{line: line, first: line, text: text, json: true})
	}
	return nil, ctx.Err()
}

// splitJSONList divides a list that is one JSON value into its items. It is nil if the value is none, or has its items
// twice.
func splitJSONList(ctx context.Context, doc document) *itemList {
	dec := json.NewDecoder(bytes.NewReader(doc.text))
	lines := lineCounter{text: doc.text, line: doc.line}
	out := &itemList{json: true}
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	var head typeMeta
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil
		}
		if name != "items" {
			var raw json.RawMessage
			if dec.Decode(&raw) != nil {
				return nil
			}
			if name == "apiVersion" && json.Unmarshal(raw, &head.APIVersion) != nil || name == "kind" && json.Unmarshal(raw, &head.Kind) != nil {
				return nil
			}
			continue
		}
		if token, err := dec.Token(); out.items != nil || err != nil || token != json.Delim('[') {
			return nil
		}
		for dec.More() {
			at := int(dec.InputOffset())
			var raw json.RawMessage
			if ctx.Err() != nil || dec.Decode(&raw) != nil {
				return nil
			}
			text := bytes.TrimLeft(doc.text[at:dec.InputOffset()], jsonSpace+",")
			line := lines.at(int(dec.InputOffset()) - len(text))
			out.items = append(out.items, document{line: line, first: line, text: text, json: true})
		}
		if _, err := dec.Token(); err != nil {
			return nil
		}
	}
	known := false
	if out.head, known = head.items(); !known || len(out.items) == 0 {
		return nil
	}
	return out
}

// lineCounter finds the lines of offsets that only grow, in one pass.
type lineCounter struct {
	text         []byte
	offset, line int
}

func (l *lineCounter) at(offset int) int {
	offset = max(l.offset, min(offset, len(l.text)))
	l.line += bytes.Count(l.text[l.offset:offset], []byte("\n"))
	l.offset = offset
	return l.line
}
