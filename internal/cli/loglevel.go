package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/meshd/meshd/internal/logging"
)

func (p *process) logLevel() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log-level",
		Short: "Show and change what a running meshd logs",
		Long: `Show and change what a running meshd logs of each component. A change holds at once, and until
meshd is started again: then --log-level counts.`,
		Example: `  meshd log-level list
  meshd log-level set xds=debug
  meshd log-level set default=warn,xds=info
  meshd log-level reset`,
		Args: cobra.ArbitraryArgs,
		RunE: helpOnly,
	}
	set := p.logLevelCommand("set LEVELS", "Change levels, in the form of --log-level; what is not named stays", exactArgs(1),
		func(args []string) (string, string) {
			return http.MethodPut, "?level=" + url.QueryEscape(args[0])
		})
	set.ValidArgsFunction = completeLevels
	cmd.AddCommand(
		p.logLevelCommand("list", "List the level of each component", noArgs,
			func([]string) (string, string) { return http.MethodGet, "" }),
		set,
		p.logLevelCommand("reset", "Go back to the levels of the start", noArgs,
			func([]string) (string, string) { return http.MethodDelete, "" }))
	return cmd
}

// logLevelCommand makes a command that sends one request and shows the levels that the answer holds.
func (p *process) logLevelCommand(use, short string, args cobra.PositionalArgs, request func(args []string) (method, query string)) *cobra.Command {
	var address, output string
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  args,
		RunE: func(cmd *cobra.Command, args []string) error {
			method, query := request(args)
			req, err := http.NewRequestWithContext(cmd.Context(), method, "http://"+address+"/debug/logging"+query, nil)
			if err != nil {
				return usageError(err)
			}
			status, body, err := fetch(req, 10*time.Second)
			switch {
			case err != nil:
				return err
			case status == http.StatusBadRequest:
				return usageError(fmt.Errorf("%s", strings.TrimSpace(string(body))))
			case status != http.StatusOK:
				return exitError{exitNotReady, fmt.Errorf("%d %s: %s", status, http.StatusText(status), strings.TrimSpace(string(body)))}
			}
			return p.showLevels(body, output)
		},
	}
	addressFlag(cmd, &address)
	outputFlag(cmd, &output, "text", "text", "json")
	return cmd
}

func (p *process) showLevels(body []byte, output string) error {
	var levels []logging.ComponentLevel
	if err := json.Unmarshal(body, &levels); err != nil {
		return fmt.Errorf("the answer is no list of levels (is --address the monitoring address?): %w", err)
	}
	if output == "json" {
		return writeJSON(p.stdout, levels)
	}
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	for _, l := range levels {
		level := l.Level
		if l.Own && l.Component != logging.Default {
			level += " (own)"
		}
		fmt.Fprintf(w, "%s\t%s\n", l.Component, level)
	}
	return w.Flush()
}

// completeLevels completes the last of several levels: first the component, then its level.
func completeLevels(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	before := word[:strings.LastIndexByte(word, ',')+1]
	last := word[len(before):]
	var out []string
	if name, _, ok := strings.Cut(last, "="); ok {
		for _, level := range logging.LevelNames() {
			out = append(out, before+name+"="+level)
		}
	} else {
		for _, name := range append((&settings{}).loggers(), logging.Default) {
			out = append(out, before+name+"=")
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
