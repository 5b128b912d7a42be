package directory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/meshd/meshd/internal/model"
)

// content is what a file holds.
type content struct {
	documents int
	objects   []object
	skipped   map[string]int // documents of kinds that are not read
}

// object is one object of a file, and where in the file it is.
type object struct {
	key
	place
	value metav1.Object
}

// place is where in a file something is: the number of its document, the line of the file, and the number of its item
// if the document is a list; all counted from 1, 0 if it has none.
type place struct{ document, item, line int }

// badDocument says what is wrong with a document, and where.
type badDocument struct {
	place
	object string // what it is about, as far as it is known
	err    error
}

func (e *badDocument) Error() string {
	if e.object == "" {
		return e.err.Error()
	}
	return e.object + ": " + e.err.Error()
}

func (e *badDocument) Unwrap() error { return e.err }

// parse reads a file. Any bad document makes the whole file bad: half of what someone wrote is not what they meant.
func parse(path string, data []byte) (*content, error) {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if line, err := checkText(data); err != nil {
		return nil, &badDocument{place: place{line: line}, err: err}
	}
	c := &content{skipped: map[string]int{}}
	for doc := range documents(data) {
		if err := c.parseDocument(doc, strings.HasSuffix(strings.ToLower(path), ".json")); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *content) parseDocument(doc document, isJSON bool) error {
	doc.number = c.documents + 1
	// YAML includes JSON, but a JSON decoder is many times faster and takes a tenth of the memory.
	if text := bytes.TrimSpace(doc.text); len(text) > 0 && text[0] == '{' {
		values, err := jsonValues(doc)
		if err == nil {
			for _, v := range values {
				c.documents++
				if err := c.add(v, v.text); err != nil {
					return err
				}
			}
			return nil
		}
		if isJSON {
			return err
		}
	}
	c.documents++
	data, err := yaml.YAMLToJSONStrict(doc.text)
	if err != nil {
		return &badDocument{place: place{document: doc.number, line: syntaxLine(doc, err)}, err: syntaxText(err)}
	}
	if string(data) == "null" {
		return nil
	}
	return c.add(doc, data)
}

// jsonValues lists the JSON values that follow each other in a document.
func jsonValues(doc document) ([]document, error) {
	var out []document
	dec := json.NewDecoder(bytes.NewReader(doc.text))
	for {
		at := int(dec.InputOffset())
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			offset := int(dec.InputOffset())
			var syntax *json.SyntaxError
			if errors.As(err, &syntax) {
				offset = int(syntax.Offset)
			}
			line := doc.line + bytes.Count(doc.text[:min(offset, len(doc.text))], []byte("\n"))
			return nil, &badDocument{place: place{document: doc.number + len(out), line: line}, err: fmt.Errorf("it is not JSON: %w", err)}
		}
		start := at + bytes.IndexByte(doc.text[at:], '{')
		line := doc.line + bytes.Count(doc.text[:max(start, at)], []byte("\n"))
		out = append(out, document{number: doc.number + len(out), line: line, first: line, text: raw})
	}
}

// decodeJSON tells upper from lower case, as Kubernetes does and Go's own decoder does not.
func decodeJSON(data []byte, into any) error {
	return kjson.UnmarshalCaseSensitivePreserveInts(data, into)
}

type typeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// add takes the objects of a document whose JSON is data.
func (c *content) add(doc document, data []byte) error {
	bad := func(item int, about string, path []any, data []byte, err error) error {
		line, path := doc.locate(item, path, data, err)
		if len(path) > 0 && !errors.As(err, new(*fieldError)) {
			err = fmt.Errorf("%s: %w", pathString(path), err)
		}
		return &badDocument{place{doc.number, item, line}, about, err}
	}
	var head typeMeta
	if err := decodeJSON(data, &head); err != nil {
		return bad(0, "", nil, nil, errors.New("it is not an object with apiVersion and kind"))
	}
	if !strings.HasSuffix(head.Kind, "List") {
		obj, err := c.decode(head, data)
		if err != nil {
			return bad(0, about(head, data), nil, data, err)
		}
		if obj != nil {
			obj.place = place{doc.number, 0, doc.first}
			c.objects = append(c.objects, *obj)
		}
		return nil
	}
	itemKind := strings.TrimSuffix(head.Kind, "List")
	if _, known := kinds[model.Kind(itemKind)]; !known && (head.Kind != "List" || head.APIVersion != "v1") {
		c.skipped[name(head)]++
		return nil
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := decodeJSON(data, &list); err != nil {
		return bad(0, head.Kind, []any{"items"}, nil, errors.New("items is not a list"))
	}
	for i, item := range list.Items {
		h := typeMeta{head.APIVersion, itemKind} // items of a typed list need not say what they are
		if err := decodeJSON(item, &h); err != nil {
			return bad(i+1, "", nil, nil, errors.New("it is not an object with apiVersion and kind"))
		}
		obj, err := c.decode(h, item)
		if err != nil {
			return bad(i+1, about(h, item), nil, item, err)
		}
		if obj != nil {
			obj.place = place{doc.number, i + 1, doc.first}
			c.objects = append(c.objects, *obj)
		}
	}
	return nil
}

// decode reads one object; nil if its kind is not read.
func (c *content) decode(head typeMeta, data []byte) (*object, error) {
	if head.Kind == "" {
		return nil, &fieldError{[]any{"kind"}, "is missing"}
	}
	k, known := kinds[model.Kind(head.Kind)]
	if known && head.APIVersion == "" {
		return nil, &fieldError{[]any{"apiVersion"}, fmt.Sprintf("is missing: want %s", k.apiVersion)}
	}
	if !known || group(head.APIVersion) != group(k.apiVersion) {
		c.skipped[name(head)]++
		return nil, nil
	}
	if head.APIVersion != k.apiVersion {
		return nil, &fieldError{[]any{"apiVersion"}, fmt.Sprintf("is %s: want %s", head.APIVersion, k.apiVersion)}
	}
	value, err := k.decode(data)
	if err != nil {
		return nil, err
	}
	id := key{model.Kind(head.Kind), model.NamespacedName{Namespace: value.GetNamespace(), Name: value.GetName()}}
	return &object{key: id, value: value}, nil
}

func group(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// name gives kind and group, for example "VirtualService.networking.istio.io".
func name(head typeMeta) string {
	if g := group(head.APIVersion); g != "" {
		return head.Kind + "." + g
	}
	return head.Kind
}

// about names an object that could not be read, as far as it can be told.
func about(head typeMeta, data []byte) string {
	var meta struct {
		Metadata struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"metadata"`
	}
	if decodeJSON(data, &meta) != nil || meta.Metadata.Name == "" {
		return strings.ToLower(head.Kind)
	}
	return key{model.Kind(head.Kind), model.NamespacedName{Namespace: meta.Metadata.Namespace, Name: meta.Metadata.Name}}.String()
}
