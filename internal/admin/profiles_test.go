package admin

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meshd/meshd/internal/version"
)

func TestProfiles(t *testing.T) {
	for _, on := range []bool{true, false} {
		site, err := NewSite([]Page{Profiles(on)})
		if err != nil {
			t.Fatal(err)
		}
		h := Monitoring(checker(t), version.Get(), prometheus.NewRegistry(), site, nil)
		for path, want := range map[string]string{
			"/debug/pprof/":                  "goroutine",
			"/debug/pprof/goroutine?debug=1": "goroutine profile: total",
			"/debug/pprof/heap?debug=1":      "heap profile",
			"/debug/pprof/cmdline":           "admin.test",
			"/debug/pprof/symbol":            "num_symbols",
			"/debug/pprof/profile?seconds=1": "",
		} {
			code, body := get(h, path)
			switch {
			case on && (code != http.StatusOK || !strings.Contains(body, want) || body == ""):
				t.Errorf("%s: %d %.200s", path, code, body)
			case !on && (code != http.StatusNotFound || !strings.Contains(body, "--profile")):
				t.Errorf("%s, switched off: %d %.200s", path, code, body)
			}
		}
	}
}

// istioctl looks for log levels at the root; they are guarded like any page.
func TestScopesAtTheRoot(t *testing.T) {
	site, err := NewSite([]Page{
		{Path: ScopesPath, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.Path)) })},
		{Path: ScopesPath + "/", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.URL.Path)) })},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := Monitoring(checker(t), version.Get(), prometheus.NewRegistry(), site, nil)
	for path, want := range map[string]string{"/scopej": "/debug/scopej", "/scopej/xds": "/debug/scopej/xds", "/debug/scopej/xds": "/debug/scopej/xds"} {
		if code, body := get(h, path); code != http.StatusOK || body != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	elsewhere := request("/scopej/xds")
	elsewhere.RemoteAddr = "10.0.0.7:40000"
	if code, body := do(h, elsewhere); code != http.StatusUnauthorized {
		t.Errorf("from elsewhere: %d %s", code, body)
	}
}
