package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// growing are the figures whose growth is of interest.
var growing = []limit{
	{what: "connect, CPU", value: cpu("connect")},
	{what: "connect, slowest", value: func(r Result) float64 { return r.Step("connect").Slowest }},
	{what: "new service, CPU", value: cpu("new service")},
	{what: "new service, p50", value: p50("new service")},
	{what: "new HTTP service, CPU", value: cpu("new HTTP service")},
	{what: "one endpoint, CPU", value: cpu("one endpoint")},
	{what: "one endpoint, p50", value: p50("one endpoint")},
	{what: "memory, connected", value: func(r Result) float64 { return float64(r.Memory.Connected) }},
}

// growth prints, for each protocol that was measured at several sizes, each figure at each size and how often that is
// the one at the first.
func growth(out io.Writer, results []Judgment) error {
	byProtocol := map[string][]Result{}
	var order []string
	for _, r := range results {
		if byProtocol[r.Protocol] == nil {
			order = append(order, r.Protocol)
		}
		byProtocol[r.Protocol] = append(byProtocol[r.Protocol], r.Result)
	}
	for _, protocol := range order {
		sizes := byProtocol[protocol]
		if len(sizes) < 2 {
			continue
		}
		w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
		fmt.Fprintf(w, "\n%s, services × streams", protocol)
		for _, r := range sizes {
			fmt.Fprintf(w, "\t%d × %d", r.Services, r.Streams)
		}
		fmt.Fprintln(w)
		for _, g := range growing {
			fmt.Fprint(w, g.what)
			first := g.value(sizes[0])
			for i, r := range sizes {
				fmt.Fprintf(w, "\t%s", amount(g.value(r)))
				if i > 0 && first > 0 {
					fmt.Fprintf(w, " (× %.1f)", g.value(r)/first)
				}
			}
			fmt.Fprintln(w)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}
