package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
)

// Report is everything, for --json.
type Report struct {
	Machine string     `json:"machine"`
	Go      string     `json:"go"`
	Classes int        `json:"classes"`
	Rounds  int        `json:"rounds"`
	Results []Judgment `json:"results"`
}

// Judgment is a result and what there is to say of it.
type Judgment struct {
	Result
	Budgets []Verdict `json:"budgets,omitempty"`
}

// report prints results, and gives errBudget if one does not keep its budgets.
func (o *options) report(results []Result) error {
	out := Report{Machine: machine(), Go: runtime.Version(), Classes: o.classes, Rounds: o.rounds}
	kept := true
	for _, r := range results {
		verdicts, ok := judge(r)
		kept = kept && ok
		out.Results = append(out.Results, Judgment{r, verdicts})
	}
	if o.json {
		e := json.NewEncoder(o.output)
		e.SetIndent("", "  ")
		if err := e.Encode(out); err != nil {
			return err
		}
	} else if err := o.text(out); err != nil {
		return err
	}
	if !kept {
		return errBudget
	}
	return nil
}

func (o *options) text(report Report) error {
	fmt.Fprintf(o.output, "%s, %s; %d classes, %d rounds\n", report.Machine, report.Go, report.Classes, report.Rounds)
	for _, r := range report.Results {
		fmt.Fprintf(o.output, "\n%s, %d services, %d streams\n", r.Protocol, r.Services, r.Streams)
		w := tabwriter.NewWriter(o.output, 0, 8, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "\tserver CPU\tp50\tp99\tslowest\treceived\t cds\teds\tlds\trds\t")
		for _, s := range r.Steps {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t", s.What, amount(s.CPU), amount(s.P50), amount(s.P99), amount(s.Slowest), megabytes(s.Total()))
			for _, short := range []string{"cds", "eds", "lds", "rds"} {
				fmt.Fprintf(w, "%s\t", megabytes(s.Bytes[short]))
			}
			fmt.Fprintln(w)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(o.output, "resident memory: connected %s, after the changes %s, at its peak %s\n",
			megabytes(r.Memory.Connected), megabytes(r.Memory.Changed), megabytes(r.Memory.Peak))
		if len(r.Budgets) == 0 {
			continue
		}
		w = tabwriter.NewWriter(o.output, 0, 8, 2, ' ', 0)
		fmt.Fprintln(w, "budget\tat most\tmeasured\t")
		for _, v := range r.Budgets {
			verdict := "ok"
			if !v.OK {
				verdict = "TOO MUCH"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", v.What, amount(v.Budget), amount(v.Measured), verdict)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return growth(o.output, report.Results)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// machine names the processor and its cores.
func machine() string {
	name := runtime.GOARCH
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores", name, runtime.NumCPU())
}
