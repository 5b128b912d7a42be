package directory

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// batchSize is how many bytes of a file are parsed in one go. Larger files are parsed by all processors at once, and a
// list that is larger is parsed item by item: as one document it would take forty times its size of memory.
const batchSize = 128 << 10

// batch is a part of a file: documents, or some items of a list.
type batch struct {
	documents []document
	list      *itemList // nil unless it is items
	from, to  int
	size      int // bytes

	content *content
	err     error
}

// parse reads a file. Any bad document makes the whole file bad: half of what someone wrote is not what they meant.
// done is told of every part that is done, with its size in bytes. It ends soon if the context does, with its error.
func parse(ctx context.Context, path string, data []byte, done func(bytes int)) (*content, error) {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if line, err := checkText(data); err != nil {
		return nil, &badDocument{place: place{line: line}, err: err}
	}
	batches := cut(ctx, data, strings.HasSuffix(strings.ToLower(path), ".json"))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, b := range batches {
		group.Go(func() error {
			if ctx.Err() == nil {
				b.content, b.err = b.parse(ctx)
				done(b.size)
			}
			return nil
		})
	}
	_ = group.Wait() // errors are taken below, in the order of the file
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return gather(ctx, batches)
}

// cut divides a file into batches, and the whole of it unless the context ends.
func cut(ctx context.Context, data []byte, isJSON bool) []*batch {
	var out []*batch
	open := &batch{}
	next := func() {
		if len(open.documents) > 0 {
			out = append(out, open)
		}
		open = &batch{}
	}
	add := func(doc document) {
		if len(doc.text) > batchSize {
			if list := splitList(ctx, doc); list != nil {
				next()
				out = append(out, list.batches(doc)...)
				return
			}
		}
		open.documents = append(open.documents, doc)
		if open.size += len(doc.text); open.size > batchSize {
			next()
		}
	}
	for doc := range documents(data) {
		if ctx.Err() != nil {
			return nil
		}
		if !doc.looksLikeJSON() {
			add(doc)
			continue
		}
		values, err := jsonValues(ctx, doc)
		if err != nil && !isJSON && tooLarge(doc.text) == nil {
			add(doc) // YAML has braces too
			continue
		}
		for _, v := range values {
			add(v)
		}
	}
	next()
	return out
}

func (b *batch) parse(ctx context.Context) (*content, error) {
	c := newContent()
	if b.list != nil {
		if b.from == 0 {
			c.documents = 1 // the later batches of the list are of the same document
		}
		return c, b.list.add(ctx, c, b.documents[0], b.from, b.to)
	}
	for _, doc := range b.documents {
		if err := c.parseDocument(ctx, doc); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// gather puts the batches of a file together again. Each counted its documents from 1.
func gather(ctx context.Context, batches []*batch) (*content, error) {
	out := newContent()
	for len(batches) > 0 {
		b := batches[0]
		same := 1 // batches of the same list
		for b.list != nil && same < len(batches) && batches[same].list == b.list {
			same++
		}
		if slices.ContainsFunc(batches[:same], func(b *batch) bool { return errors.Is(b.err, errNotSimple) }) {
			whole := &batch{documents: b.documents}
			whole.content, whole.err = whole.parse(ctx)
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

// itemList is a list that is taken item by item.
type itemList struct {
	head  typeMeta   // of items that do not say
	items []document // each is one item: JSON, or YAML with the dash before it
	json  bool
}

// splitList divides a list into its items. It is nil if the document is none, or is not written like one.
func splitList(ctx context.Context, doc document) *itemList {
	if doc.json {
		return splitJSONList(ctx, doc)
	}
	return splitYAMLList(ctx, doc)
}

// splitYAMLList divides a list without parsing it, if its items are written in YAML's block style, as kubectl writes
// them: a line that is indented like the first item and begins with "- " is the next one, whatever it holds.
func splitYAMLList(ctx context.Context, doc document) *itemList {
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
	rest = append(bytes.Clone(text[:at]), after...)
	if tooLarge(rest) != nil {
		return nil
	}
	v, err := decodeYAML(ctx, rest)
	if err != nil || v.yaml == nil {
		return nil
	}
	head, err := v.head(typeMeta{})
	if err != nil {
		return nil
	}
	itemHead, known := head.items()
	if !known {
		return nil
	}
	return &itemList{head: itemHead, items: items}
}

// batches divides the list of a document.
func (l *itemList) batches(doc document) []*batch {
	var out []*batch
	size, from := 0, 0
	for i, item := range l.items {
		if size += len(item.text); size > batchSize || i == len(l.items)-1 {
			out = append(out, &batch{documents: []document{doc}, list: l, from: from, to: i + 1, size: size})
			size, from = 0, i+1
		}
	}
	return out
}

func (l *itemList) add(ctx context.Context, c *content, doc document, from, to int) error {
	for i := from; i < to; i++ {
		item := l.items[i]
		if err := tooLarge(item.text); err != nil {
			return &badDocument{place: place{1, i + 1, item.first}, err: err}
		}
		v := value{json: item.text}
		if !l.json {
			// Without its dash, an item is a document.
			item.text = bytes.Clone(item.text)
			item.text[bytes.IndexByte(item.text, '-')] = ' '
			var err error
			if v, err = decodeYAML(ctx, item.text); err != nil || v.yaml == nil {
				return errNotSimple
			}
		}
		if head, data, err := c.addItem(l.head, place{1, i + 1, doc.first}, v); err != nil {
			item.number = 1
			return item.bad(i+1, nil, head, nil, data, err)
		}
	}
	return nil
}
