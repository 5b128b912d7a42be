package xds

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/xds/admission"
	"github.com/meshd/meshd/internal/xds/push"
	"github.com/meshd/meshd/internal/xds/resource"
)

func reason(text string) zapcore.Field { return zap.String("reason", text) }
func named(name string) zapcore.Field  { return zap.String("resource", name) }

func deps(t *testing.T) Deps {
	table, err := NewTable(generators(&world{}))
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	queue, err := admission.New(admission.Options{}, zap.NewNop(), reg)
	if err != nil {
		t.Fatal(err)
	}
	pushes, err := push.New(reg)
	if err != nil {
		t.Fatal(err)
	}
	return Deps{
		Admission: queue, Table: table, Store: resource.NewStore(nil),
		Live:        func() (*snapshot.Live, bool) { return nil, false },
		Gate:        func(ctx context.Context) (*snapshot.Live, error) { <-ctx.Done(); return nil, context.Cause(ctx) },
		Connections: NewConnections(), Pushes: pushes, Log: zap.NewNop(), Registerer: reg,
	}
}

// A table that would leave a client waiting for ever, or answer it by luck, cannot be made.
func TestTable(t *testing.T) {
	all := generators(&world{})
	if _, err := NewTable(all); err != nil {
		t.Fatal(err)
	}
	for i, g := range all {
		for _, what := range []string{"missing", "twice"} {
			broken := append(all[:i:i], all[i+1:]...)
			if what == "twice" {
				broken = append(all[:len(all):len(all)], g)
			}
			table, err := NewTable(broken)
			if table != nil || err == nil {
				t.Errorf("%s %s for %s: no error", g.TypeURL(), what, g.Flavor())
				continue
			}
			for _, want := range []string{RuleGenerators, g.TypeURL(), string(g.Flavor())} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		}
	}
}

func TestNewWantsEverything(t *testing.T) {
	if _, err := New(deps(t)); err != nil {
		t.Fatal(err)
	}
	for what, remove := range map[string]func(*Deps){
		"table":       func(d *Deps) { d.Table = nil },
		"store":       func(d *Deps) { d.Store = nil },
		"live":        func(d *Deps) { d.Live = nil },
		"gate":        func(d *Deps) { d.Gate = nil },
		"admission":   func(d *Deps) { d.Admission = nil },
		"connections": func(d *Deps) { d.Connections = nil },
		"pushes":      func(d *Deps) { d.Pushes = nil },
		"log":         func(d *Deps) { d.Log = nil },
		"registerer":  func(d *Deps) { d.Registerer = nil },
	} {
		d := deps(t)
		remove(&d)
		if s, err := New(d); s != nil || err == nil {
			t.Errorf("a server without %s was made", what)
		}
	}
	d := deps(t)
	if _, err := New(d); err != nil {
		t.Fatal(err)
	}
	if _, err := New(d); err == nil {
		t.Error("metrics were registered twice")
	}
}

func TestRunEnds(t *testing.T) {
	s, err := New(deps(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Errorf("the context ended before the gate opened: %v", err)
	}
	d := deps(t)
	broken := errors.New("broken")
	d.Gate = func(context.Context) (*snapshot.Live, error) { return nil, broken }
	if s, err = New(d); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("the gate failed: %v", err)
	}
}
