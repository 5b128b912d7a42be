package logging

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/grpclog"
)

func control(t testing.TB, spec string) *Control {
	t.Helper()
	levels, err := ParseLevels(spec)
	if err != nil {
		t.Fatal(err)
	}
	c, err := NewControl(levels, []string{"xds", "mesh", "quiet", GRPC, Klog, Standard})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestUnknownComponents(t *testing.T) {
	levels, err := ParseLevels("xsd=debug")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := NewControl(levels, []string{"xds", "mesh"}); c != nil || err == nil || !strings.Contains(err.Error(), `no component "xsd": want one of mesh, xds, or default`) {
		t.Errorf("got %v", err)
	}
	c := control(t, "")
	if err := c.Set("mesh=debug,xsd=debug"); err == nil || c.Levels().Of("mesh") != zapcore.InfoLevel {
		t.Errorf("%v, and mesh is at %v", err, c.Levels().Of("mesh"))
	}
	if err := c.Set("xds.push=debug"); err != nil || c.Levels().Of("xds.push") != zapcore.DebugLevel || c.Levels().Of("xds") != zapcore.InfoLevel {
		t.Errorf("a part of a component: %v", err)
	}
}

// A level that is changed holds at once, also for loggers that were made before, and for the libraries.
func TestLevelsChange(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	c := control(t, "mesh=warn")
	log := zap.New(leveled{Core: core, control: c})
	xds, mesh := log.Named("xds").With(zap.Int("n", 1)), log.Named("mesh")
	defer Redirect(log)()
	all := func() []string {
		logs.TakeAll()
		xds.Debug("xds debug")
		mesh.Info("mesh info")
		grpclog.Info("grpc info")
		if grpclog.V(2) {
			grpclog.Info("grpc verbose")
		}
		return messages(logs)
	}
	set := func(spec string) {
		t.Helper()
		if err := c.Set(spec); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(what string, want ...string) {
		t.Helper()
		if got := all(); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	expect("at first")
	set("xds=debug")
	expect("xds at debug", "xds debug")
	set("default=debug")
	expect("everything else too, but not what has a level of its own", "xds debug")
	set("grpc=debug,mesh=debug")
	expect("those too", "xds debug", "mesh info", "grpc info", "grpc verbose")
	set("default=none,xds=none")
	expect("only those", "mesh info", "grpc info", "grpc verbose")
	c.Reset()
	expect("as at first")
}

func TestPage(t *testing.T) {
	core, logs := observer.New(zapcore.DebugLevel)
	c := control(t, "mesh=warn")
	mux := http.NewServeMux()
	mux.Handle("/debug/logging", c.Page(zap.New(core)))
	mux.Handle("/scopej", c.Scopes("/scopej", zap.New(core)))
	mux.Handle("/scopej/", c.Scopes("/scopej", zap.New(core)))
	server := httptest.NewServer(mux)
	defer server.Close()
	do := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(method, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(data)
	}
	level := func(component string) string {
		t.Helper()
		_, body := do(http.MethodGet, "/debug/logging", "")
		var list []ComponentLevel
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			if l.Component == component {
				return l.Level
			}
		}
		return "absent"
	}
	for _, tc := range []struct {
		method, path, body string
		status             int
		answer             string
		component, level   string
	}{
		{"GET", "/debug/logging", "", 200, `"component": "default"`, "mesh", "warn"},
		{"PUT", "/debug/logging?level=xds=debug,default=error", "", 200, `"level": "debug"`, "xds", "debug"},
		{"PUT", "/debug/logging?level=quiet=none", "", 200, "", "quiet", "none"},
		{"PUT", "/debug/logging?level=xsd=debug", "", 400, `no component "xsd"`, "default", "error"},
		{"PUT", "/debug/logging?level=xds=loud", "", 400, `unknown level "loud"`, "xds", "debug"},
		{"PUT", "/debug/logging", "", 400, "nothing to set", "xds", "debug"},
		// A page of another site may send POST from an operator's browser, but neither PUT nor DELETE.
		{"POST", "/debug/logging?level=xds=info", "", 405, "want one of GET, PUT, DELETE", "xds", "debug"},
		{"DELETE", "/debug/logging", "", 200, "", "xds", "info"},

		// As istioctl asks.
		{"GET", "/scopej", "", 200, `"output_level": "warn"`, "mesh", "warn"},
		{"GET", "/scopej/mesh", "", 200, `"name": "mesh"`, "mesh", "warn"},
		{"PUT", "/scopej/mesh", `{"name":"mesh","output_level":"debug"}`, 202, "", "mesh", "debug"},
		{"PUT", "/scopej/mesh", `{"name":"mesh","output_level":"info","stack_trace_level":"none"}`, 202, "", "mesh", "info"},
		{"PUT", "/scopej/mesh", `{"name":"mesh","stack_trace_level":"error"}`, 400, "stack traces have no level", "mesh", "info"},
		{"PUT", "/scopej/mesh", `{"output_level":"loud"}`, 400, "unknown level", "mesh", "info"},
		{"PUT", "/scopej/mesh", `loud`, 400, "no scope", "mesh", "info"},
		{"PUT", "/scopej/ads", `{"output_level":"debug"}`, 400, `no component "ads"`, "mesh", "info"},
		{"GET", "/scopej/ads", "", 400, `no component "ads"`, "mesh", "info"},
		{"DELETE", "/scopej/mesh", "", 405, "GET, PUT", "mesh", "info"},
	} {
		status, body := do(tc.method, tc.path, tc.body)
		if status != tc.status || !strings.Contains(body, tc.answer) {
			t.Errorf("%s %s: %d %s", tc.method, tc.path, status, body)
		}
		if got := level(tc.component); got != tc.level {
			t.Errorf("after %s %s %s is at %s, want %s", tc.method, tc.path, tc.component, got, tc.level)
		}
	}
	if n := logs.FilterLevelExact(zapcore.WarnLevel).Len(); n != 5 {
		t.Errorf("%d changes are logged, want 5: %v", n, messages(logs))
	}
}
