package directory

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/meshd/meshd/internal/model"
)

var (
	yamlLine    = regexp.MustCompile(`line (\d+): `)
	yamlUnknown = regexp.MustCompile(`unknown anchor '([^']*)'`)
)

// syntaxLine finds the line of the file that a YAML parser's error is about. The parser counts from the beginning of
// the document, starts at 0 where its grammar is broken, and names no line where it means the first.
func syntaxLine(doc document, err error) int {
	text := err.Error()
	at := 1
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		at, _ = strconv.Atoi(m[1])
	} else if m := yamlUnknown.FindStringSubmatch(text); m != nil {
		if i := bytes.Index(doc.text, []byte("*"+m[1])); i >= 0 {
			at = 1 + bytes.Count(doc.text[:i], []byte("\n"))
		}
	}
	switch {
	case strings.Contains(text, "did not find expected"):
		at++
	case strings.Contains(text, "could not find expected ':'"):
		at-- // it is noticed on the line after
	}
	last := 1 + bytes.Count(bytes.TrimRight(doc.text, "\r\n"), []byte("\n"))
	return doc.line - 1 + max(1, min(at, last))
}

// syntaxText is a YAML parser's error without its own idea of the line.
func syntaxText(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	text, _, _ = strings.Cut(text, "\n")
	return errors.New("it is not YAML: " + yamlLine.ReplaceAllString(text, ""))
}

// locate finds the line of the file with the value that an error is about, and the path to it. The path is known if
// the error says so or the caller does, and is one below prefix in the document; otherwise it is searched for in the
// object's JSON, which is of that kind.
func (d document) locate(prefix []any, kind string, path []any, data []byte, err error) (line int, found []any) {
	var field *fieldError
	if errors.As(err, &field) {
		path = field.path
	} else if path == nil && data != nil {
		path = culprit(kind, data)
	}
	full := slices.Concat(prefix, path)
	var node yamlv3.Node
	if yamlv3.Unmarshal(d.text, &node) != nil || len(node.Content) == 0 {
		return d.first, path
	}
	return d.line - 1 + lineOf(node.Content[0], full), path
}

// lineOf follows a path as far as it leads.
func lineOf(n *yamlv3.Node, path []any) int {
	line := n.Line
	for _, step := range path {
		if n.Kind == yamlv3.AliasNode {
			n = n.Alias
		}
		next := (*yamlv3.Node)(nil)
		switch step := step.(type) {
		case string:
			for i := 0; n.Kind == yamlv3.MappingNode && i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == step {
					// The key's line, because a value may begin far below it.
					line, next = n.Content[i].Line, n.Content[i+1]
				}
			}
		case int:
			if n.Kind == yamlv3.SequenceNode && step < len(n.Content) {
				next = n.Content[step]
				line = next.Line
			}
		}
		if next == nil {
			return line
		}
		n = next
	}
	return line
}

// culprit finds the path to a value that cannot be decoded: it looks for the one child that fails even if it is all
// there is, and goes on from there. Decoders' own errors say neither index nor position.
func culprit(kindName string, data []byte) []any {
	var root map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if dec.Decode(&root) != nil {
		return nil
	}
	k, known := kinds[model.Kind(kindName)]
	if !known {
		return nil
	}
	fails := func(v any) bool {
		m, ok := v.(map[string]any)
		if !ok {
			return false
		}
		data, err := json.Marshal(m)
		if err != nil {
			return false
		}
		_, err = k.decode(data)
		return err != nil && !errors.As(err, new(*fieldError))
	}
	var path []any
	var value any = root
	wrap := func(v any) any { return v }
	for {
		outer, down := wrap, false
		switch v := value.(type) {
		case map[string]any:
			if len(path) > 0 && fails(outer(map[string]any{})) {
				return path // no object is wanted here at all
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				inner := func(x any) any { return outer(map[string]any{name: x}) }
				if fails(inner(v[name])) {
					path, value, wrap, down = append(path, name), v[name], inner, true
					break
				}
			}
		case []any:
			if fails(outer([]any{})) {
				return path
			}
			for i, x := range v {
				inner := func(x any) any { return outer([]any{x}) }
				if fails(inner(x)) {
					path, value, wrap, down = append(path, i), x, inner, true
					break
				}
			}
		}
		if !down {
			return path
		}
	}
}
