package main

import "fmt"

// reference is the size that the budgets are for, in either protocol.
var reference = size{Services: 1000, Streams: 100}

// limit is the budget of one figure: seconds, or bytes of memory.
type limit struct {
	what  string
	most  float64
	value func(Result) float64
}

func cpu(step string) func(Result) float64 { return func(r Result) float64 { return r.Step(step).CPU } }
func p50(step string) func(Result) float64 { return func(r Result) float64 { return r.Step(step).P50 } }
func p99(step string) func(Result) float64 { return func(r Result) float64 { return r.Step(step).P99 } }

// budgets are what meshd has to reach on the machine of docs/performance.md, which says where they come from.
func budgets(protocol string) []limit {
	limits := []limit{
		{"connect, CPU", 2, cpu("connect")},
		{"connect, slowest", 3, func(r Result) float64 { return r.Step("connect").Slowest }},
	}
	if protocol == "delta" {
		limits = append(limits,
			limit{"new service, CPU", 0.2, cpu("new service")},
			limit{"new service, p50", 0.25, p50("new service")},
			limit{"new service, p99", 0.4, p99("new service")},
			limit{"one endpoint, CPU", 0.03, cpu("one endpoint")})
	} else {
		limits = append(limits,
			limit{"new service, CPU", 0.45, cpu("new service")},
			limit{"new service, p50", 0.6, p50("new service")},
			limit{"new service, p99", 1.2, p99("new service")},
			limit{"one endpoint, CPU", 0.05, cpu("one endpoint")})
	}
	return append(limits,
		limit{"one endpoint, p50", 0.04, p50("one endpoint")},
		limit{"memory, connected", 120e6, func(r Result) float64 { return float64(r.Memory.Connected) }})
}

// Verdict is one figure beside its budget, both in seconds, or in bytes for memory.
type Verdict struct {
	What     string  `json:"what"`
	Budget   float64 `json:"budget"`
	Measured float64 `json:"measured"`
	OK       bool    `json:"ok"`
}

// judge compares a result with the budgets; without verdicts if there are none for its size.
func judge(r Result) (verdicts []Verdict, ok bool) {
	if r.Services != reference.Services || r.Streams != reference.Streams {
		return nil, true
	}
	ok = true
	for _, l := range budgets(r.Protocol) {
		v := Verdict{What: l.what, Budget: l.most, Measured: l.value(r)}
		v.OK = v.Measured <= v.Budget
		ok = ok && v.OK
		verdicts = append(verdicts, v)
	}
	return verdicts, ok
}

// amount writes seconds or bytes.
func amount(v float64) string {
	switch {
	case v >= 1e5:
		return fmt.Sprintf("%.0f MB", v/1e6)
	case v >= 1:
		return fmt.Sprintf("%.2f s", v)
	default:
		return fmt.Sprintf("%.1f ms", v*1000)
	}
}
