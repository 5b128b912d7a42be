package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// monitoringAddress is where operators know the monitoring port.
const monitoringAddress = "127.0.0.1:15014"

func (p *process) request() *cobra.Command {
	var address string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "request METHOD PATH",
		Short: "Send a request to the monitoring port of a running meshd",
		Long: `Send a request to the monitoring port of a running meshd, and print the answer.

The exit code is 0 for an answer of 2xx, 3 for another answer, and 1 if there is none.`,
		Example: `  meshd request GET /ready
  meshd request GET '/readyz?verbose'
  meshd request GET /debug/startup`,
		Args: exactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			method, path := strings.ToUpper(args[0]), "/"+strings.TrimPrefix(args[1], "/")
			req, err := http.NewRequestWithContext(cmd.Context(), method, "http://"+address+path, nil)
			if err != nil {
				return usageError(err)
			}
			status, body, err := fetch(req, timeout)
			if err != nil {
				return err
			}
			if _, err := p.stdout.Write(body); err != nil {
				return err
			}
			if status/100 != 2 {
				return exitError{exitNotReady, fmt.Errorf("%s %s: %d %s", method, path, status, http.StatusText(status))}
			}
			return nil
		},
	}
	addressFlag(cmd, &address)
	cmd.Flags().DurationVar(&timeout, "timeout", 10*time.Second, "how long to wait for the answer")
	return cmd
}

func addressFlag(cmd *cobra.Command, address *string) {
	cmd.Flags().StringVar(address, "address", monitoringAddress, "monitoring address of the running meshd")
}

func fetch(req *http.Request, timeout time.Duration) (status int, body []byte, err error) {
	client := &http.Client{Timeout: timeout}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("no answer (is meshd running, and is --address its monitoring address?): %w", err)
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, fmt.Errorf("reading the answer of %s: %w", req.URL, err)
	}
	return resp.StatusCode, body, nil
}
