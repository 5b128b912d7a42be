package directory

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/config"
	"github.com/meshd/meshd/internal/model"
)

// odd is a service whose text has everything that could be taken for the beginning of something else.
func odd(i int) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Service
metadata:
  name: odd-%d
  namespace: shop
  annotations:
    text: |
      - not an item
      --- not a document

      items:
      - kind: Pod
    # - a comment
    folded: >-
      kind: List
    quoted: "a
      - b"
spec:
  clusterIP: 10.96.0.1
  ports:
  - name: http
    port: %d
  - {name: more, port: %d}
`, i, 1000+i%1000, 2000+i%1000)
}

func indented(text, first, rest string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		switch {
		case i == 0:
			lines[i] = first + line
		case line != "":
			lines[i] = rest + line
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// layouts write the same services in every way that a large file has.
var layouts = map[string]func(services []string) string{
	"documents": func(s []string) string { return strings.Join(s, "---\n") },
	"list": func(s []string) string {
		var b strings.Builder
		b.WriteString("apiVersion: v1\nitems:\n")
		for _, text := range s {
			b.WriteString(indented(text, "- ", "  "))
		}
		return b.String() + "kind: List\nmetadata:\n  resourceVersion: \"\"\n"
	},
	"indented list": func(s []string) string {
		var b strings.Builder
		b.WriteString("# made by hand\n---\nkind: List\napiVersion: v1\nitems:\n")
		for _, text := range s {
			b.WriteString("# here comes one\n\n" + indented(text, "  - ", "    "))
		}
		return strings.Replace(b.String(), "items:\n# here comes one\n\n", "items:\n", 1)
	},
	"typed list": func(s []string) string {
		var b strings.Builder
		b.WriteString("kind: ServiceList\napiVersion: v1\nitems:\n")
		for _, text := range s {
			b.WriteString(indented(strings.TrimPrefix(text, "apiVersion: v1\nkind: Service\n"), "- ", "  "))
		}
		return b.String()
	},
}

// TestLargeFiles checks that a large file comes to what its parts come to, and that what is wrong in it is found
// where it is.
func TestLargeFiles(t *testing.T) {
	const n = 1600
	var services []string
	want := newContent()
	for i := range n {
		services = append(services, odd(i))
		c, err := parseText(t, "one.yaml", odd(i))
		if err != nil {
			t.Fatal(err)
		}
		want.objects = append(want.objects, c.objects...)
	}
	small, large := service("small", 1), "---\napiVersion: apps/v1\nkind: Deployment\n---\n"
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			text := small + large + layout(services) + "---\n" + service("last", 1)
			if len(text) < 4*batchSize {
				t.Fatalf("%d bytes are not large", len(text))
			}
			batches := cut(t.Context(), []byte(text), false)
			if len(batches) < 4 {
				t.Errorf("%d batches: it is parsed in one go", len(batches))
			}
			if name != "documents" && batches[1].list == nil {
				t.Error("the list is not taken item by item")
			}
			got, err := parseText(t, "large.yaml", text)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.objects) != n+2 || got.skipped["Deployment.apps"] != 1 {
				t.Fatalf("%d objects, skipped %v", len(got.objects), got.skipped)
			}
			for i, o := range got.objects[1 : n+1] {
				if diff := cmp.Diff(want.objects[i].value, o.value); diff != "" {
					t.Fatalf("object %d (-want +got):\n%s", i, diff)
				}
				document, item := 3, i+1
				if name == "documents" {
					document, item = 3+i, 0
				}
				if o.document != document || o.item != item {
					t.Fatalf("object %d is in document %d, item %d; want %d and %d", i, o.document, o.item, document, item)
				}
			}
			last := got.objects[n+1]
			if last.Name != "last" || last.document != got.documents {
				t.Errorf("the last object is %v in document %d of %d", last.key, last.document, got.documents)
			}

			// One port of the last but one service is wrong.
			at := strings.LastIndex(text, "port: 1598")
			bad := text[:at] + "port: x598" + text[at+len("port: 1598"):]
			_, err = parseText(t, "large.yaml", bad)
			doc, ok := err.(*badDocument)
			if !ok {
				t.Fatalf("error %v", err)
			}
			line := 1 + strings.Count(text[:at], "\n")
			document, item := 3, n-1
			if name == "documents" {
				document, item = 3+n-2, 0
			}
			if doc.line != line || doc.document != document || doc.item != item || !strings.Contains(doc.Error(), "spec.ports[0].port") {
				t.Errorf("line %d, document %d, item %d: %v; want line %d, document %d, item %d", doc.line, doc.document, doc.item, doc, line, document, item)
			}
		})
	}
}

// TestListThatIsNotSimple has an anchor in one item and its alias in another, which only the whole document knows.
func TestListThatIsNotSimple(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: List\nitems:\n")
	for i := range 3000 {
		ports := "*ports"
		if i == 0 {
			ports = "&ports\n    - port: 7"
		}
		fmt.Fprintf(&b, "- apiVersion: v1\n  kind: Service\n  metadata:\n    name: s%d\n  spec:\n    clusterIP: 10.96.0.1\n    ports: %s\n", i, ports)
	}
	got, err := parseText(t, "x.yaml", b.String())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.objects); n != 3000 || got.documents != 1 {
		t.Errorf("%d objects in %d documents", n, got.documents)
	}
}

// TestTenThousandFiles loads them, finds one edit among them, and finds what is bad.
func TestTenThousandFiles(t *testing.T) {
	files := map[string]string{}
	for i := range 10000 {
		files[fmt.Sprintf("d%d/s%d.yaml", i%100, i)] = service(fmt.Sprintf("s%d", i), 1+i%60000)
	}
	files["d5/bad.yaml"] = "{"
	r, stores := newRig(t, files, func(o *Options) { o.Log = zap.NewNop() })
	begin := time.Now()
	r.load(stores)
	t.Logf("loaded in %s", time.Since(begin))
	r.run()
	if s := r.source.Status(); s.Files != 10000 || s.Objects[model.KindService] != 10000 || len(s.Problems) != 1 {
		t.Fatalf("status %+v", s)
	}
	r.write("d7/s7.yaml", service("s7", 9999))
	r.eventually("the edit is seen", func() bool { return len(r.take()) > 0 })
	svc, _ := r.view.Services.Get(model.NamespacedName{Namespace: "default", Name: "s7"})
	if firstPort(svc) != 9999 {
		t.Errorf("port %d", firstPort(svc))
	}
	r.must(os.Rename(r.dir, r.dir+".away"))
	r.wantKeptCount(10000)
	r.must(os.Rename(r.dir+".away", r.dir))
	r.eventually("recovered", func() bool { return r.source.Degraded() == nil })
	if got := r.take(); len(got) != 0 {
		t.Errorf("vanishing and coming back made %d changes", len(got))
	}
}

func (r *rig) wantKeptCount(n int) {
	r.Helper()
	r.eventually("degraded", func() bool { return r.source.Degraded() != nil })
	if got := len(r.view.Services.List()); got != n {
		r.Fatalf("%d services, want %d", got, n)
	}
}

// TestFiftyMegabytes loads a file that large, keeps of it what is read, and keeps that when the file is spoilt.
func TestFiftyMegabytes(t *testing.T) {
	// Most of it is text that is not read, as in a dump of a cluster.
	size := 50 << 20
	note := strings.Repeat("lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor ", 600)
	var text strings.Builder
	n := 0
	file, spoilt := "large.yaml", "- apiVersion: v1\n  kind: Service\n  metadata: {name: [x]}\n"
	if raceEnabled {
		// The race detector makes it take minutes, and looks for something that does not depend on the size.
		size = 8 << 20
		file, spoilt = "large.json", "{"
		for ; text.Len() < size; n++ {
			fmt.Fprintf(&text, "{\"apiVersion\": \"v1\", \"kind\": \"Service\", \"metadata\": {\"name\": \"s%d\", \"annotations\": {\"note\": %q}}}\n", n, note)
		}
	} else {
		text.WriteString("apiVersion: v1\nkind: List\nitems:\n")
		for ; text.Len() < size; n++ {
			fmt.Fprintf(&text, "- apiVersion: v1\n  kind: Service\n  metadata:\n    name: s%d\n    annotations:\n      note: |\n        %s\n", n, note)
		}
	}
	r, stores := newRig(t, map[string]string{file: text.String()})
	text.Reset()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin := time.Now()
	r.load(stores)
	t.Logf("%d services loaded in %s", n, time.Since(begin))
	r.run()
	if s := r.source.Status(); s.Objects[model.KindService] != n || len(s.Problems) != 0 {
		t.Fatalf("status %+v, want %d services", s, n)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) >> 20; held > 20 {
		t.Errorf("%d MB stay in use: what is not read is kept", held)
	}
	r.must(appendTo(r.path(file), spoilt))
	r.wantProblem("bad file", file)
	if got := len(r.view.Services.List()); got != n {
		t.Errorf("%d services, want %d", got, n)
	}
}

func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// TestLargeJSON holds lists and streams of JSON equal to what they come to in YAML.
func TestLargeJSON(t *testing.T) {
	files := long(4)
	want := map[string]int{}
	for name, text := range map[string]string{"stream.json": files["stream.json"], "list.json": files["list.json"], "list.yaml": files["list.json"]} {
		if len(cut(t.Context(), []byte(text), false)) < 2 {
			t.Errorf("%s is parsed in one go", name)
		}
		got, err := parseText(t, name, text)
		if err != nil {
			t.Fatal(err)
		}
		last := got.objects[len(got.objects)-1]
		lines := 1 + strings.Count(text, "\n")
		if name == "stream.json" && (last.line != lines || last.document != lines || last.item != 0) ||
			name != "stream.json" && (last.line != 1 || last.document != 1 || last.item != lines) || got.documents != last.document {
			t.Errorf("%s: the last of %d is %+v, in %d documents", name, lines, last.place, got.documents)
		}
		want[last.Name]++
		if len(got.objects) != lines {
			t.Errorf("%s: %d objects, want %d", name, len(got.objects), lines)
		}
	}
	if len(want) != 1 {
		t.Errorf("the last objects are %v, want one and the same", want)
	}
}

func BenchmarkLoad(b *testing.B) {
	for name, files := range map[string]func(dir string) error{
		"10000 files": func(dir string) error {
			for i := range 10000 {
				if err := os.WriteFile(fmt.Sprintf("%s/%d.yaml", dir, i), []byte(service(fmt.Sprintf("s%d", i), 80)), 0o600); err != nil {
					return err
				}
			}
			return nil
		},
		"50 MB list": func(dir string) error {
			var services []string
			for i := range 110000 {
				services = append(services, odd(i))
			}
			return os.WriteFile(dir+"/list.yaml", []byte(layouts["list"](services)), 0o600)
		},
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			if err := files(dir); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				s, err := New(dir, Options{Stores: config.NewStores(func(model.Change) {}), Log: zap.NewNop(), Registerer: prometheus.NewRegistry()})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Load(b.Context()); err != nil {
					b.Fatal(err)
				}
				s.Close()
			}
		})
	}
}

func parseText(t *testing.T, path, text string) (*content, error) {
	t.Helper()
	return parse(t.Context(), path, []byte(text), func(int) {})
}
