package directory

import (
	"bytes"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/yaml"
)

// batchSize is how many bytes of a file are parsed in one go. Larger files are parsed by all processors at once, and a
// list that is larger is parsed item by item: as one document it would take forty times its size of memory.
const batchSize = 128 << 10

// batch is a part of a file: documents, or some items of a list.
type batch struct {
	documents []document
	list      *itemList // nil unless it is items
	from, to  int

	content *content
	err     error
}

// parse reads a file. Any bad document makes the whole file bad: half of what someone wrote is not what they meant.
func parse(path string, data []byte) (*content, error) {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if line, err := checkText(data); err != nil {
		return nil, &badDocument{place: place{line: line}, err: err}
	}
	isJSON := strings.HasSuffix(strings.ToLower(path), ".json")
	batches := cut(data)
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, b := range batches {
		group.Go(func() error {
			b.content, b.err = b.parse(isJSON)
			return nil
		})
	}
	_ = group.Wait() // errors are taken below, in the order of the file
	return gather(batches, isJSON)
}

// cut divides a file into batches.
func cut(data []byte) []*batch {
	var out []*batch
	open, size := &batch{}, 0
	next := func() {
		if len(open.documents) > 0 {
			out = append(out, open)
		}
		open, size = &batch{}, 0
	}
	for doc := range documents(data) {
		if len(doc.text) > batchSize {
			if list := splitList(doc); list != nil {
				next()
				out = append(out, list.batches(doc)...)
				continue
			}
		}
		open.documents = append(open.documents, doc)
		if size += len(doc.text); size > batchSize {
			next()
		}
	}
	next()
	return out
}

func (b *batch) parse(isJSON bool) (*content, error) {
	c := newContent()
	if b.list != nil {
		if b.from == 0 {
			c.documents = 1 // the later batches of the list are of the same document
		}
		return c, b.list.add(c, b.documents[0], b.from, b.to)
	}
	for _, doc := range b.documents {
		if err := c.parseDocument(doc, isJSON); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// gather puts the batches of a file together again. Each counted its documents from 1.
func gather(batches []*batch, isJSON bool) (*content, error) {
	out := newContent()
	for len(batches) > 0 {
		b := batches[0]
		same := 1 // batches of the same list
		for b.list != nil && same < len(batches) && batches[same].list == b.list {
			same++
		}
		if slices.ContainsFunc(batches[:same], func(b *batch) bool { return errors.Is(b.err, errNotSimple) }) {
			whole := &batch{documents: b.documents}
			whole.content, whole.err = whole.parse(isJSON)
			b, batches = whole, batches[same-1:]
		}
		batches = batches[1:]
		before := out.documents
		if b.from > 0 {
			before-- // it goes on with the document of the batch before
		}
		if b.err != nil {
			if bad, ok := errors.AsType[*badDocument](b.err); ok && bad.document > 0 {
				bad.document += before
			}
			return nil, b.err
		}
		for _, o := range b.content.objects {
			o.document += before
			out.objects = append(out.objects, o)
		}
		out.documents += b.content.documents
		for kind, n := range b.content.skipped {
			out.skipped[kind] += n
		}
	}
	return out, nil
}

// errNotSimple is about a list that cannot be taken item by item, or is not YAML: the whole document tells which.
var errNotSimple = errors.New("the list is not as simple as it seemed")

// itemList is a list whose items are written in YAML's block style, as kubectl writes them.
type itemList struct {
	head  typeMeta   // of items that do not say
	items []document // each is a YAML list of one item
}

// splitList divides a list into its items without parsing it: a line that is indented like the first item and begins
// with "- " is the next one, whatever it holds. It is nil if the document does not look like that.
func splitList(doc document) *itemList {
	text := doc.text
	at := bytes.Index(text, []byte("\nitems:"))
	if bytes.HasPrefix(text, []byte("items:")) {
		at = -1
	} else if at < 0 {
		return nil
	}
	at++
	key, rest, _ := bytes.Cut(text[at:], []byte("\n"))
	if hasContent(key[len("items:"):]) {
		return nil
	}
	indent := len(rest) - len(bytes.TrimLeft(rest, " "))
	dash := append(bytes.Repeat([]byte(" "), indent), "- "...)
	if !bytes.HasPrefix(rest, dash) {
		return nil
	}
	var items []document
	var after []byte
	line := doc.line + bytes.Count(text[:at], []byte("\n")) + 1
	open := document{number: 1, line: line, first: line}
	start := 0
	for at := 0; ; line++ {
		end := len(rest)
		if n := bytes.IndexByte(rest[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		written := rest[at:end]
		isItem := bytes.HasPrefix(written, dash)
		if isItem && at > 0 {
			open.text = rest[start:at]
			items = append(items, open)
			open.line, open.first, start = line, line, at
		}
		if !isItem && hasContent(written) && len(written)-len(bytes.TrimLeft(written, " ")) <= indent {
			after = rest[at:]
			rest = rest[:at]
			end = at
		}
		if at = end; at >= len(rest) {
			open.text = rest[start:]
			items = append(items, open)
			break
		}
	}
	data, err := yaml.YAMLToJSONStrict(append(bytes.Clone(text[:at]), after...))
	if err != nil {
		return nil
	}
	var head typeMeta
	if decodeJSON(data, &head) != nil {
		return nil
	}
	itemHead, known := head.items()
	if !known {
		return nil
	}
	return &itemList{itemHead, items}
}

// batches divides the list of a document.
func (l *itemList) batches(doc document) []*batch {
	var out []*batch
	size, from := 0, 0
	for i, item := range l.items {
		if size += len(item.text); size > batchSize || i == len(l.items)-1 {
			out = append(out, &batch{documents: []document{doc}, list: l, from: from, to: i + 1})
			size, from = 0, i+1
		}
	}
	return out
}

func (l *itemList) add(c *content, doc document, from, to int) error {
	for i := from; i < to; i++ {
		item := l.items[i]
		data, err := yaml.YAMLToJSONStrict(item.text)
		if err != nil {
			return errNotSimple
		}
		var one []json.RawMessage
		if decodeJSON(data, &one) != nil || len(one) != 1 {
			return errNotSimple
		}
		if head, err := c.addItem(l.head, place{1, i + 1, doc.first}, one[0]); err != nil {
			return item.bad(i+1, []any{0}, head, nil, one[0], err)
		}
	}
	return nil
}
