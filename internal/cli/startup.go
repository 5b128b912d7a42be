package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/lifecycle/timeline"
)

// view is a way to look at a trace that has a form as text and as JSON.
type view interface {
	WriteText(io.Writer) error
	WriteJSON(io.Writer) error
}

func (p *process) startup() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "startup",
		Short: "Show where the time of a start went",
		Long: `Show where the time of a start went, from a running meshd or from a file that its page
/debug/startup was saved to. Own time and waiting time stand apart.`,
		Example: `  meshd startup blame
  meshd request GET /debug/startup > before.json
  meshd startup critical-chain before.json
  meshd startup plot > startup.svg
  meshd startup diff before.json after.json`,
		Args: cobra.ArbitraryArgs,
		RunE: helpOnly,
	}
	cmd.AddCommand(
		p.startupView("blame", "List constructors and steps by the time that they took themselves", func(r lifecycle.Record) view { return timeline.Blame(r) }),
		p.startupView("critical-chain", "Show the chain of steps that decided when the process was ready", func(r lifecycle.Record) view { return timeline.CriticalChain(r) }),
		p.startupPlot(), p.startupDiff())
	return cmd
}

func (p *process) startupView(name, short string, look func(lifecycle.Record) view) *cobra.Command {
	var address, output string
	cmd := &cobra.Command{
		Use:   name + " [FILE]",
		Short: short,
		Args:  fileAtMost,
		RunE: func(cmd *cobra.Command, args []string) error {
			record, err := readRecord(cmd, address, args)
			if err != nil {
				return err
			}
			if output == "json" {
				return look(record).WriteJSON(p.stdout)
			}
			return look(record).WriteText(p.stdout)
		},
	}
	addressFlag(cmd, &address)
	outputFlag(cmd, &output, "text", "text", "json")
	return cmd
}

func (p *process) startupPlot() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "plot [FILE]",
		Short: "Draw the start as a timeline in SVG",
		Args:  fileAtMost,
		RunE: func(cmd *cobra.Command, args []string) error {
			record, err := readRecord(cmd, address, args)
			if err != nil {
				return err
			}
			return timeline.Plot(p.stdout, record)
		},
	}
	addressFlag(cmd, &address)
	return cmd
}

func (p *process) startupDiff() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two starts that were saved to files",
		Args:  exactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := readRecord(cmd, "", args[:1])
			if err != nil {
				return err
			}
			b, err := readRecord(cmd, "", args[1:])
			if err != nil {
				return err
			}
			diff := timeline.Diff(a, b)
			if output == "json" {
				return diff.WriteJSON(p.stdout)
			}
			return diff.WriteText(p.stdout)
		},
	}
	outputFlag(cmd, &output, "text", "text", "json")
	return cmd
}

// fileAtMost refuses more than one argument as a usage error.
func fileAtMost(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError(fmt.Errorf("%s takes one argument at the most", cmd.UseLine()))
	}
	return nil
}

// readRecord reads a trace from the file that is named, or else from the process at the address.
func readRecord(cmd *cobra.Command, address string, args []string) (lifecycle.Record, error) {
	if len(args) == 1 {
		f, err := openOrStandard(args[0])
		if err != nil {
			return lifecycle.Record{}, fmt.Errorf("reading the trace: %w", err)
		}
		defer f.Close()
		record, err := timeline.Parse(f)
		if err != nil {
			return record, fmt.Errorf("trace %s: %w", args[0], err)
		}
		return record, nil
	}
	req, err := http.NewRequestWithContext(cmd.Context(), http.MethodGet, "http://"+address+"/debug/startup", nil)
	if err != nil {
		return lifecycle.Record{}, usageError(err)
	}
	status, body, err := fetch(req, 10*time.Second)
	if err != nil {
		return lifecycle.Record{}, err
	}
	if status != http.StatusOK {
		return lifecycle.Record{}, fmt.Errorf("%s: %d %s", req.URL, status, bytes.TrimSpace(body))
	}
	return timeline.Parse(bytes.NewReader(body))
}
