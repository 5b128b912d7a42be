package lock

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/meshd/meshd/internal/lifecycle"
	"go.uber.org/fx"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

type (
	Config struct{}
	Store  struct{}
	Key    struct{}
	Check  struct{}
)

type configOut struct {
	fx.Out
	Config lifecycle.Published[Config]
	Find   lifecycle.Step `name:"config.find" phase:"load"`
	Read   lifecycle.Step `name:"config.read" phase:"load" budget:"2s" sets:"Config" probe:"config"`
}

func newConfig() configOut { return configOut{} }

type storeOut struct {
	fx.Out
	Store *Store
	Check Check          `group:"all checks"`
	Fill  lifecycle.Step `name:"store.fill" phase:"load" budget:"1m" waits:"the disk"`
}

func newStore(lifecycle.Loaded[Config]) storeOut { return storeOut{} }

type keyOut struct {
	fx.Out
	Key  lifecycle.Published[Key]
	Make lifecycle.Step `name:"key.make" phase:"identity" sets:"Key"`
}

func newKey(lifecycle.Loaded[Config]) keyOut { return keyOut{} }

type serverIn struct {
	fx.In
	Store  *Store
	Now    lifecycle.Peek[Config]
	Later  lifecycle.Gate[Config]
	Checks []Check `group:"all checks"`
}

type serverOut struct {
	fx.Out
	Open lifecycle.Step `name:"server.open" phase:"listen" listener:"addr" rank:"1"`
}

func newServer(serverIn) serverOut { return serverOut{} }

type secureOut struct {
	fx.Out
	Open lifecycle.Step `name:"server.secure" phase:"listen" listener:"secure-addr" rank:"2" stop:"20s"`
}

func newSecure(*Store, lifecycle.Loaded[Key]) secureOut { return secureOut{} }

type watchOut struct {
	fx.Out
	Watch lifecycle.Step `name:"store.watch" phase:"load"`
}

func newWatch(*Store) watchOut { return watchOut{} }

func components(secure, watch bool) []lifecycle.Component {
	store, server := []any{newStore}, []any{newServer}
	out := []lifecycle.Component{{Name: "config", New: []any{newConfig}}}
	if watch {
		store = append(store, newWatch)
	}
	if secure {
		server = append(server, newSecure)
		out = append(out, lifecycle.Component{Name: "key", New: []any{newKey}})
	}
	return append(out, lifecycle.Component{Name: "store", New: store}, lifecycle.Component{Name: "server", New: server})
}

// variants makes all four forms of the application, each changed by edit.
func variants(t *testing.T, edit func([]lifecycle.Component) []lifecycle.Component) *Lock {
	t.Helper()
	var all []Variant
	for name, flags := range map[string][2]bool{
		"secure=off,watch=off": {false, false}, "secure=off,watch=on": {false, true},
		"secure=on,watch=off": {true, false}, "secure=on,watch=on": {true, true},
	} {
		cs := components(flags[0], flags[1])
		if edit != nil {
			cs = edit(cs)
		}
		p, _ := lifecycle.Analyze(cs) // an edited list need not be sound
		all = append(all, Variant{name, p})
	}
	l, err := Of(all)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func text(t *testing.T, l *Lock) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, l); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (rewrite it with -update and review the change):\n%s", file, diff)
	}
}

func TestGolden(t *testing.T) { golden(t, "startup.lock", text(t, variants(t, nil))) }

func TestSameBytesHoweverListed(t *testing.T) {
	want := text(t, variants(t, nil))
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		got := text(t, variants(t, func(cs []lifecycle.Component) []lifecycle.Component {
			random.Shuffle(len(cs), func(i, j int) { cs[i], cs[j] = cs[j], cs[i] })
			for _, c := range cs {
				random.Shuffle(len(c.New), func(i, j int) { c.New[i], c.New[j] = c.New[j], c.New[i] })
			}
			return cs
		}))
		if got != want {
			t.Fatalf("seed %d: %s", seed, cmp.Diff(want, got))
		}
	}
}

func TestReadBack(t *testing.T) {
	l := variants(t, nil)
	back, err := Parse(strings.NewReader(text(t, l)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text(t, l), text(t, back)); diff != "" {
		t.Error(diff)
	}
	if changes := Diff(l, back); len(changes) > 0 {
		t.Errorf("read back, the lock differs: %v", changes)
	}
	if found := Verify(back, l, nil); len(found) > 0 {
		t.Errorf("findings without a change: %v", found)
	}
}

// Every line of the lock counts: without it in the code, Verify names it; without it in the lock, too.
func TestEveryFactCounts(t *testing.T) {
	full := variants(t, nil)
	for i, e := range full.Entries {
		less := &Lock{Variants: full.Variants, Entries: slices.Delete(slices.Clone(full.Entries), i, i+1)}
		has := func(found []Finding, kind ChangeKind, line string) bool {
			return slices.ContainsFunc(found, func(f Finding) bool { return f.Kind == kind && (f.Old == line || f.New == line) })
		}
		if found := Verify(full, less, nil); len(found) != 1 || !has(found, Removed, e.String()) || !found[0].Weakens() {
			t.Errorf("removed %q: findings %v", e, found)
		}
		if found := Verify(less, full, nil); len(found) != 1 || !has(found, Added, e.String()) || found[0].Weakens() {
			t.Errorf("added %q: findings %v", e, found)
		}
	}
}

func rules(before, after string) []string {
	if before == "config.read" && after == "key.make" {
		return []string{"config-before-key"}
	}
	return nil
}

// drop removes the field or parameter of a name.
func drop(name string) func(reflect.StructField) (reflect.StructField, bool) {
	return func(f reflect.StructField) (reflect.StructField, bool) { return f, f.Name != name }
}

func tag(field, tag string) func(reflect.StructField) (reflect.StructField, bool) {
	return func(f reflect.StructField) (reflect.StructField, bool) {
		if f.Name == field {
			f.Tag = reflect.StructTag(tag)
		}
		return f, true
	}
}

func TestVerifyMutants(t *testing.T) {
	locked := variants(t, nil)
	for name, m := range map[string]struct {
		ctor   any
		change func(reflect.StructField) (reflect.StructField, bool)
		want   []string // each stands in the first finding
	}{
		"a value is no longer read": {newKey, drop("arg 0"),
			[]string{"- reads key/newKey config/newConfig", "@ secure=on", "config.read gives reaches key.make (rule config-before-key)"}},
		"a step moves to a later phase": {newConfig, tag("Read", `name:"config.read" phase:"register" budget:"2s" sets:"Config" probe:"config"`),
			[]string{"~ step config.read phase load  =>  step config.read phase register", "config.read before key.make (rule config-before-key)"}},
		"a store is no longer taken": {newServer, drop("Store"),
			[]string{"- needs server/newServer store/newStore *internal/lifecycle/lock.Store", "what store.fill gives reaches server.open"}},
		"a group is no longer fed": {newStore, drop("Check"),
			[]string{"- contributes server/newServer store/newStore", "what store/newStore contributes no longer reaches server/newServer"}},
		"a budget grows": {newConfig, tag("Read", `name:"config.read" phase:"load" budget:"2h" sets:"Config" probe:"config"`),
			[]string{"~ step config.read budget 2s  =>  step config.read budget 2h0m0s", "not what was reviewed"}},
		"a probe goes": {newConfig, tag("Read", `name:"config.read" phase:"load" budget:"2s" sets:"Config"`),
			[]string{"- step config.read probe config", "lost its probe"}},
		"a gate goes": {newServer, drop("Later"), []string{"- gates server/newServer config/newConfig", "no longer waits"}},
		"a rank goes": {newSecure, tag("Open", `name:"server.secure" phase:"listen" listener:"secure-addr" stop:"20s"`),
			[]string{"- order server.open server.secure rank 2 1 @ secure=on", "server.open before server.secure"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := Verify(locked, variants(t, func(cs []lifecycle.Component) []lifecycle.Component {
				return lifecycle.Edit(cs, m.ctor, m.change)
			}), rules)
			if len(found) == 0 {
				t.Fatal("nothing found")
			}
			for _, want := range m.want {
				if !strings.Contains(found[0].String(), want) {
					t.Errorf("the first finding does not say %q:\n%s", want, found[0])
				}
			}
			if !found[0].Weakens() {
				t.Error("it is taken for something that only has to be recorded")
			}
		})
	}
}

// An order that a new one now carries is no loss.
func TestImpliedOrder(t *testing.T) {
	parse := func(s string) *Lock {
		l, err := Parse(strings.NewReader("variant all\n" + s))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	const steps = "step a phase load\nstep b phase load\nstep c phase load\n"
	found := Verify(parse(steps+"order a c needs x\n"), parse(steps+"order a b needs y\norder b c needs z\n"), nil)
	if len(found) != 3 {
		t.Fatalf("findings: %v", found)
	}
	for _, f := range found {
		if f.Weakens() {
			t.Errorf("weakens: %s", f)
		}
	}
	found = Verify(parse(steps+"order a b needs y\norder b c needs z\n"), parse(steps+"order a b needs y\n"), nil)
	var got []string
	for _, p := range found[0].Protected {
		got = append(got, p.String())
	}
	if diff := cmp.Diff([]string{"a before c", "b before c"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDiffGolden(t *testing.T) {
	before := variants(t, nil)
	after := variants(t, func(cs []lifecycle.Component) []lifecycle.Component {
		cs = lifecycle.Edit(cs, newConfig, tag("Read", `name:"config.read" phase:"load" budget:"3s" sets:"Config" probe:"config"`))
		cs = lifecycle.Edit(cs, newSecure, drop("arg 0"))
		return append(cs, lifecycle.Component{Name: "extra", New: []any{newExtra}})
	})
	after.Variants = append(after.Variants, "secure=maybe,watch=on")
	var b bytes.Buffer
	if err := WriteDiff(&b, Diff(before, after)); err != nil {
		t.Fatal(err)
	}
	golden(t, "diff.text", b.String())
	b.Reset()
	if err := WriteDiffJSON(&b, Diff(before, after)); err != nil {
		t.Fatal(err)
	}
	golden(t, "diff.json", b.String())
	b.Reset()
	if err := WriteDiffJSON(&b, Diff(before, before)); err != nil || b.String() != "[]\n" {
		t.Errorf("no difference is %q, %v", b.String(), err)
	}
}

type extraOut struct {
	fx.Out
	Extra lifecycle.Step `name:"extra.run" phase:"lead"`
}

func newExtra(lifecycle.Peek[Config]) extraOut { return extraOut{} }

func BenchmarkVerify(b *testing.B) {
	plan, _ := lifecycle.Analyze(components(true, true))
	var all []Variant
	for i := range 16 {
		all = append(all, Variant{Name: "n=" + strconv.Itoa(i), Plan: plan})
	}
	for b.Loop() {
		current, err := Of(all)
		if err != nil {
			b.Fatal(err)
		}
		if found := Verify(current, current, nil); len(found) > 0 {
			b.Fatal(found)
		}
	}
}
