package timeline

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/meshd/meshd/internal/lifecycle"
	"go.uber.org/fx"
	"go.uber.org/zap"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

const (
	us  = time.Microsecond
	mls = time.Millisecond
)

// finished is a start of 214 ms.
func finished() lifecycle.Record {
	r := lifecycle.Record{Began: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Ready: 214 * mls, Taken: 5 * time.Second}
	at := 18 * mls
	for _, c := range []struct {
		name, component string
		took            time.Duration
		after           []string
	}{
		{"mesh-config/New", "mesh-config", 140 * us, nil},
		{"ca/New", "ca", 90 * us, []string{"mesh-config/New"}},
		{"sources/New", "sources", 1800 * us, []string{"mesh-config/New"}},
		{"snapshot/New", "snapshot", 310 * us, []string{"sources/New"}},
		{"listeners/NewSecure", "listeners", 700 * us, []string{"ca/New", "snapshot/New"}},
	} {
		r.Spans = append(r.Spans, lifecycle.Span{Kind: "constructor", Name: c.name, Component: c.component, Queued: at, Ready: at, Started: at, Ended: at + c.took, WaitedFor: c.after, State: lifecycle.Started})
		at += c.took + 50*us
	}
	step := func(name, phase string, queued, started, ended time.Duration, after ...string) {
		component, _, _ := strings.Cut(name, ".")
		r.Spans = append(r.Spans, lifecycle.Span{Kind: "step", Name: name, Component: component, Phase: phase, Queued: queued * 100 * us, Ready: started * 100 * us,
			Started: started * 100 * us, Ended: ended * 100 * us, WaitedFor: after, State: lifecycle.Started})
	}
	step("listeners.check", "preflight", 215, 215, 228)
	step("admin.health", "admin", 229, 229, 241)
	step("admin.monitoring", "admin", 229, 241, 250, "admin.health")
	step("mesh-config.load", "load", 251, 251, 420)
	step("networks.load", "load", 251, 420, 431, "mesh-config.load")
	step("ca.create", "identity", 432, 432, 880)
	step("trust-bundle.load", "identity", 432, 880, 902, "ca.create")
	step("sources.handlers", "register", 903, 903, 911)
	step("sources.start", "sync", 912, 912, 1650)
	step("snapshot.catch-up", "sync", 912, 1650, 2060, "sources.start")
	step("xds.open", "sync", 912, 2060, 2071, "snapshot.catch-up")
	step("listeners.secure", "listen", 2072, 2072, 2100)
	step("readiness.announce", "announce", 2101, 2101, 2140)
	return r
}

// unfinished is the same start, looked at while the snapshot catches up.
func unfinished() lifecycle.Record {
	r := finished()
	r.Ready, r.Taken = 0, 195*mls
	for i := range r.Spans {
		switch s := &r.Spans[i]; s.Name {
		case "snapshot.catch-up":
			s.State, s.Ended, s.Waits = lifecycle.Starting, 0, "12 changes"
		case "xds.open":
			s.State, s.Ready, s.Started, s.Ended = lifecycle.Pending, 0, 0, 0
		case "listeners.secure", "readiness.announce":
			s.State, s.Queued, s.Ready, s.Started, s.Ended = lifecycle.Pending, 0, 0, 0, 0
		}
	}
	return r
}

// failed is the same start, stopped by the CA.
func failed() lifecycle.Record {
	r := unfinished()
	for i := range r.Spans {
		s := &r.Spans[i]
		switch {
		case s.Name == "ca.create":
			s.State, s.Error = lifecycle.Failed, "over budget: not started within 40ms"
		case s.Queued > 432*100*us:
			s.State, s.Queued, s.Ready, s.Started, s.Ended, s.Waits = lifecycle.Pending, 0, 0, 0, 0, ""
		case s.Name == "trust-bundle.load":
			s.State, s.Ready, s.Started, s.Ended = lifecycle.Pending, 0, 0, 0
		}
	}
	return r
}

// hostileRecord has names that mean something elsewhere.
func hostileRecord() lifecycle.Record {
	return lifecycle.Record{Began: time.Unix(0, 0), Ready: mls, Spans: []lifecycle.Span{
		{Kind: "step", Name: "<script>\"&'\n\x01]]>", Component: "</text>", Phase: "load", Queued: 1, Started: 2, Ended: mls, State: lifecycle.Failed, Error: "<b>\nno</b>", Waits: "-->", WaitedFor: []string{"<script>\"&'\n\x01]]>"}},
		{Kind: "step", Name: strings.Repeat("long ", 100), Phase: "no such phase", Started: 5, Ended: 1, State: lifecycle.Started},
	}}
}

var records = map[string]func() lifecycle.Record{
	"finished": finished, "unfinished": unfinished, "failed": failed, "hostile": hostileRecord,
	"empty": func() lifecycle.Record { return lifecycle.Record{} },
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

type view interface {
	WriteText(io.Writer) error
	WriteJSON(io.Writer) error
}

func TestGolden(t *testing.T) {
	for name, record := range records {
		for kind, v := range map[string]view{
			"blame": Blame(record()), "chain": CriticalChain(record()), "diff": Diff(finished(), record()),
		} {
			var text, data bytes.Buffer
			if err := errors.Join(v.WriteText(&text), v.WriteJSON(&data)); err != nil {
				t.Fatal(err)
			}
			golden(t, name+"-"+kind+".text", text.Bytes())
			if !json.Valid(data.Bytes()) {
				t.Errorf("%s of %s is not JSON", kind, name)
			}
			if name == "unfinished" {
				golden(t, name+"-"+kind+".json", data.Bytes())
			}
		}
		var drawing bytes.Buffer
		if err := Plot(&drawing, record()); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".svg", drawing.Bytes())
		wellFormed(t, drawing.Bytes())
	}
}

func wellFormed(t *testing.T, drawing []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(drawing)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "script" {
			t.Error("a drawing has no scripts")
		}
	}
}

// Link by link, own time and what lies between add up to the time until ready.
func TestChainAddsUp(t *testing.T) {
	c := CriticalChain(finished())
	sum := time.Duration(0)
	for _, l := range c.Links {
		sum += l.Own + l.Idle
		if l.Kind == "constructors" {
			sum += l.Waiting
		}
	}
	if sum != finished().Ready {
		t.Errorf("the links add up to %s, want %s", sum, finished().Ready)
	}
	if c.Links[0].Name != "readiness.announce" || c.Links[len(c.Links)-1].Kind != "process" {
		t.Errorf("the chain leads from %s to %s", c.Links[0].Name, c.Links[len(c.Links)-1].Name)
	}
}

func TestChainOfAnUnfinishedStartEndsAtWhatRuns(t *testing.T) {
	if c := CriticalChain(unfinished()); c.Links[0].Name != "snapshot.catch-up" || !c.Links[0].Running {
		t.Errorf("it begins with %+v", c.Links[0])
	}
}

func TestDiff(t *testing.T) {
	a, b := finished(), finished()
	for i := range b.Spans {
		s := &b.Spans[i]
		switch s.Name {
		case "ca.create":
			s.Ended += 30 * mls
		case "networks.load":
			s.Name = "networks.read"
		}
	}
	b.Ready += 30 * mls
	d := Diff(a, b)
	if d.Delta != 30*mls || d.Unfinished || d.Deltas[0].Name != "ca.create" || d.Deltas[0].Delta != 30*mls {
		t.Errorf("ready changed by %s, most of it in %+v", d.Delta, d.Deltas[0])
	}
	got := map[string]string{}
	for _, x := range d.Deltas {
		if x.Change != "same" {
			got[x.Name] = x.Change
		}
	}
	if diff := cmp.Diff(map[string]string{"networks.load": "gone", "networks.read": "new"}, got); diff != "" {
		t.Error(diff)
	}
	if d := Diff(a, a); d.Delta != 0 || d.Deltas[0].Delta != 0 {
		t.Errorf("a start differs from itself: %+v", d)
	}
}

func TestParse(t *testing.T) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(finished()); err != nil {
		t.Fatal(err)
	}
	back, err := Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(finished(), back); diff != "" {
		t.Error(diff)
	}
	for _, in := range []string{"", "no json", "{}", "[]", `{"spans":[{"kind":"what","name":"x"}]}`} {
		if _, err := Parse(strings.NewReader(in)); err == nil || !strings.Contains(err.Error(), "start-up trace") {
			t.Errorf("%q: error %v", in, err)
		}
	}
}

type slow struct {
	fx.Out
	Slow lifecycle.Step `name:"real.slow" phase:"load"`
	Next lifecycle.Step `name:"real.next" phase:"load"`
	Last lifecycle.Step `name:"real.last" phase:"announce"`
}

// A real start, saved and read back: its chain leads from the last step to the process.
func TestRealStart(t *testing.T) {
	now := func(context.Context) error { return nil }
	r, err := lifecycle.New([]lifecycle.Component{{Name: "real", New: []any{func() slow {
		return slow{Slow: lifecycle.Step{Start: now}, Next: lifecycle.Step{Start: now}, Last: lifecycle.Step{Start: now}}
	}}}}, zap.NewNop(), lifecycle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	saved, err := json.Marshal(r.Trace().Record())
	if err != nil {
		t.Fatal(err)
	}
	record, err := Parse(bytes.NewReader(saved))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range CriticalChain(record).Links {
		if l.Kind == kindStep {
			got = append(got, l.Because+" "+l.Name)
		} else {
			got = append(got, l.Kind)
		}
	}
	want := []string{"phase real.last", "after real.next", "constructors real.slow", "constructors", "process"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var drawing bytes.Buffer
	if err := Plot(&drawing, record); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, drawing.Bytes())
}

// A start that fails names the step that failed first, though it was stopped since.
func TestRealFailure(t *testing.T) {
	ok := func(context.Context) error { return nil }
	r, err := lifecycle.New([]lifecycle.Component{{Name: "real", New: []any{func() slow {
		return slow{Slow: lifecycle.Step{Start: ok}, Next: lifecycle.Step{Start: func(context.Context) error { return errors.New("no such file") }}, Last: lifecycle.Step{Start: ok}}
	}}}}, zap.NewNop(), lifecycle.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context()); err == nil {
		t.Fatal("it started")
	}
	record := r.Trace().Record()
	if got := Blame(record).Summary; !strings.Contains(got, "start failed at") || !strings.Contains(got, "step real.next: no such file") {
		t.Errorf("summary %q", got)
	}
	if c := CriticalChain(record); len(c.Links) == 0 || c.Links[0].Name != "real.next" {
		t.Errorf("chain %+v", c.Links)
	}
}
