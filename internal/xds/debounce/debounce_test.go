package debounce

import (
	"fmt"
	"testing"
	"time"

	"github.com/meshd/meshd/internal/model"
)

func change(name string, what model.Aspect) map[model.Change]struct{} {
	return map[model.Change]struct{}{{Kind: model.KindService, NamespacedName: model.NamespacedName{Name: name}, What: what}: {}}
}

// TestDebouncer replays changes at given milliseconds on a clock of its own and lists when which batch comes out.
func TestDebouncer(t *testing.T) {
	const spec, eps = model.AspectSpec, model.AspectEndpoints
	type event struct {
		at   int
		name string
		what model.Aspect
	}
	every := func(from, to, step int, name string, what model.Aspect) (out []event) {
		for at := from; at <= to; at += step {
			out = append(out, event{at, name, what})
		}
		return out
	}
	started := Defaults()
	for _, tc := range []struct {
		name   string
		opts   Options
		events []event
		want   []string // "ms: number of changes upTo[ endpoints]"
	}{
		{"the first batch does not wait", started, []event{{0, "a", spec}}, []string{"0: 1 upTo 1"}},
		{"a window set by hand holds the first batch too", Options{Quiet: time.Second, Max: time.Second, First: 2 * time.Second},
			[]event{{0, "a", spec}}, []string{"2000: 1 upTo 1"}},
		{"quiet after the last change", started,
			[]event{{0, "a", spec}, {1000, "a", spec}, {1050, "b", spec}, {1120, "a", spec}},
			[]string{"0: 1 upTo 1", "1220: 2 upTo 4"}},
		{"never longer than the longest wait", Options{Quiet: 100 * time.Millisecond, Max: 300 * time.Millisecond},
			append([]event{{0, "a", spec}}, every(1000, 1450, 90, "b", spec)...),
			[]string{"0: 1 upTo 1", "1300: 1 upTo 5", "1550: 1 upTo 7"}},
		{"endpoints have a window of their own", started,
			append([]event{{0, "a", spec}}, every(1000, 1200, 5, "e", eps)...),
			[]string{"0: 1 upTo 1", "1100: 1 upTo 21 endpoints", "1200: 1 upTo 41 endpoints", "1210: 1 upTo 42 endpoints"}},
		// Case B23: configuration that keeps coming does not hold endpoints back, and endpoints given out early do not
		// count as long as an older change waits.
		{"endpoints do not wait for configuration", started,
			[]event{{0, "a", spec}, {1000, "b", spec}, {1050, "e", eps}, {1090, "b", spec}},
			[]string{"0: 1 upTo 1", "1060: 1 upTo 1 endpoints", "1190: 1 upTo 4"}},
		{"configuration takes waiting endpoints along", started,
			[]event{{0, "a", spec}, {1000, "b", spec}, {1095, "e", eps}},
			[]string{"0: 1 upTo 1", "1100: 2 upTo 3"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, err := New(tc.opts)
			if err != nil {
				t.Fatal(err)
			}
			base := time.Unix(1000, 0)
			var got []string
			take := func(now time.Time) {
				for {
					b, ok := d.Take(now)
					if !ok {
						return
					}
					line := fmt.Sprintf("%d: %d upTo %d", now.Sub(base).Milliseconds(), len(b.Changes), b.UpTo)
					if b.EndpointsOnly {
						line += " endpoints"
					}
					got = append(got, line)
				}
			}
			drain := func(until time.Time) {
				for {
					at, ok := d.Due()
					if !ok || at.After(until) {
						return
					}
					take(at)
				}
			}
			for i, e := range tc.events {
				now := base.Add(time.Duration(e.at) * time.Millisecond)
				drain(now)
				d.Add(now, now, change(e.name, e.what), uint64(i+1))
			}
			drain(base.Add(time.Hour))
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("batches\n got %q\nwant %q", got, tc.want)
			}
		})
	}
}

func TestOptionsValidate(t *testing.T) {
	for _, o := range []Options{
		{Quiet: -1}, {Quiet: 2, Max: 1}, {EndpointQuiet: 2, EndpointMax: 1}, {First: -1},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
		if _, err := NewLoop(nil, o, nil); err == nil {
			t.Errorf("%+v was accepted by the loop", o)
		}
	}
	if err := Defaults().Validate(); err != nil {
		t.Error(err)
	}
}
