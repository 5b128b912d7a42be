// Package cli is the command tree of meshd.
package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/meshd/meshd/internal/version"
)

// Exit codes; docs/operations.md lists them for operators.
const (
	exitOK       = 0
	exitFailed   = 1   // start failed, a component failed for good, or a check found something
	exitUsage    = 2   // wrong flags or arguments
	exitAtOnce   = 130 // second signal
	exitNotReady = 3   // `meshd request` got an answer other than 2xx
)

// exitError carries an exit code with an error.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string { return e.err.Error() }
func (e exitError) Unwrap() error { return e.err }

func usageError(err error) error { return exitError{exitUsage, err} }

// process is what commands know of the process they run in.
type process struct {
	began          time.Time
	environ        []string
	stdout, stderr io.Writer
}

// Main runs meshd with arguments (without the program's name) and environment, and gives the exit code.
func Main(args, environ []string, stdout, stderr io.Writer) int {
	p := &process{began: time.Now(), environ: environ, stdout: stdout, stderr: stderr}
	root := p.root()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	var coded exitError
	if !errors.As(err, &coded) {
		coded = exitError{exitFailed, err}
	}
	if coded.err.Error() != "" {
		fmt.Fprintf(stderr, "meshd: %v\n", coded.err)
	}
	if coded.code == exitUsage {
		fmt.Fprintln(stderr, "Run 'meshd --help', or --help after any command, for what there is.")
	}
	return coded.code
}

func (p *process) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "meshd",
		Short: "A service-mesh control plane whose start-up order is derived, printed, verified and traced",
		Long: `meshd is an Istio-compatible service-mesh control plane. It reads services and endpoints,
and serves proxies and gRPC clients their configuration over xDS.

Try it on the sample mesh, then edit a file below it and watch what happens:

  meshd discovery --dir deploy/samples/shop
  meshd request GET /ready
  meshd graph`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE:          helpOnly,
	}
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError(err) })
	root.AddCommand(p.discovery(), p.graph(), p.startup(), p.request(), p.logLevel(), p.version())
	return root
}

// helpOnly is what a command does that only has others below it: what is not one of them is a usage error.
func helpOnly(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError(fmt.Errorf("unknown command %q%s", args[0], suggestions(cmd, args[0])))
	}
	return cmd.Help()
}

func suggestions(cmd *cobra.Command, word string) string {
	cmd.SuggestionsMinimumDistance = 2
	near := cmd.SuggestionsFor(word)
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", near[0])
}

func (p *process) version() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Say which build this is",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			if output == "json" {
				return writeJSON(p.stdout, version.Get())
			}
			fmt.Fprintln(p.stdout, version.Get())
			return nil
		},
	}
	outputFlag(cmd, &output, "text", "text", "json")
	return cmd
}

// noArgs refuses arguments as a usage error.
func noArgs(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return usageError(err)
	}
	return nil
}

// exactArgs demands a number of arguments, and says which.
func exactArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError(fmt.Errorf("%s takes %d arguments, got %d", cmd.UseLine(), n, len(args)))
		}
		return nil
	}
}
