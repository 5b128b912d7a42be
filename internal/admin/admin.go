// Package admin serves the health and monitoring ports.
//
// Both serve from phase Admin on, long before there is anything to show: what is not there yet is answered with
// "not ready" and a reason, never with an empty page.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
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

// Monitoring makes the handler of the monitoring port: what the health port has, /metrics, and the pages. The pages are
// open on loopback; from elsewhere the authenticator decides, and without one (nil) nobody sees them.
func Monitoring(checker *readiness.Checker, info version.Info, metrics prometheus.Gatherer, site *Site, authenticator Authenticator) http.Handler {
	mux := http.NewServeMux()
	addHealth(mux, checker, info)
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	pages := guard(site, authenticator)
	mux.Handle(root, pages)
	mux.Handle(strings.TrimSuffix(root, "/"), pages)
	for _, path := range []string{ScopesPath, ScopesPath + "/"} {
		mux.HandleFunc(strings.TrimPrefix(path, strings.TrimSuffix(root, "/")), func(w http.ResponseWriter, r *http.Request) {
			r = r.Clone(r.Context())
			r.URL.Path = strings.TrimSuffix(root, "/") + r.URL.Path
			pages.ServeHTTP(w, r)
		})
	}
	return mux
}

// ScopesPath is the page of log levels for istioctl, which looks for it at the root, where ControlZ of istiod has it.
const ScopesPath = root + "scopej"

func addHealth(mux *http.ServeMux, checker *readiness.Checker, info version.Info) {
	mux.Handle("/ready", checker.ReadyHandler())
	mux.Handle("/readyz", checker.VerboseHandler())
	mux.Handle("/livez", readiness.LiveHandler())
	mux.Handle("/version", JSON(func() (any, error) { return info, nil }))
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
