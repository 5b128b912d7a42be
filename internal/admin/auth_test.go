package admin

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func TestLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:80": true, "127.9.9.9:1": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true, "127.0.0.1": true, "::1": true,
		"10.0.0.1:80": false, "[fe80::1%lo]:80": false, "0.0.0.0:80": false, "": false, "localhost:80": false, "@": false, "127.0.0.1.evil:80": false,
	} {
		if got := Loopback(address); got != want {
			t.Errorf("%q: %v", address, got)
		}
	}
}

// token lets requests in that have the right one.
type token string

func (want token) Authenticate(r *http.Request) error {
	if r.Header.Get("Authorization") != string(want) {
		return errors.New("no such token")
	}
	return nil
}

// From another machine no page is shown, whatever headers say, and everything that is no page is.
func TestOtherMachines(t *testing.T) {
	for _, tt := range []struct {
		name    string
		auth    Authenticator
		path    string
		headers map[string]string
		code    int
		want    string
	}{
		{"a page", nil, "/debug/a", nil, 401, "loopback only"},
		{"the index", nil, "/debug/", nil, 401, "loopback only"},
		{"the index without slash", nil, "/debug", nil, 401, "loopback only"},
		{"the list", nil, "/debug/list", nil, 401, "loopback only"},
		{"no page", nil, "/debug/none", nil, 401, "loopback only"},
		{"headers of proxies", nil, "/debug/a", map[string]string{
			"X-Forwarded-For": "127.0.0.1", "X-Real-Ip": "127.0.0.1", "Forwarded": "for=127.0.0.1", "Host": "localhost"}, 401, "loopback only"},
		{"a path that is another one", nil, "/debug/../debug/a", nil, 0, ""},
		{"the right token", token("Bearer x"), "/debug/a", map[string]string{"Authorization": "Bearer x"}, 200, `"x": 1`},
		{"a wrong token", token("Bearer x"), "/debug/a", map[string]string{"Authorization": "Bearer y"}, 401, "no such token"},
		{"no token", token("Bearer x"), "/debug/", nil, 401, "no such token"},
		{"metrics", nil, "/metrics", nil, 200, ""},
		{"readiness", nil, "/ready", nil, 503, "not ready"},
		{"health", nil, "/livez", nil, 200, "alive"},
		{"version", nil, "/version", nil, 200, "{"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := request(tt.path)
			r.RemoteAddr = "192.0.2.7:40000"
			for k, v := range tt.headers {
				r.Header.Set(k, v)
			}
			code, body := do(monitoring(t, tt.auth), r)
			if tt.code == 0 {
				if code == http.StatusOK || strings.Contains(body, `"x"`) {
					t.Errorf("%d %q", code, body)
				}
				return
			}
			if code != tt.code || !strings.Contains(body, tt.want) {
				t.Errorf("%d %q, want %d with %q", code, body, tt.code, tt.want)
			}
		})
	}
}
