package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/goleak"
)

// TestSmall runs everything once, on a small mesh and with the real process.
func TestSmall(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var out strings.Builder
	args := []string{"--services=20", "--streams=6", "--classes=3", "--rounds=1", "--changes=2", "--json", "--quiet"}
	if err := run(ctx, args, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var report Report
	if err := json.Unmarshal([]byte(out.String()), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 2 {
		t.Fatalf("%d results, want one for each protocol", len(report.Results))
	}
	for _, r := range report.Results {
		if r.Memory.Connected <= 0 || r.Memory.Peak < r.Memory.Connected || len(r.Budgets) > 0 {
			t.Errorf("%s: memory %+v, budgets %v", r.Protocol, r.Memory, r.Budgets)
		}
		for what, samples := range map[string]int{"connect": 1, "new service": 2, "new HTTP service": 2, "one endpoint": 2} {
			s := r.Step(what)
			if s.Samples != samples || s.CPU <= 0 || s.P50 <= 0 || s.P99 < s.P50 || s.Slowest < s.P50 || s.Total() <= 0 {
				t.Errorf("%s: %s: %+v", r.Protocol, what, s)
			}
		}
		// What the change needs is what was sent.
		if lds := r.Step("new HTTP service").Responses["lds"]; lds != 0 {
			t.Errorf("%s: a service without a port of its own was %d responses with listeners", r.Protocol, lds)
		}
		if s := r.Step("one endpoint"); s.Responses["eds"] == 0 || s.Responses["cds"]+s.Responses["lds"]+s.Responses["rds"] != 0 {
			t.Errorf("%s: one more endpoint was %v responses", r.Protocol, s.Responses)
		}
	}
}

func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--services=0":              "between 1 and 60000",
		"--services=10":             "--classes 20",
		"--protocol=sotw,rest":      "--protocol rest",
		"--endpoints=31":            "--endpoints 31",
		"--streams=100,many":        "invalid argument",
		"--binary=/nowhere/a --q=x": "unknown flag",
	} {
		if err := run(context.Background(), strings.Fields(args), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	var help strings.Builder
	if err := run(context.Background(), []string{"--help"}, io.Discard, &help); !errors.Is(err, pflag.ErrHelp) || !strings.Contains(help.String(), "--services ints") {
		t.Errorf("--help: %v\n%s", err, help.String())
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i
	}
	for _, c := range []struct {
		values        []int
		percent, want int
	}{{nil, 50, 0}, {[]int{7}, 99, 7}, {[]int{3, 1, 2}, 50, 2}, {hundred, 50, 50}, {hundred, 99, 99}, {hundred, 100, 100}} {
		if got := percentile(c.values, c.percent); got != c.want {
			t.Errorf("percentile %d of %v is %d, want %d", c.percent, c.values, got, c.want)
		}
	}
}

// TestGrowth: figures at several sizes stand side by side, with their ratios.
func TestGrowth(t *testing.T) {
	at := func(services int, cpu float64) Judgment {
		return Judgment{Result: Result{size: size{Services: services, Streams: 100, Protocol: "delta"}, Steps: []Step{{What: "connect", CPU: cpu}}}}
	}
	var out strings.Builder
	if err := growth(&out, []Judgment{at(250, 0.5), at(1000, 2), at(4000, 8.25)}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"250 × 100", "500.0 ms", "2.00 s (× 4.0)", "8.25 s (× 16.5)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := growth(&out, []Judgment{at(250, 1)}); err != nil || out.Len() > 0 {
		t.Errorf("one size alone does not grow: %v %s", err, out.String())
	}
}

// TestBudgets: a result that is too large anywhere fails, and only where there are budgets.
func TestBudgets(t *testing.T) {
	for _, protocol := range []string{"sotw", "delta"} {
		sz := reference
		sz.Protocol = protocol
		good := Result{size: sz, Memory: Memory{Connected: 100e6}}
		for _, what := range []string{"connect", "new service", "one endpoint"} {
			good.Steps = append(good.Steps, Step{What: what, CPU: 0.02, P50: 0.03, P99: 0.3, Slowest: 0.3})
		}
		if verdicts, ok := judge(good); !ok || len(verdicts) != 8 {
			t.Errorf("%s: %+v", protocol, verdicts)
		}
		bad := good
		bad.Memory.Connected = 121e6
		if _, ok := judge(bad); ok {
			t.Errorf("%s: too much memory is no failure", protocol)
		}
		other := bad
		other.Services++
		if verdicts, ok := judge(other); !ok || verdicts != nil {
			t.Errorf("%s: a size without budgets is judged: %+v", protocol, verdicts)
		}
		var out strings.Builder
		o := &options{output: &out}
		if err := o.report([]Result{good, bad}); !errors.Is(err, errBudget) || strings.Count(out.String(), "TOO MUCH") != 1 {
			t.Errorf("%s: %v\n%s", protocol, err, out.String())
		}
	}
}
