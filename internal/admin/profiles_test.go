package admin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meshd/meshd/internal/version"
)

func TestProfiles(t *testing.T) {
	for _, on := range []bool{true, false} {
		h, err := Monitoring(checker(t), version.Get(), prometheus.NewRegistry(), []Page{Profiles(on)})
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{
			"/debug/pprof/":                  "goroutine",
			"/debug/pprof/goroutine?debug=1": "goroutine profile: total",
			"/debug/pprof/heap?debug=1":      "heap profile",
			"/debug/pprof/cmdline":           "admin.test",
			"/debug/pprof/symbol":            "num_symbols",
			"/debug/pprof/profile?seconds=1": "",
		} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			switch body := w.Body.String(); {
			case on && (w.Code != http.StatusOK || !strings.Contains(body, want) || body == ""):
				t.Errorf("%s: %d %.200s", path, w.Code, body)
			case !on && (w.Code != http.StatusNotFound || !strings.Contains(body, "--profile")):
				t.Errorf("%s, switched off: %d %.200s", path, w.Code, body)
			}
		}
	}
}
