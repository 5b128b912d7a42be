package directory

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
)

// long gives a file of as many parts, in each way that a large file may be written.
func long(parts int) map[string]string {
	var services, items []string
	for i, size := 0, 0; size < parts*batchSize; i++ {
		services = append(services, odd(i))
		items = append(items, fmt.Sprintf(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s%d", "annotations": {"note": %q}}}`, i, odd(i)))
		size += len(services[i])
	}
	out := map[string]string{
		"stream.json": strings.Join(items, "\n"),
		"list.json":   `{"apiVersion": "v1", "kind": "List", "items": [` + strings.Join(items, ",\n") + "]}",
	}
	for name, layout := range layouts {
		if !raceEnabled || name == "list" { // the YAML parser is slow under the race detector
			out[name+".yaml"] = layout(services)
		}
	}
	return out
}

// TestProgressWithinAFile loads one large file: silence until it is done could exceed any budget.
func TestProgressWithinAFile(t *testing.T) {
	for name, text := range long(6) {
		t.Run(name, func(t *testing.T) {
			var said []string
			r, stores := newRig(t, map[string]string{name: text}, func(o *Options) {
				o.Progress = func(_ context.Context, what string) { said = append(said, what) }
			})
			r.source.reportEvery = 0
			r.load(stores)
			if len(said) < len(text)/batchSize {
				t.Fatalf("%d reports of %d parts: %q", len(said), len(text)/batchSize, said)
			}
			size := len(text) >> 10
			for _, what := range said[:len(said)-1] {
				if want := "0 of 1 files, and "; !strings.Contains(what, want) || !strings.Contains(what, fmt.Sprintf(" of %d kB of ", size)) {
					t.Errorf("said %q", what)
				}
			}
			if last := said[len(said)-1]; !strings.HasSuffix(last, "1 of 1 files") {
				t.Errorf("at last it said %q", last)
			}
		})
	}
}

// TestLoadEndsWithItsContext ends it when the first part of a large file is done: of the others none may be begun.
func TestLoadEndsWithItsContext(t *testing.T) {
	for name, text := range long(6) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			parts := 0
			r, stores := newRig(t, map[string]string{name: text}, func(o *Options) {
				o.Progress = func(context.Context, string) { parts++; cancel() }
			})
			r.source.reportEvery = 0
			if _, err := r.source.Load(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("load: %v", err)
			}
			if most := runtime.GOMAXPROCS(0) + 1; parts > most { // those that were begun, and the file
				t.Errorf("%d parts were parsed, want at most %d", parts, most)
			}
			if n := len(r.take()); n != 0 || r.source.Status().Loaded {
				t.Errorf("%d changes of a load that was ended", n)
			}
			if raceEnabled {
				return
			}
			r.load(stores) // and it may be tried again
			if r.source.Status().Objects[model.KindService] == 0 {
				t.Error("a second load found nothing")
			}
		})
	}
}

// TestRunEndsWithItsContext does the same while a large edit is being read.
func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	parts := 0
	r, stores := newRig(t, map[string]string{"a.yaml": service("a", 1)}, func(o *Options) {
		o.Log = zap.NewNop().WithOptions(zap.WrapCore(func(zapcore.Core) zapcore.Core {
			return hook{func(what string) {
				if strings.HasPrefix(what, "reading ") {
					parts++
					cancel()
				}
			}}
		}))
	})
	r.load(stores)
	r.source.reportEvery = 0
	r.write("large.yaml", long(6)["list.yaml"])
	if err := r.source.Run(ctx); err != nil {
		t.Errorf("run: %v", err)
	}
	if most := runtime.GOMAXPROCS(0) + 1; parts == 0 || parts > most {
		t.Errorf("%d parts were parsed, want some, and at most %d", parts, most)
	}
	if got := r.ports(); got != "a:1" {
		t.Errorf("services %q", got)
	}
}

// hook is a log that calls a function with each message.
type hook struct{ say func(what string) }

func (h hook) Enabled(zapcore.Level) bool        { return true }
func (h hook) With([]zapcore.Field) zapcore.Core { return h }
func (h hook) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	return c.AddCore(e, h)
}
func (h hook) Write(e zapcore.Entry, _ []zapcore.Field) error { h.say(e.Message); return nil }
func (h hook) Sync() error                                    { return nil }

// TestParserEndsWithItsContext ends it within one document.
func TestParserEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := decodeYAML(ctx, []byte("a: 1")); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Errorf("error %v", err)
	}
	c := newContent()
	if err := c.parseDocument(ctx, document{text: []byte("a: 1"), line: 1, first: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v: the end of the context is taken for a fault of the document", err)
	}
}

// countdown is a context that ends when it was asked for its error that many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestApplyEndsWithItsContext ends it after every single put and delete, and lets another call do the rest.
func TestApplyEndsWithItsContext(t *testing.T) {
	content := func(text string) *content {
		c, err := parseText(t, "x.yaml", text)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	before := content(service("a", 1) + "---\n" + service("b", 1) + "---\n" + service("c", 1))
	after := content(service("a", 2) + "---\n" + service("d", 2))
	const changes = 4 // a and d are put, b and c go
	for n := range changes + 1 {
		var got []model.Change
		stores := config.NewStores(func(c model.Change) { got = append(got, c) })
		c := newClaims()
		c.replace("x.yaml", nil, before)
		if _, _, err := c.apply(t.Context(), stores); err != nil {
			t.Fatal(err)
		}
		got = nil
		c.replace("x.yaml", before, after)
		_, _, err := c.apply(&countdown{t.Context(), n}, stores)
		if len(got) != n || (err == nil) != (n == changes) {
			t.Errorf("%d changes, error %v; want %d", len(got), err, n)
		}
		puts, deletes, err := c.apply(t.Context(), stores)
		if err != nil || len(got) != changes || puts+deletes != changes-n {
			t.Errorf("the rest made %d puts and %d deletes, %v; in all %d changes, want %d", puts, deletes, err, len(got), changes)
		}
	}
}
