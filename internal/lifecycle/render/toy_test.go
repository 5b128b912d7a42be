package render

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshd/meshd/internal/lifecycle"
	"go.uber.org/fx"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// The toy: two phases, every kind of edge, and every reason for an order.

type (
	Config struct{}
	Store  struct{}
	Check  struct{}
)

type toyConfig struct {
	fx.Out
	Config lifecycle.Published[Config]
	Check  Check          `group:"checks"`
	Find   lifecycle.Step `name:"config.find" phase:"load"`
	Read   lifecycle.Step `name:"config.read" phase:"load" budget:"2s" sets:"Config" probe:"config"`
}

func newToyConfig() toyConfig { return toyConfig{} }

type toyStore struct {
	fx.Out
	Store *Store
	Fill  lifecycle.Step `name:"store.fill" phase:"load" budget:"1m" waits:"the disk"`
}

func newToyStore(lifecycle.Loaded[Config]) toyStore { return toyStore{} }

func newToyIndex(*Store) Check { return Check{} }

type toyIndex struct {
	fx.Out
	Check Check `group:"checks"`
}

func newToyIndexed(*Store) toyIndex { return toyIndex{} }

type toyServerIn struct {
	fx.In
	Store  *Store
	Now    lifecycle.Peek[Config]
	Later  lifecycle.Gate[Config]
	Checks []Check `group:"checks"`
}

type toyServer struct {
	fx.Out
	Open lifecycle.Step `name:"server.open" phase:"listen" listener:"addr" rank:"1"`
	Warm lifecycle.Step `name:"server.warm" phase:"load"`
}

func newToyServer(toyServerIn) toyServer { return toyServer{} }

type toySecond struct {
	fx.Out
	Open lifecycle.Step `name:"server.second" phase:"listen" listener:"second-addr" rank:"2" stop:"20s"`
}

func newToySecond() toySecond { return toySecond{} }

func toyComponents() []lifecycle.Component {
	return []lifecycle.Component{
		{Name: "config", For: "reads the configuration", New: []any{newToyConfig}},
		{Name: "store", For: "holds what is served", New: []any{newToyStore, newToyIndexed}},
		{Name: "server", For: "serves it", New: []any{newToyServer, newToySecond}},
	}
}

func planOf(t *testing.T, components []lifecycle.Component) *lifecycle.Plan {
	t.Helper()
	p, violations := lifecycle.Analyze(components)
	for _, v := range violations {
		t.Error(v)
	}
	return p
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (rewrite it with -update and review the change):\n%s", file, diff)
	}
}

func show(t *testing.T, format string, p *lifecycle.Plan, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, p, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var views = map[string]Options{
	"all":   {Data: true},
	"phase": {Phase: lifecycle.Load, Data: true},
	"focus": {Focus: "store", Data: true},
	"stop":  {Stop: true, Data: true},
}

func TestGolden(t *testing.T) {
	p := planOf(t, toyComponents())
	for _, format := range Formats() {
		for name, o := range views {
			golden(t, "toy-"+name+"."+format, show(t, format, p, o))
		}
	}
	mesh := planOf(t, meshComponents())
	golden(t, "mesh-all.text", show(t, "text", mesh, Options{}))
	golden(t, "mesh-all.svg", show(t, "svg", mesh, Options{Data: true}))
}

func TestSameBytesHoweverListed(t *testing.T) {
	want := map[string]string{}
	rules := func(before, after string) []RuleRef { return []RuleRef{{ID: before + "<" + after}} }
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 1))
		components := meshComponents()
		random.Shuffle(len(components), func(i, j int) { components[i], components[j] = components[j], components[i] })
		for _, c := range components {
			random.Shuffle(len(c.New), func(i, j int) { c.New[i], c.New[j] = c.New[j], c.New[i] })
		}
		p := planOf(t, components)
		got := map[string]string{}
		for _, format := range Formats() {
			got[format] = string(show(t, format, p, Options{Data: true}))
			got[format+" focus"] = string(show(t, format, p, Options{Data: true, Focus: "snapshot"}))
		}
		var b bytes.Buffer
		chain, err := Why(p, "kube", "listeners", rules)
		deps, err2 := Rdeps(p, "mesh-config")
		if err := errors.Join(err, err2, chain.WriteJSON(&b), deps.WriteText(&b)); err != nil {
			t.Fatal(err)
		}
		got["why and rdeps"] = b.String()
		if seed == 0 {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

func TestStopIsTheExactReverse(t *testing.T) {
	p := planOf(t, meshComponents())
	start, err := Describe(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop, err := Describe(p, Options{Stop: true})
	if err != nil {
		t.Fatal(err)
	}
	names := func(d *Document) (out []string) {
		for _, phase := range d.Phases {
			for _, s := range phase.Steps {
				out = append(out, s.Name)
			}
		}
		return out
	}
	reversed := names(stop)
	slices.Reverse(reversed)
	if diff := cmp.Diff(names(start), reversed); diff != "" {
		t.Error(diff)
	}
	if len(start.Order) == 0 || len(start.Order) != len(stop.Order) {
		t.Fatalf("%d orders at start, %d at stop", len(start.Order), len(stop.Order))
	}
	for _, o := range start.Order {
		if !slices.ContainsFunc(stop.Order, func(s Order) bool { return s.Before == o.After && s.After == o.Before }) {
			t.Errorf("the stop order does not reverse %s before %s", o.Before, o.After)
		}
	}
}

func TestFocusOnNothingProposesNames(t *testing.T) {
	p := planOf(t, toyComponents())
	for _, format := range Formats() {
		err := Write(io.Discard, format, p, Options{Focus: "stor"})
		var unknown *UnknownName
		if !errors.As(err, &unknown) || !slices.Contains(unknown.Near, "store") {
			t.Errorf("%s: error %v, want one that proposes store", format, err)
		}
	}
	if err := Write(io.Discard, "gif", p, Options{}); err == nil || !strings.Contains(err.Error(), "mermaid") {
		t.Errorf("format gif: error %v, want one that lists the formats", err)
	}
}

func wellFormed(t *testing.T, drawing []byte) {
	t.Helper()
	elements := 0
	for d := xml.NewDecoder(bytes.NewReader(drawing)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok {
			elements++
			if start.Name.Local == "script" {
				t.Error("a drawing has no scripts")
			}
		}
	}
	if elements < 5 {
		t.Errorf("only %d elements", elements)
	}
}

type hostile struct {
	fx.Out
	One lifecycle.Step `name:"a\"]-->b<script>&'\n%s" phase:"load" waits:"</text>\x01 -->"`
	Two lifecycle.Step `name:"x\\\" -> y; }" phase:"load"`
}

func newHostile() hostile { return hostile{} }

func TestHostileNames(t *testing.T) {
	p := planOf(t, []lifecycle.Component{{Name: "c|\"<&>", For: "a ]]> b\nc", New: []any{newHostile}}})
	drawing := show(t, "svg", p, Options{Data: true})
	wellFormed(t, drawing)
	if bytes.Contains(drawing, []byte("<script")) {
		t.Error("SVG: a name became an element")
	}
	for format, forbidden := range map[string]string{
		"dot": "\n%s", "mermaid": `a"]`, "text": "\n%s", "json": "\x01",
	} {
		if out := show(t, format, p, Options{Data: true}); bytes.Contains(out, []byte(forbidden)) {
			t.Errorf("%s: %q stands there unescaped:\n%s", format, forbidden, out)
		}
	}
	if out := string(show(t, "dot", p, Options{})); !strings.Contains(out, `"x\\\" -> y; }"`) {
		t.Errorf("DOT does not quote the name:\n%s", out)
	}
}

func TestSVGIsWellFormed(t *testing.T) {
	for _, components := range [][]lifecycle.Component{nil, toyComponents(), meshComponents()} {
		p := planOf(t, components)
		for _, o := range views {
			if o.Focus != "" && len(components) != 3 { // only the toy has a store
				continue
			}
			wellFormed(t, show(t, "svg", p, o))
		}
	}
}

// A plan that is not sound can still be shown: that is when it is looked at most.
func TestUnsoundPlan(t *testing.T) {
	p, violations := lifecycle.Analyze([]lifecycle.Component{{Name: "store", New: []any{newToyStore, newToyIndex}}})
	if len(violations) == 0 {
		t.Fatal("a store without config is not sound")
	}
	for _, format := range Formats() {
		if out := show(t, format, p, Options{Data: true}); !bytes.Contains(out, []byte("store.fill")) {
			t.Errorf("%s: the step is missing", format)
		}
	}
}
