package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/meshd/meshd/internal/lifecycle/render"
	"github.com/meshd/meshd/internal/modules"
	"github.com/meshd/meshd/internal/xds/admission"
)

// run runs meshd in this process.
func run(environ []string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(args, environ, &out, &errs)
	return code, out.String(), errs.String()
}

func TestUsageErrors(t *testing.T) {
	for _, tt := range []struct {
		args    string
		environ []string
		want    []string
	}{
		{args: "discover", want: []string{`unknown command "discover"`, `did you mean "discovery"`}},
		{args: "--nonsense", want: []string{"unknown flag: --nonsense"}},
		{args: "discovery", want: []string{"--dir", "deploy/samples/shop"}},
		{args: "discovery --nonsense", want: []string{"unknown flag: --nonsense"}},
		{args: "discovery --dir . extra", want: []string{"extra"}},
		{args: "discovery --dir . --grpc-addr nonsense", want: []string{"--grpc-addr", "HOST:PORT"}},
		{args: "discovery --dir . --grpc-addr :70000", want: []string{"--grpc-addr", "65535"}},
		{args: "discovery --dir . --http-addr=", want: []string{"--http-addr"}},
		{args: "discovery --dir . --http-addr :9000 --monitoring-addr :9000", want: []string{"--monitoring-addr", "--http-addr"}},
		{args: "discovery --dir . --debounce-after 11s", want: []string{"--debounce-max", "--debounce-after 11s"}},
		{args: "discovery --dir . --debounce-after -1s", want: []string{"--debounce-after", "negative"}},
		{args: "discovery --dir . --debounce-max 26s", want: []string{"--debounce-max", "25s"}},
		{args: "discovery --dir . --endpoint-debounce-max 1m", want: []string{"--endpoint-debounce-max", "25s"}},
		{args: "discovery --dir . --drain soon", want: []string{"--drain", "soon"}},
		{args: "discovery --dir . --drain 1m", want: []string{"--drain", "55s"}},
		{args: "discovery --dir . --drain -1s", want: []string{"--drain", "55s"}},
		{args: "discovery --dir . --max-streams -1", want: []string{"--max-streams", "negative"}},
		{args: "discovery --dir . --max-streams-per-source -1", want: []string{"--max-streams-per-source", "negative"}},
		{args: "discovery --dir . --max-streams-per-connection -1", want: []string{"--max-streams-per-connection"}},
		{args: "discovery --dir . --max-stream-rate -1", want: []string{"--max-stream-rate", "between"}},
		{args: "discovery --dir . --max-stream-rate NaN", want: []string{"--max-stream-rate", "between"}},
		{args: "discovery --dir . --max-connection-age -1s", want: []string{"--max-connection-age", "negative"}},
		{args: "discovery --dir . --keepalive-interval 10ms", want: []string{"--keepalive-interval", "1s"}},
		{args: "discovery --dir . --keepaliveTimeout 0", want: []string{"--keepalive-timeout"}},
		{args: "discovery --dir . --max-request-size 1000", want: []string{"--max-request-size", "65536"}},
		{args: "discovery --dir .", environ: []string{"PILOT_MAX_REQUESTS_PER_SECOND=many"}, want: []string{"PILOT_MAX_REQUESTS_PER_SECOND"}},
		{args: "discovery --dir . --log-level loud", want: []string{"--log-level", "loud"}},
		{args: "discovery --dir . --log-level xdss=debug", want: []string{"--log-level", `"xdss"`, "xds"}},
		{args: "discovery --dir . --trace-endpoint c:4318", want: []string{"--trace-endpoint", "http://collector:4318"}},
		{args: "discovery --dir . --trace-protocol smoke", want: []string{"--trace-protocol", "http/protobuf"}},
		{args: "discovery --dir .", environ: []string{"OTEL_TRACES_EXPORTER=zipkin"}, want: []string{"OTEL_TRACES_EXPORTER", "otlp or none"}},
		{args: "log-level set", want: []string{"1 argument"}},
		{args: "log-level lst", want: []string{`did you mean "list"`}},
		{args: "discovery --dir . --log-format xml", want: []string{"--log-format", "xml"}},
		{args: "discovery --dir . --domain not_a_domain", want: []string{"--domain"}},
		{args: "discovery --dir . --cluster-id=", want: []string{"--cluster-id"}},
		{args: "discovery --dir . --addresses-file /nonexistent/x", want: []string{"--addresses-file"}},
		{args: "discovery --dir . --secureGRPCAddr :15012", want: []string{"--secureGRPCAddr"}},
		{args: "discovery --dir .", environ: []string{"MESHD_GRPC_ADDR=x"}, want: []string{"--grpc-addr"}},
		{args: "discovery --dir .", environ: []string{"MESHD_DRAIN=x"}, want: []string{"MESHD_DRAIN"}},
		{args: "discovery --dir .", environ: []string{"MESHD_GRPC_ADR=:1"}, want: []string{"MESHD_GRPC_ADR", "--grpc-adr"}},
		{args: "discovery --dir .", environ: []string{"PILOT_ENABLE_AMBIENT=true"}, want: []string{"PILOT_ENABLE_AMBIENT"}},
		{args: "discovery --dir .", environ: []string{"PILOT_NO_SUCH_THING=1"}, want: []string{"PILOT_NO_SUCH_THING"}},
		{args: "graph --format xml", want: []string{"text, dot, mermaid, json, svg"}},
		{args: "graph --phase dinner", want: []string{"--phase", "preflight"}},
		{args: "graph --focus snapshop", want: []string{"snapshop", "snapshot"}},
		{args: "graph why source.load", want: []string{"2 arguments"}},
		{args: "graph why source.load listeners.plaintex", want: []string{"listeners.plaintex"}},
		{args: "graph rdeps nobody", want: []string{"nobody"}},
		{args: "graph verify --grpc-addr :1", want: []string{"--grpc-addr", "every combination"}},
		{args: "graph lock --dir .", want: []string{"--dir", "every combination"}},
		{args: "graph lock a b", want: []string{"one argument"}},
		{args: "startup blam", want: []string{`did you mean "blame"`}},
		{args: "startup blame a b", want: []string{"one argument"}},
		{args: "request GET", want: []string{"2 arguments"}},
		{args: "version please", want: []string{"please"}},
	} {
		code, stdout, stderr := run(tt.environ, strings.Fields(tt.args)...)
		if code != exitUsage || stdout != "" {
			t.Errorf("%s: exit code %d, stdout %q", tt.args, code, stdout)
		}
		for _, want := range append(tt.want, "--help") {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: stderr lacks %q: %s", tt.args, want, stderr)
			}
		}
	}
}

func TestFailures(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("\x00junk\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"graph verify --lock /nonexistent":         "meshd graph lock",
		"graph verify --lock " + bad:               bad,
		"graph diff " + bad + " " + bad:            bad,
		"graph lock /nonexistent/x":                "/nonexistent/x",
		"startup blame " + bad:                     bad,
		"startup blame /nonexistent":               "/nonexistent",
		"startup blame --address 127.0.0.1:1":      "is meshd running",
		"request GET /ready --address 127.0.0.1:1": "is meshd running",
		"startup diff " + bad + " " + bad:          bad,
		"startup critical-chain --address :::::: ": "",
	} {
		if code, _, stderr := run(nil, strings.Fields(args)...); code == exitOK || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, stderr lacks %q: %s", args, code, want, stderr)
		}
	}
}

// The environment stands in for flags, meshd's own names before istiod's, and a flag goes before both.
func TestSettingsFromEnviron(t *testing.T) {
	environ := []string{"MESHD_DOMAIN=mine.example", "PILOT_DEBOUNCE_AFTER=250ms", "CLUSTER_ID=theirs", "MESHD_CLUSTER_ID=mine",
		"MESHD_PORT=tcp://10.0.0.1:80", "MESHD_SERVICE_HOST=10.0.0.1", "MESHD_GRPC_ADDR="}
	s := &settings{}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.addTo(flags)
	if err := flags.Parse([]string{"--domain=flag.example"}); err != nil {
		t.Fatal(err)
	}
	if err := s.fromEnviron(flags, environ); err != nil {
		t.Fatal(err)
	}
	if o := s.options; o.Domain != "flag.example" || o.ClusterID != "mine" || o.DebounceAfter.String() != "250ms" || o.GRPCAddr != "" {
		t.Errorf("%+v", o)
	}
}

// istiod's settings of streams and connections mean what they say, and each has a default that serves.
func TestStreamSettings(t *testing.T) {
	parse := func(environ []string, args ...string) modules.Options {
		t.Helper()
		s, cmd := &settings{}, &cobra.Command{}
		s.addTo(cmd.Flags())
		if _, err := s.parse(cmd, append(args, "--dir=."), environ); err != nil {
			t.Fatal(err)
		}
		return s.options
	}
	got := parse(nil)
	if got.Admission != (admission.Options{Total: 100_000, PerSource: 10_000}) ||
		got.Connections != (admission.Connections{Interval: 30 * time.Second, Timeout: 10 * time.Second, Streams: 1000, RequestSize: 16 << 20}) {
		t.Errorf("defaults: %+v %+v", got.Admission, got.Connections)
	}
	got = parse([]string{"PILOT_MAX_REQUESTS_PER_SECOND=12.5", "ISTIO_GPRC_MAXSTREAMS=7", "ISTIO_GPRC_MAXRECVMSGSIZE=100000",
		"GRPC_KEEPALIVE_INTERVAL=40s", "GRPC_KEEPALIVE_TIMEOUT=3s"}, "--keepaliveInterval", "50s", "--keepaliveMaxServerConnectionAge=30m")
	if got.Admission != (admission.Options{Total: 100_000, PerSource: 10_000, PerSecond: 12.5, MaxAge: 30 * time.Minute}) ||
		got.Connections != (admission.Connections{Interval: 50 * time.Second, Timeout: 3 * time.Second, Streams: 7, RequestSize: 100_000}) {
		t.Errorf("istiod's: %+v %+v", got.Admission, got.Connections)
	}
	if got = parse(nil, "--keepaliveTimeout=4s", "--max-streams=0"); got.Connections.Timeout != 4*time.Second || got.Admission.Total != 0 {
		t.Errorf("%+v %+v", got.Connections, got.Admission)
	}
}

// --help teaches: every command says what it does, and every flag of discovery names its variable.
func TestHelp(t *testing.T) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s has no short help", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk((&process{}).root())
	for _, args := range []string{"--help", "help", "", "discovery --help", "graph -h", "graph verify --help", "startup", "request --help"} {
		code, stdout, stderr := run(nil, strings.Fields(args)...)
		if code != exitOK || !strings.Contains(stdout, "Usage:") || stderr != "" {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", args, code, stdout, stderr)
		}
	}
	_, help, _ := run(nil, "discovery", "--help")
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&settings{}).addTo(own)
	own.VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(help, "--"+f.Name) || !strings.Contains(help, envName(f.Name)) {
			t.Errorf("help of discovery lacks --%s or its variable", f.Name)
		}
	})
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, stdout, stderr := run(nil, "completion", shell); code != exitOK || !strings.Contains(stdout, "meshd") {
			t.Errorf("%s: exit code %d, stderr %q", shell, code, stderr)
		}
	}
	for args, want := range map[string]string{
		"graph why":           "snapshot.catch-up",
		"graph --format":      "svg",
		"graph --phase":       "preflight",
		"discovery --log-for": "--log-format",
	} {
		fields := append([]string{"__complete"}, strings.Fields(args)...)
		if !strings.HasPrefix(fields[len(fields)-1], "--log") {
			fields = append(fields, "")
		}
		if code, stdout, _ := run(nil, fields...); code != exitOK || !strings.Contains(stdout, want) {
			t.Errorf("completing %q: exit code %d, no %q in %q", args, code, want, stdout)
		}
	}
}

func TestGraph(t *testing.T) {
	for _, format := range render.Formats() {
		code, stdout, stderr := run(nil, "graph", "--format", format)
		if code != exitOK || !strings.Contains(stdout, "snapshot.catch-up") {
			t.Errorf("%s: exit code %d, stderr %q", format, code, stderr)
		}
	}
	_, on, _ := run(nil, "graph")
	code, off, stderr := run([]string{"MESHD_GRPC_ADDR="}, "graph")
	if code != exitOK || !strings.Contains(on, "listeners.plaintext") || strings.Contains(off, "listeners.plaintext") {
		t.Errorf("the flags do not decide what is in the graph: exit code %d, %s", code, stderr)
	}
	if _, why, _ := run(nil, "graph", "why", "source.load", "listeners.plaintext"); !strings.Contains(why, "snapshot-before-ready") || !strings.Contains(why, "config.Synced") {
		t.Errorf("why: %s", why)
	}
	if _, rdeps, _ := run(nil, "graph", "rdeps", "mesh-config", "-o", "json"); !json.Valid([]byte(rdeps)) || !strings.Contains(rdeps, "snapshot/newPublisher") {
		t.Errorf("rdeps: %s", rdeps)
	}
	if _, stop, _ := run(nil, "graph", "--stop"); strings.Index(stop, "readiness.announce") > strings.Index(stop, "listeners.claim") {
		t.Errorf("stop order: %s", stop)
	}
}

// The lock that is committed is the lock of the code, and one line less in it is found.
func TestVerify(t *testing.T) {
	const committed = "../../startup.lock"
	if code, stdout, stderr := run(nil, "graph", "verify", "--lock", committed); code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	data, err := os.ReadFile(committed)
	if err != nil {
		t.Fatal(err)
	}
	_, written, _ := run(nil, "graph", "lock", "-")
	if written != string(data) {
		t.Error("`meshd graph lock` writes something else than what is committed")
	}
	lines := strings.SplitAfter(string(data), "\n")
	for _, i := range []int{len(lines) - 2, len(lines) / 2} {
		file := filepath.Join(t.TempDir(), "startup.lock")
		less := strings.Join(append(append([]string(nil), lines[:i]...), lines[i+1:]...), "")
		if err := os.WriteFile(file, []byte(less), 0o644); err != nil {
			t.Fatal(err)
		}
		if code, stdout, _ := run(nil, "graph", "verify", "--lock", file); code != exitFailed || !strings.Contains(stdout, "meshd graph lock") {
			t.Errorf("without %q: exit code %d: %s", lines[i], code, stdout)
		}
		code, stdout, _ := run(nil, "graph", "diff", file, committed)
		if code != exitOK || !strings.Contains(stdout, strings.TrimSpace(lines[i])) {
			t.Errorf("diff: exit code %d, no %q in %s", code, lines[i], stdout)
		}
	}
	// A fact that is new breaks no promise, and asks to be recorded.
	file := filepath.Join(t.TempDir(), "startup.lock")
	if err := os.WriteFile(file, []byte(strings.Replace(string(data), "needs xds/newPush xds/newDiscovery *internal/xds.Server\n", "", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := run(nil, "graph", "verify", "--lock", file); code != exitFailed || !strings.Contains(stderr, `"meshd graph lock `+file) || strings.Contains(stderr, "breaks") {
		t.Errorf("a new fact: exit code %d: %s", code, stderr)
	}
	code, stdout, _ := run(nil, "graph", "verify", "-o", "json")
	var v verdict
	if err := json.Unmarshal([]byte(stdout), &v); err != nil || code != exitOK || !v.OK || len(v.Variants) != len(modules.Variants()) {
		t.Errorf("exit code %d, %v: %s", code, err, stdout)
	}
}

// The picture of README.md is the one that is drawn now.
func TestPicture(t *testing.T) {
	drawn, err := os.ReadFile("../../docs/startup-graph.svg")
	if err != nil {
		t.Fatal(err)
	}
	if _, now, _ := run(nil, "graph", "--format", "svg", "--data"); now != string(drawn) {
		t.Error("docs/startup-graph.svg is not up to date: draw it with `go run ./cmd/meshd graph --format svg --data > docs/startup-graph.svg`")
	}
}

func TestVersion(t *testing.T) {
	if code, stdout, _ := run(nil, "version"); code != exitOK || !strings.HasPrefix(stdout, "meshd ") {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	if code, stdout, _ := run(nil, "version", "-o", "json"); code != exitOK || !json.Valid([]byte(stdout)) {
		t.Errorf("exit code %d: %s", code, stdout)
	}
}

// TestFlagsAreInTheManual: each flag of discovery is named in docs/operations.md.
func TestFlagsAreInTheManual(t *testing.T) {
	manual, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	(&settings{}).addTo(own)
	own.VisitAll(func(f *pflag.Flag) {
		if !regexp.MustCompile("--" + f.Name + `([^a-z-]|$)`).Match(manual) {
			t.Errorf("docs/operations.md says nothing of --%s", f.Name)
		}
	})
}
