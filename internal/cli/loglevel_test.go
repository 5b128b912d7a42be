package cli

import (
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/logging"
)

func TestLogLevel(t *testing.T) {
	levels, err := logging.ParseLevels("mesh=warn")
	if err != nil {
		t.Fatal(err)
	}
	control, err := logging.NewControl(levels, []string{"mesh", "xds"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(control.Page(zap.NewNop()))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	for _, tt := range []struct {
		args           string
		code           int
		stdout, stderr string
	}{
		{"list", exitOK, "default  info\nmesh     warn (own)\nxds      info\n", ""},
		{"set xds=debug,default=error", exitOK, "default  error\nmesh     warn (own)\nxds      debug (own)\n", ""},
		{"set mesh=loud", exitUsage, "", `unknown level "loud"`},
		{"set xsd=debug", exitUsage, "", `no component "xsd"`},
		{"set", exitUsage, "", "1 argument"},
		{"reset", exitOK, "default  info\nmesh     warn (own)\nxds      info\n", ""},
		{"list -o json", exitOK, `"component": "mesh",`, ""},
	} {
		code, stdout, stderr := run(nil, append([]string{"log-level"}, append(strings.Fields(tt.args), "--address", address)...)...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("%s: exit code %d\n%s%s", tt.args, code, stdout, stderr)
		}
	}
	if code, _, stderr := run(nil, "log-level", "list", "--address", "127.0.0.1:1"); code != exitFailed || !strings.Contains(stderr, "is meshd running") {
		t.Errorf("nobody there: exit code %d: %s", code, stderr)
	}
	for word, want := range map[string]string{"": "xds=", "xds=": "xds=debug", "mesh=warn,xds=": "mesh=warn,xds=none", "mesh=warn,": "mesh=warn,default="} {
		if _, stdout, _ := run(nil, "__complete", "log-level", "set", word); !strings.Contains("\n"+stdout, "\n"+want+"\n") {
			t.Errorf("%q is completed by\n%s", word, stdout)
		}
	}
}
