package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/meshd/meshd/internal/model"
)

// content is what a file holds.
type content struct {
	documents int
	objects   []object
	skipped   map[string]int // documents of kinds that are not read
}

// noKind is what documents are counted as that have neither apiVersion nor kind.
const noKind = "no kind"

func newContent() *content { return &content{skipped: map[string]int{}} }

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

// parseDocument takes the objects of a document. The error is a *badDocument, or the context's.
func (c *content) parseDocument(ctx context.Context, doc document) error {
	c.documents++
	doc.number = c.documents
	if doc.err != nil {
		return &badDocument{place: place{document: doc.number, line: doc.line}, err: doc.err}
	}
	if err := tooLarge(doc.text); err != nil {
		return &badDocument{place: place{document: doc.number, line: doc.first}, err: err}
	}
	v := value{json: doc.text}
	if !doc.json {
		var err error
		if v, err = decodeYAML(ctx, doc.text); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return &badDocument{place: place{document: doc.number, line: syntaxLine(doc, err)}, err: syntaxText(err)}
		}
		if v.yaml == nil {
			return nil
		}
	}
	return c.add(doc, v)
}

type typeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// add takes the objects of a document whose value is v.
func (c *content) add(doc document, v value) error {
	head, err := v.head(typeMeta{})
	if err != nil {
		return doc.bad(0, nil, head, nil, nil, err)
	}
	if head == (typeMeta{}) {
		c.skipped[noKind]++ // a file of values, or of something else: it does not claim to be a manifest
		return nil
	}
	if head.APIVersion == "" || !strings.HasSuffix(head.Kind, "List") {
		obj, data, err := c.decode(head, v)
		if err != nil {
			return doc.bad(0, nil, head, nil, data, err)
		}
		if obj != nil {
			obj.place = place{doc.number, 0, doc.first}
			c.objects = append(c.objects, *obj)
		}
		return nil
	}
	itemHead, known := head.items()
	if !known {
		c.skipped[name(head)]++
		return nil
	}
	data, err := v.data()
	if err != nil {
		return doc.bad(0, nil, head, nil, nil, err)
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := decodeJSON(data, &list); err != nil {
		return doc.bad(0, nil, head, []any{"items"}, nil, errors.New("items is not a list"))
	}
	for i, item := range list.Items {
		if h, data, err := c.addItem(itemHead, place{doc.number, i + 1, doc.first}, value{json: item}); err != nil {
			return doc.bad(i+1, []any{"items", i}, h, nil, data, err)
		}
	}
	return nil
}

// items gives what the items of a list are unless they say so themselves; false if the list is of a kind not read.
func (head typeMeta) items() (typeMeta, bool) {
	if head == (typeMeta{"v1", "List"}) {
		return typeMeta{}, true // of anything: each says what it is
	}
	kind := strings.TrimSuffix(head.Kind, "List")
	_, known := kinds[model.Kind(kind)]
	return typeMeta{head.APIVersion, kind}, known
}

// addItem takes the object of a list's item. With an error it gives what is known of the item: its head and its JSON.
func (c *content) addItem(head typeMeta, at place, v value) (typeMeta, []byte, error) {
	head, err := v.head(head)
	if err != nil {
		return typeMeta{}, nil, err
	}
	obj, data, err := c.decode(head, v)
	if obj != nil {
		obj.place = at
		c.objects = append(c.objects, *obj)
	}
	return head, data, err
}

// bad makes an error about an object of the document. It is at prefix in the document, and the error is about the value
// at path in it, if that is known.
func (d document) bad(item int, prefix []any, head typeMeta, path []any, data []byte, err error) error {
	line, path := d.locate(prefix, head.Kind, path, data, err)
	if len(path) > 0 && !errors.As(err, new(*fieldError)) {
		err = fmt.Errorf("%s: %w", pathString(path), err)
	}
	return &badDocument{place{d.number, item, line}, about(head, data), err}
}

// decode reads one object; nil if its kind is not read. With an error it gives the object's JSON, as far as there is any.
func (c *content) decode(head typeMeta, v value) (*object, []byte, error) {
	if head.Kind == "" {
		return nil, nil, &fieldError{[]any{"kind"}, "is missing"}
	}
	k, known := kinds[model.Kind(head.Kind)]
	if head.APIVersion == "" {
		problem := "is missing"
		if known {
			problem += ": want " + k.apiVersion
		}
		return nil, nil, &fieldError{[]any{"apiVersion"}, problem}
	}
	if !known || group(head.APIVersion) != group(k.apiVersion) {
		c.skipped[name(head)]++
		return nil, nil, nil
	}
	data, err := v.data()
	if err != nil {
		return nil, nil, err
	}
	if head.APIVersion != k.apiVersion {
		return nil, data, &fieldError{[]any{"apiVersion"}, fmt.Sprintf("is %s: want %s", head.APIVersion, k.apiVersion)}
	}
	obj, err := k.decode(data)
	if err != nil {
		return nil, data, err
	}
	id := key{model.Kind(head.Kind), model.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}}
	return &object{key: id, value: obj}, nil, nil
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
