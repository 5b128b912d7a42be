package modules

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/tracing"
)

// scrape gives what the monitoring port says, and the names in it with their types.
func scrape(t *testing.T, a *app) (text string, types map[string]string) {
	t.Helper()
	resp, err := http.Get("http://" + a.address(t, "--monitoring-addr") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	types = map[string]string{}
	for line := range strings.Lines(string(body)) {
		if f := strings.Fields(line); len(f) == 4 && f[0] == "#" && f[1] == "TYPE" {
			types[f[2]] = f[3]
		}
	}
	return string(body), types
}

// documented reads the tables of docs/metrics.md: names and what stands in the column behind.
func documented(t *testing.T, section string) map[string]string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(doc), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("docs/metrics.md has no section %s", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	out := map[string]string{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		name := strings.Trim(cells[1], " `")
		if _, twice := out[name]; twice {
			t.Errorf("docs/metrics.md has %s twice", name)
		}
		out[name] = strings.TrimSpace(cells[2])
	}
	return out
}

// What docs/metrics.md lists is what a running meshd has, and the reverse; of Istio's names that it lists as absent
// there is none.
func TestMetricsAreDocumented(t *testing.T) {
	o := runOptions(t)
	o.TraceEndpoint, o.TraceProtocol = "http://127.0.0.1:"+freePort(t), tracing.HTTP
	a := start(t, o, All(o), lifecycle.Options{})
	defer a.stop(t)
	client := a.sidecar(t.Context(), t)
	defer client.Close()
	var text string
	var types map[string]string
	eventually(t, "the client's answer is counted", func() bool {
		text, types = scrape(t, a)
		return types["meshd_xds_answer_time_seconds"] != ""
	})
	served := documented(t, "Served")
	for name, typ := range types {
		switch {
		case strings.HasPrefix(name, "go_"), strings.HasPrefix(name, "process_"):
		case served[name] == "":
			t.Errorf("docs/metrics.md does not list %s, a %s", name, typ)
		case served[name] != typ:
			t.Errorf("docs/metrics.md lists %s as %s, it is a %s", name, served[name], typ)
		}
	}
	// Those with labels are not there before something happened that has them.
	rare := []string{
		"pilot_total_xds_rejects", "pilot_xds_expired_nonce", "pilot_push_triggers", "meshd_xds_resources_failed_total", "meshd_trace_spans_total",
		"meshd_xds_empty_responses_total", "meshd_xds_streams",
	}
	for name := range served {
		if types[name] == "" && !slices.Contains(rare, name) {
			t.Errorf("docs/metrics.md lists %s, which is not there", name)
		}
	}
	for name := range documented(t, "Absent") {
		if types[name] != "" {
			t.Errorf("docs/metrics.md lists %s as absent", name)
		}
	}
	for _, line := range []string{
		"pilot_services 1", "pilot_eds_no_instances 0", "meshd_endpoints 1", `istio_build{component="pilot",tag="`, `pilot_info{version="`,
		`pilot_xds_config_size_bytes_count{type="type.googleapis.com/envoy.config.cluster.v3.Cluster"} 1`,
		`meshd_xds_classes{type="cds"} 1`, "meshd_snapshot_version 1", `pilot_inbound_updates{type="svc"} 1`,
	} {
		if !strings.Contains("\n"+text, "\n"+line) {
			t.Errorf("/metrics has no line %s", line)
		}
	}
}

// What Istio's dashboards ask the control plane for is served, or listed as absent with the reason.
func TestDashboards(t *testing.T) {
	o := runOptions(t)
	a := start(t, o, All(o), lifecycle.Options{})
	defer a.stop(t)
	_, types := scrape(t, a)
	served, absent := documented(t, "Served"), documented(t, "Absent")
	f, err := os.Open("testdata/dashboards.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	asked := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name := strings.TrimSpace(lines.Text())
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		asked++
		name = strings.TrimSuffix(name, "_bucket")
		if served[name] == "" && absent[name] == "" && types[name] == "" {
			t.Errorf("the dashboards ask for %s, and docs/metrics.md says nothing of it", name)
		}
		if served[name] != "" && absent[name] != "" {
			t.Errorf("%s is served and absent", name)
		}
	}
	if asked < 20 {
		t.Errorf("testdata/dashboards.txt has %d names", asked)
	}
}
