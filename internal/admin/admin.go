// Package admin serves the health and monitoring ports.
//
// Both serve from phase Admin on, long before there is anything to show: what is not there yet is answered with
// "not ready" and a reason, never with an empty page.
package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/readiness"
	"github.com/meshd/meshd/internal/version"
)

// Page is a page of the monitoring port that a component contributes.
type Page struct {
	// Path is absolute and unique, for example "/debug/startup".
	Path string
	// Help says in one sentence what the page shows; the index lists it.
	Help    string
	Handler http.Handler
}

// JSON makes a page's handler of a function that gives what to show. An error is answered with 503 and its text:
// it means "not yet".
func JSON(show func() (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		v, err := show()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		data, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			http.Error(w, fmt.Sprintf("encoding the page: %v", err), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(data, '\n')) // the client is gone: nobody to tell
	})
}

// Health makes the handler of the health port: /ready, /readyz, /livez, /version.
func Health(checker *readiness.Checker, info version.Info) http.Handler {
	mux := http.NewServeMux()
	addHealth(mux, checker, info)
	return mux
}

// Monitoring makes the handler of the monitoring port: what the health port has, /metrics, the pages, and an index.
// It is an error if two pages have one path.
func Monitoring(checker *readiness.Checker, info version.Info, metrics prometheus.Gatherer, pages []Page) (http.Handler, error) {
	mux := http.NewServeMux()
	addHealth(mux, checker, info)
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	pages = slices.Clone(pages) // fx shuffles groups
	slices.SortFunc(pages, func(a, b Page) int { return cmp.Compare(a.Path, b.Path) })
	for i, p := range pages {
		if i > 0 && p.Path == pages[i-1].Path {
			return nil, fmt.Errorf("two debug pages have the path %s", p.Path)
		}
		mux.Handle(p.Path, p.Handler)
	}
	mux.Handle("/debug/{$}", index(pages))
	return mux, nil
}

func addHealth(mux *http.ServeMux, checker *readiness.Checker, info version.Info) {
	mux.Handle("/ready", checker.ReadyHandler())
	mux.Handle("/readyz", checker.VerboseHandler())
	mux.Handle("/livez", readiness.LiveHandler())
	mux.Handle("/version", JSON(func() (any, error) { return info, nil }))
}

func index(pages []Page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintln(w, "<!doctype html><title>meshd</title><h1>meshd</h1><dl>")
		for _, p := range pages {
			fmt.Fprintf(w, "<dt><a href=%q>%s</a><dd>%s\n", p.Path, html.EscapeString(p.Path), html.EscapeString(p.Help))
		}
		fmt.Fprintln(w, "</dl>")
	})
}

// Serve answers on a listener until the context ends, then gives requests under way a second to finish.
func Serve(ctx context.Context, l net.Listener, handler http.Handler, log *zap.Logger) error {
	server := &http.Server{
		Handler:           handler,
		ErrorLog:          zap.NewStdLog(log),
		ReadHeaderTimeout: 5 * time.Second, // a client that never finishes its request holds nothing for long
		IdleTimeout:       time.Minute,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("serving %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := server.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-served
	return err
}
