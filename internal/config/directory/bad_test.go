package directory

import (
	"os"
	"strings"
	"testing"
)

// TestBadFiles checks that each sort of bad input is found where it is, and that it makes the whole file bad.
func TestBadFiles(t *testing.T) {
	good := service("good", 80) // 9 lines
	for name, c := range map[string]struct {
		text           string
		document, line int
		item           int
		file           string
		want           string
	}{
		"no value":                        {text: good + "---\na: b: c\n", document: 2, line: 11, want: "not YAML"},
		"after comment":                   {text: good + "---\n# one\n# two\n\na: b: c\n", document: 2, line: 14, want: "not YAML"},
		"flow":                            {text: good + "---\nkind: Service\nspec: [1,2\nmore: 3\n", document: 2, line: 13, want: "did not find expected"},
		"mixed":                           {text: good + "---\na: 1\n- b\n", document: 2, line: 12, want: "did not find expected"},
		"no colon":                        {text: good + "---\na: 1\nfoo\nb: 2\n", document: 2, line: 12, want: "could not find expected ':'"},
		"tab":                             {text: good + "---\nmetadata:\n\tname: x\n", document: 2, line: 12, want: "cannot start any token"},
		"anchor":                          {text: good + "---\na: 1\nb: *none\n", document: 2, line: 12, want: "unknown anchor"},
		"same key twice":                  {text: good + "---\nkind: Pod\na: 1\nkind: Service\n", document: 2, line: 13, want: `key "kind" already set`},
		"unclosed":                        {text: good + "---\na: \"b\n", document: 2, line: 11, want: "end of stream"},
		"template":                        {text: good + "---\nname: {{ .Name }}\n", document: 2, line: 11, want: "not YAML"},
		"control characters":              {text: good + "a: \x00\x01\n", line: 10, want: "not text"},
		"not UTF-8":                       {text: good + "---\nname: caf\xe9\n", line: 11, want: "not UTF-8"},
		"UTF-16":                          {text: "\xff\xfea\x00", line: 1, want: "UTF-16"},
		"text":                            {text: good + "---\njust some words\n", document: 2, line: 11, want: "not an object"},
		"list at the top":                 {text: good + "---\n- a\n", document: 2, line: 11, want: "not an object"},
		"no kind":                         {text: good + "---\napiVersion: v1\nmetadata: {name: x}\n", document: 2, line: 11, want: "kind is missing"},
		"no apiVersion":                   {text: good + "---\nkind: Service\nmetadata: {name: x}\n", document: 2, line: 11, want: "apiVersion is missing: want v1"},
		"unknown kind without apiVersion": {text: good + "---\nmetadata: {name: x}\nkind: Gadget\n", document: 2, line: 11, want: "apiVersion is missing"},
		"kind is a number":                {text: good + "---\napiVersion: v1\nkind: 5\n", document: 2, line: 11, want: "not an object"},
		"item without kind":               {text: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  metadata: {name: x}\n", document: 1, item: 1, line: 4, want: "kind is missing"},
		"item that says nothing":          {text: "apiVersion: v1\nkind: List\nitems:\n- metadata: {name: x}\n", document: 1, item: 1, line: 4, want: "kind is missing"},
		"item without apiVersion":         {text: "apiVersion: v1\nkind: List\nitems:\n- kind: EndpointSlice\n  metadata: {name: x}\n", document: 1, item: 1, line: 4, want: "apiVersion is missing"},
		"list without apiVersion":         {text: good + "---\nkind: List\nitems: []\n", document: 2, line: 11, want: "apiVersion is missing"},
		"key with and without quotes":     {text: good + "---\napiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n  1: a\n  \"1\": b\n", document: 2, line: 11, want: "there twice"},
		"too large":                       {text: good + "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n  annotations:\n    a: " + strings.Repeat("x", maxObject) + "\n", document: 2, line: 11, want: "more than 4194304"},
		"item too large":                  {text: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Event\n- kind: Pod\n  x: " + strings.Repeat("x", maxObject) + "\n", document: 1, item: 2, line: 6, want: "more than 4194304"},
		"JSON too large":                  {file: "bad.json", text: "{}\n{\"kind\": \"Pod\", \"x\": \"" + strings.Repeat("x", maxObject) + "\"}", document: 2, line: 2, want: "more than 4194304"},
		"broken JSON too large":           {text: good + "---\n{\"kind\": \"Pod\", \"x\":\n\"" + strings.Repeat("x", maxObject) + "\n\"}", document: 2, line: 13, want: "not JSON"},
		"old apiVersion":                  {text: good + "---\nkind: EndpointSlice\napiVersion: discovery.k8s.io/v1beta1\nmetadata: {name: x}\n", document: 2, line: 12, want: "want discovery.k8s.io/v1"},
		"no name":                         {text: good + "---\napiVersion: v1\nkind: Pod\nmetadata:\n  namespace: x\n", document: 2, line: 13, want: "metadata.name is missing"},
		"bad name":                        {text: good + "---\napiVersion: v1\nkind: Pod\nmetadata:\n  labels: {}\n  name: a/b\n", document: 2, line: 15, want: `"a/b"`},
		"bad namespace":                   {text: good + "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: b\n  namespace: a.b\n", document: 2, line: 15, want: "metadata.namespace"},
		"port is text":                    {text: strings.Replace(good, "port: 80", "port: eighty", 1), document: 1, line: 9, want: "spec.ports[0].port: "},
		"second port":                     {text: good + "  - port: 81\n  - port: x\n", document: 1, line: 11, want: "spec.ports[2].port: "},
		"label is a number":               {text: good + "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n  labels:\n    a: b\n    version: 1\n", document: 2, line: 17, want: "metadata.labels.version: "},
		"label is yes":                    {text: good + "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n  labels:\n    a: b\n    canary: yes\n", document: 2, line: 17, want: "metadata.labels.canary: "},
		"bad time":                        {text: good + "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: x\n  creationTimestamp: noon\n", document: 2, line: 15, want: "metadata.creationTimestamp: "},
		"spec is a list":                  {text: good + "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: x\nspec:\n- a\n", document: 2, line: 15, want: "spec: "},
		"port out of range":               {text: strings.Replace(good, "port: 80", "port: 70000", 1), document: 1, line: 9, want: "spec.ports[0].port is 70000"},
		"address of other type":           {text: "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: x}\naddressType: IPv4\nendpoints:\n- addresses:\n  - 10.0.0.1\n- addresses:\n  - fd00::1\n", document: 1, line: 9, want: "endpoints[1].addresses[0]"},
		"no address type":                 {text: "apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: x}\nendpoints:\n- addresses:\n  - 10.0.0.1\n", document: 1, line: 1, want: "addressType is"},
		"cluster address":                 {text: strings.Replace(good, "10.96.0.10", "ten", 1), document: 1, line: 6, want: "spec.clusterIP"},
		"item of a list":                  {text: "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: x}\n- apiVersion: v1\n  kind: Service\n  metadata:\n    name: w\n  spec:\n    ports:\n    - port: x\n", document: 1, item: 2, line: 13, want: "spec.ports[0].port: "},
		"items is no list":                {text: "apiVersion: v1\nkind: List\n\nitems: 5\n", document: 1, line: 4, want: "items is not a list"},
		"json":                            {file: "bad.json", text: "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"x\"}}\n\n{\n  \"a\": 1,\n  b\n}", document: 2, line: 5, want: "not JSON"},
		"json with a bad type":            {file: "bad.json", text: "{\n \"apiVersion\": \"v1\",\n \"kind\": \"Service\",\n \"metadata\": {\"name\": \"x\"},\n \"spec\": {\n  \"ports\": 5\n }\n}", document: 1, line: 6, want: "spec.ports: "},
		"json with a key twice":           {file: "bad.json", text: "{\n \"apiVersion\": \"v1\",\n \"kind\": \"Service\",\n \"metadata\": {\"name\": \"x\", \"name\": \"y\"}\n}", document: 1, line: 4, want: "metadata.name is there twice"},
		"item of a JSON list":             {file: "bad.json", text: "{\"apiVersion\": \"v1\", \"items\": [\n" + strings.Repeat("{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"n\"}},\n", 2999) + "{\"apiVersion\": \"v1\", \"kind\": \"Service\",\n\"metadata\": {\"name\": 1}}], \"kind\": \"List\"}", document: 1, item: 3000, line: 3002, want: "metadata.name: "},
	} {
		t.Run(name, func(t *testing.T) {
			if c.file == "" {
				c.file = "bad.yaml"
			}
			r := start(t, map[string]string{"fine.yaml": service("fine", 1), c.file: c.text})
			p := r.wantProblem("bad file", c.file, c.want)
			if p.Document != c.document || p.Line != c.line || p.Item != c.item || p.Kept || p.Since.IsZero() {
				t.Errorf("got document %d, item %d, line %d, kept %v, since %v; want document %d, item %d, line %d, not kept\n%s",
					p.Document, p.Item, p.Line, p.Kept, p.Since, c.document, c.item, c.line, p)
			}
			if n := len(r.source.Status().Problems); n != 1 {
				t.Errorf("%d problems, want one", n)
			}
			if got := r.ports(); got != "fine:1" {
				t.Errorf("services %q: want those of the other file only", got)
			}
			if err := r.source.Degraded(); err != nil {
				t.Errorf("a bad file made the source degraded: %v", err)
			}
		})
	}
}

func TestBinaryJunk(t *testing.T) {
	junk := make([]byte, 1<<20)
	for i := range junk {
		junk[i] = byte(i*7919 + i>>8)
	}
	r := start(t, map[string]string{"junk.yaml": string(junk), "fine.yaml": service("fine", 1)})
	r.wantProblem("bad file", "junk.yaml", "not text")
	r.wantPorts("fine:1")
}

// TestBadEditKeepsTheFile checks that a whole file keeps its last good content, however little of it is bad.
func TestBadEditKeepsTheFile(t *testing.T) {
	r := start(t, map[string]string{"shop.yaml": service("a", 1) + "---\n" + service("b", 2)})
	r.replace("shop.yaml", service("a", 10)+"---\n"+service("b", 70000))
	p := r.wantProblem("bad file", "shop.yaml", "service b", "70000")
	if !p.Kept || p.Document != 2 || p.Line != 19 {
		t.Errorf("got %+v; want document 2, line 19, kept", p)
	}
	r.wantPorts("a:1 b:2")
	if got := r.take(); len(got) != 0 {
		t.Errorf("a bad edit made the changes %v", got)
	}
	r.replace("shop.yaml", service("a", 10)+"---\n"+service("b", 20))
	r.wantPorts("a:10 b:20")
	r.wantNoProblem()

	// A bad file that is deleted is deleted.
	r.replace("shop.yaml", "{")
	r.wantProblem("bad file", "shop.yaml")
	r.remove("shop.yaml")
	r.wantPorts("")
	r.wantNoProblem()
}

func TestTooLarge(t *testing.T) {
	r := start(t, map[string]string{"a.yaml": service("a", 1)})
	r.write("huge.yaml", "")
	r.must(os.Truncate(r.path("huge.yaml"), maxFile+1))
	r.wantProblem("bad file", "huge.yaml", "split it")
	r.wantPorts("a:1")
}
