package admin

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/readiness"
	"github.com/meshd/meshd/internal/version"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type noSteps struct{}

func (noSteps) Steps() []lifecycle.StepStatus { return nil }

func checker(t *testing.T) *readiness.Checker {
	t.Helper()
	c, err := readiness.New(noSteps{}, nil, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// request is one from this machine.
func request(path string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.RemoteAddr = "127.0.0.1:40000"
	return r
}

func do(h http.Handler, r *http.Request) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func get(h http.Handler, path string) (int, string) { return do(h, request(path)) }

func monitoring(t *testing.T, authenticator Authenticator) http.Handler {
	t.Helper()
	site, err := NewSite([]Page{
		{Path: "/debug/b", Help: "the <second>", Handler: JSON(func() (any, error) { return nil, errors.New("not yet: b") })},
		{Path: "/debug/a", Help: "the first", Handler: JSON(func() (any, error) { return map[string]int{"x": 1}, nil })},
	})
	if err != nil {
		t.Fatal(err)
	}
	return Monitoring(checker(t), version.Get(), prometheus.NewRegistry(), site, authenticator)
}

func TestMonitoring(t *testing.T) {
	h := monitoring(t, nil)
	for _, tt := range []struct {
		path string
		code int
		want string
	}{
		{"/ready", 503, "not ready"}, {"/readyz?verbose", 503, "[-] start-up"}, {"/livez", 200, "alive"},
		{"/debug/b", 503, "not yet: b"}, {"/debug/", 200, "/debug/b     the <second>\n"}, {"/debug", 200, "/debug/a     the first"},
		{"/debug/none", 404, "404 page not found"}, {"/", 404, ""}, {"/metrics", 200, ""}, {"/debug/list", 200, "[\n  \"a\",\n  \"b\",\n  \"list\"\n]"},
		{"/debug/?format=json", 200, `{"path":"/debug/b","help":"the \u003csecond\u003e"}`},
	} {
		if code, body := get(h, tt.path); code != tt.code || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %q, want %d with %q", tt.path, code, body, tt.code, tt.want)
		}
	}
	r := request("/debug/")
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	if _, body := do(h, r); !strings.Contains(body, `<a href="/debug/b">/debug/b</a><dd>the &lt;second&gt;`) {
		t.Errorf("in a browser: %s", body)
	}
}

func TestBadPages(t *testing.T) {
	for want, paths := range map[string][]string{
		"two debug pages have the path /debug/a":    {"/debug/a", "/debug/a"},
		"two debug pages have the path /debug/list": {"/debug/list"},
		`"/a" is not below /debug/`:                 {"/a"},
		`"/debug/" is not below /debug/`:            {"/debug/"},
	} {
		var pages []Page
		for _, path := range paths {
			pages = append(pages, Page{Path: path, Handler: http.NotFoundHandler()})
		}
		if _, err := NewSite(pages); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", paths, err, want)
		}
	}
}

func TestHealthHasNoDebug(t *testing.T) {
	h := Health(checker(t), version.Get())
	for path, want := range map[string]int{"/ready": 503, "/livez": 200, "/debug/": 404, "/metrics": 404} {
		if code, _ := get(h, path); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
}

func TestServeEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, Health(checker(t), version.Get()), zap.NewNop()) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + l.Addr().String() + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), "alive") {
		t.Errorf("body %q", body)
	}
	resp.Body.Close()
	// A client that never finishes its request does not hold the stop up.
	slow, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
		conn.Close()
		t.Error("the port is still open")
	}
}
