// Command swarm measures meshd with a swarm of clients: what it takes to connect them all, to tell them of a new
// service, and of one more endpoint. The figures are those of the server's process.
//
// Usage: go run ./tools/swarm [flags] [-- flags of meshd discovery]
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/pflag"
)

const usageText = `Measure meshd with a swarm of xDS streams.

Each round starts a meshd of its own on a generated folder of manifests, and then:
  connect           opens all streams at once, until each has clusters, endpoints, listeners and routes
  new service       writes a service with an HTTP and a TCP port, until each stream has its clusters, listener and routes
  new HTTP service  the same without the TCP port, which needs no listener
  one endpoint      gives a service one more endpoint, until each stream has it

CPU is what the server's process used until it was idle again. Times are from before the file is written. p50 and p99
are over all streams of all rounds; everything else is a median over rounds. Memory is read when nothing has happened
for three seconds.

For the size that there are budgets for, %d services and %d streams, it says which are kept, and exits with 1 if one
is not. On a machine that is busy with something else, times say nothing.

Examples:
  go run ./tools/swarm                                        # the budgets, both protocols
  go run ./tools/swarm --protocol=delta --rounds=1            # quick
  go run ./tools/swarm --services=250,1000,4000 --json        # growth with the mesh
  go run ./tools/swarm --streams=50,200,1000                  # growth with the clients

Flags:
`

// options are the flags.
type options struct {
	services, streams  []int
	protocols          []string
	classes, endpoints int
	rounds, changes    int
	binary             string
	json, quiet        bool
	args               []string // for meshd
	progress, output   io.Writer
}

// errBudget says that a budget is not kept; which one the output says.
var errBudget = errors.New("a budget is not kept")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, pflag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "swarm:", err)
			os.Exit(1)
		}
	}
}

func run(ctx context.Context, args []string, output, progress io.Writer) error {
	o := &options{output: output, progress: progress}
	flags := pflag.NewFlagSet("swarm", pflag.ContinueOnError)
	flags.IntSliceVar(&o.services, "services", []int{reference.Services}, "how many services the mesh has; several sizes with commas between")
	flags.IntSliceVar(&o.streams, "streams", []int{reference.Streams}, "how many streams there are, each on a connection of its own; several with commas between")
	flags.StringSliceVar(&o.protocols, "protocol", []string{"sotw", "delta"}, "what the streams speak")
	flags.IntVar(&o.classes, "classes", 20, "how many workloads the streams are of, each in a namespace of its own")
	flags.IntVar(&o.endpoints, "endpoints", 3, "how many endpoints a service has")
	flags.IntVar(&o.rounds, "rounds", 3, "how often everything is measured, each time with a new server")
	flags.IntVar(&o.changes, "changes", 5, "how many changes of each kind there are in a round")
	flags.StringVar(&o.binary, "binary", "", "the meshd to measure; by default it is built from this tree")
	flags.BoolVar(&o.json, "json", false, "print JSON, times in seconds, memory in bytes")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "print no progress")
	flags.SortFlags = false
	flags.SetOutput(progress)
	flags.Usage = func() {
		fmt.Fprintf(progress, usageText, reference.Services, reference.Streams)
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	o.args = flags.Args()
	if o.quiet {
		o.progress = io.Discard
	}
	if err := o.check(); err != nil {
		return err
	}
	return o.measure(ctx)
}

func (o *options) check() error {
	for _, n := range slices.Concat(o.services, o.streams, []int{o.classes, o.rounds, o.changes}) {
		if n < 1 || n > 60_000 {
			return fmt.Errorf("%d: services, streams, classes, rounds and changes are between 1 and 60000", n)
		}
	}
	if o.endpoints < 0 || o.endpoints > 30 {
		return fmt.Errorf("--endpoints %d: between 0 and 30", o.endpoints)
	}
	if slices.Min(o.services) < o.classes {
		return fmt.Errorf("--classes %d: each needs a service of its own, and there are %d", o.classes, slices.Min(o.services))
	}
	for _, p := range o.protocols {
		if p != "sotw" && p != "delta" {
			return fmt.Errorf("--protocol %s: sotw or delta", p)
		}
	}
	return nil
}

func (o *options) measure(ctx context.Context) error {
	if o.binary == "" {
		dir, err := os.MkdirTemp("", "swarm-binary-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if o.binary, err = build(ctx, dir); err != nil {
			return err
		}
	}
	var results []Result
	for _, protocol := range o.protocols {
		for _, services := range o.services {
			for _, streams := range o.streams {
				sz := size{Services: services, Streams: streams, Protocol: protocol}
				figures := newFigures()
				for i := range o.rounds {
					fmt.Fprintf(o.progress, "%s, %d services, %d streams: round %d of %d\n", protocol, services, streams, i+1, o.rounds)
					if err := o.run(ctx, sz, o.binary, figures); err != nil {
						return err
					}
				}
				results = append(results, figures.result(sz))
			}
		}
	}
	return o.report(results)
}
