package compat

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the generated part of docs/compatibility.md")

const page = "../../../docs/compatibility.md"

func TestPageIsUpToDate(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), BeginMarker)
	old, after, ok2 := strings.Cut(rest, EndMarker)
	if !ok || !ok2 {
		t.Fatalf("docs/compatibility.md lacks the lines %q and %q", BeginMarker, EndMarker)
	}
	want := "\n" + Markdown() + "\n"
	if *update {
		if err := os.WriteFile(page, []byte(before+BeginMarker+want+EndMarker+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, old); diff != "" {
		t.Errorf("docs/compatibility.md is not what the table says; run: go test ./internal/cli/compat -update\n(-want +got):\n%s", diff)
	}
}
