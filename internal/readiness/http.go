package readiness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// ReadyHandler answers /ready: 200 if the process is ready, otherwise 503, and a line for each check that is not ready
// or is degraded, with its reason and since when.
func (c *Checker) ReadyHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		report := c.Report()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if report.Ready {
			fmt.Fprintln(w, "ready")
		} else {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "not ready")
		}
		for _, check := range report.Unwell() {
			writeCheck(w, check)
		}
	})
}

// VerboseHandler answers /readyz as Kubernetes components do: with the parameter verbose it lists every check, and
// with Accept: application/json it gives the report as JSON.
func (c *Checker) VerboseHandler() http.Handler {
	short := c.ReadyHandler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, verbose := r.URL.Query()["verbose"]
		asJSON := strings.Contains(r.Header.Get("Accept"), "application/json") || r.URL.Query().Get("format") == "json"
		if !verbose && !asJSON {
			short.ServeHTTP(w, r)
			return
		}
		report := c.Report()
		status := http.StatusOK
		if !report.Ready {
			status = http.StatusServiceUnavailable
		}
		if asJSON {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(report) // the client is gone: nobody to tell
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		for _, check := range report.Checks {
			writeCheck(w, check)
		}
		if report.Ready {
			fmt.Fprintln(w, "ready")
		} else {
			fmt.Fprintln(w, "not ready")
		}
	})
}

func writeCheck(w http.ResponseWriter, c Check) {
	sign := "[+]"
	switch {
	case !c.Ready:
		sign = "[-]"
	case c.Degraded:
		sign = "[~]"
	}
	fmt.Fprintf(w, "%s %s (%s) since %s", sign, c.Name, c.Component, c.Since.UTC().Format(time.RFC3339))
	if c.Reason != "" {
		fmt.Fprintf(w, ": %s", c.Reason)
	}
	fmt.Fprintln(w)
}

// LiveHandler answers /livez: 200 as long as the process can answer at all.
func LiveHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "alive") })
}
