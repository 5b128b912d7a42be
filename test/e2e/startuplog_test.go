package e2e

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/meshd/meshd/internal/testkit/process"
)

// docs/startup-log.md shows the log of a real start: the same lines, whatever their times, sizes of the moment and
// ports, and whatever the order of what the plan leaves open.
func TestStartupLogDocument(t *testing.T) {
	doc, err := os.ReadFile("../../docs/startup-log.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(doc), "```text\n")
	block, _, _ = strings.Cut(block, "```")
	meshd := process.Start(t, "--dir=../../deploy/samples/shop")
	meshd.WaitLog("ready", "steps=")
	if diff := cmp.Diff(normal(block), normal(meshd.Log())); diff != "" {
		t.Errorf("docs/startup-log.md differs from a real start (-document +real):\n%s", diff)
	}
}

var (
	timestamp = regexp.MustCompile(`^\S+Z `)
	varying   = regexp.MustCompile(`(took|after|addr)=\S+|build="[^"]*"|[0-9] of 5 files`)
)

func normal(log string) []string {
	var out []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, " step waits ") || strings.Contains(line, " slow step ") {
			continue // a busy machine has more to say
		}
		line = timestamp.ReplaceAllString(strings.TrimSpace(line), "")
		line = strings.ReplaceAll(line, "../../deploy", "deploy")
		out = append(out, varying.ReplaceAllString(line, "$1"))
	}
	slices.Sort(out)
	return out
}
