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

func get(h http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestMonitoring(t *testing.T) {
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "meshd_test"}, func() float64 { return 7 }))
	h, err := Monitoring(checker(t), version.Get(), metrics, []Page{
		{Path: "/debug/b", Help: "the <second>", Handler: JSON(func() (any, error) { return nil, errors.New("not yet: b") })},
		{Path: "/debug/a", Help: "the first", Handler: JSON(func() (any, error) { return map[string]int{"x": 1}, nil })},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		code int
		want string
	}{
		{"/ready", 503, "not ready"}, {"/readyz?verbose", 503, "[-] start-up"}, {"/livez", 200, "alive"},
		{"/version", 200, `"go"`}, {"/metrics", 200, "meshd_test 7"}, {"/debug/a", 200, `"x": 1`},
		{"/debug/b", 503, "not yet: b"}, {"/debug/", 200, "the &lt;second&gt;"}, {"/debug/none", 404, ""}, {"/", 404, ""},
	} {
		if code, body := get(h, tt.path); code != tt.code || !strings.Contains(body, tt.want) {
			t.Errorf("%s: %d %q, want %d with %q", tt.path, code, body, tt.code, tt.want)
		}
	}
}

func TestTwoPagesOfOnePath(t *testing.T) {
	p := Page{Path: "/debug/a", Handler: http.NotFoundHandler()}
	if _, err := Monitoring(checker(t), version.Get(), prometheus.NewRegistry(), []Page{p, p}); err == nil || !strings.Contains(err.Error(), "/debug/a") {
		t.Errorf("error %v", err)
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
