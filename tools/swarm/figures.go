package main

import (
	"cmp"
	"slices"
	"time"
)

// size is one combination of what is varied.
type size struct {
	Services int    `json:"services"`
	Streams  int    `json:"streams"`
	Protocol string `json:"protocol"` // sotw or delta
}

// sample is one thing that happened once.
type sample struct {
	cpu              time.Duration   // of the server
	latencies        []time.Duration // of each stream
	slowest          time.Duration
	bytes, responses map[string]int64 // received by all streams, by type
}

// memory is that of one server, resident, in bytes.
type memory struct{ connected, changed, peak int64 }

// figures are the samples of one size, from all rounds.
type figures struct {
	order   []string
	samples map[string][]sample
	memory  []memory
}

func newFigures() *figures { return &figures{samples: map[string][]sample{}} }

func (f *figures) add(what string, s sample) {
	if f.samples[what] == nil {
		f.order = append(f.order, what)
	}
	f.samples[what] = append(f.samples[what], s)
}

// Result is what came out for one size.
type Result struct {
	size
	Steps  []Step `json:"steps"`
	Memory Memory `json:"memory"`
}

// Step is what one thing takes, as medians over how often it was done. Times are in seconds; CPU is the server's.
type Step struct {
	What    string  `json:"what"`
	Samples int     `json:"samples"`
	CPU     float64 `json:"cpu_s"`
	// P50 and P99 are over all streams of all samples.
	P50 float64 `json:"p50_s"`
	P99 float64 `json:"p99_s"`
	// Slowest is that of the slowest stream.
	Slowest float64 `json:"slowest_s"`
	// Bytes and Responses were received by all streams together, by type.
	Bytes     map[string]int64 `json:"bytes"`
	Responses map[string]int64 `json:"responses"`
}

// Total sums up the bytes of all types.
func (s Step) Total() (bytes int64) {
	for _, n := range s.Bytes {
		bytes += n
	}
	return bytes
}

// Memory is the resident memory of the server in bytes: when all are connected, after the changes, and at its peak.
type Memory struct {
	Connected int64 `json:"connected"`
	Changed   int64 `json:"changed"`
	Peak      int64 `json:"peak"`
}

// Step gives the step of a name.
func (r Result) Step(what string) Step {
	i := slices.IndexFunc(r.Steps, func(s Step) bool { return s.What == what })
	if i < 0 {
		return Step{}
	}
	return r.Steps[i]
}

func (f *figures) result(sz size) Result {
	r := Result{size: sz}
	for _, what := range f.order {
		samples := f.samples[what]
		step := Step{
			What: what, Samples: len(samples),
			CPU:     median(samples, func(s sample) time.Duration { return s.cpu }).Seconds(),
			Slowest: median(samples, func(s sample) time.Duration { return s.slowest }).Seconds(),
			Bytes:   map[string]int64{}, Responses: map[string]int64{},
		}
		var all []time.Duration
		for _, s := range samples {
			all = append(all, s.latencies...)
		}
		step.P50, step.P99 = percentile(all, 50).Seconds(), percentile(all, 99).Seconds()
		for short := range samples[0].bytes {
			step.Bytes[short] = median(samples, func(s sample) int64 { return s.bytes[short] })
			step.Responses[short] = median(samples, func(s sample) int64 { return s.responses[short] })
		}
		r.Steps = append(r.Steps, step)
	}
	r.Memory = Memory{
		Connected: median(f.memory, func(m memory) int64 { return m.connected }),
		Changed:   median(f.memory, func(m memory) int64 { return m.changed }),
		Peak:      median(f.memory, func(m memory) int64 { return m.peak }),
	}
	return r
}

func median[T any, V cmp.Ordered](of []T, value func(T) V) V {
	values := make([]V, len(of))
	for i, v := range of {
		values[i] = value(v)
	}
	return percentile(values, 50)
}

// percentile is the smallest value that so many in a hundred do not exceed; zero if there are none.
func percentile[V cmp.Ordered](values []V, percent int) (zero V) {
	if len(values) == 0 {
		return zero
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)*percent+99)/100-1]
}
