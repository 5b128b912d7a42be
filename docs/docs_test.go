// Package docs tests that what the documents say of the tree is so.
package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/meshd/meshd/internal/lifecycle/rules"
)

// root is the folder of the repository, seen from here.
const root = ".."

// link matches a Markdown link or picture, as far as the name of what it leads to.
var link = regexp.MustCompile(`\]\(([^)#\s]+)`)

func documents(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md", "changelog/*.md", "deploy/*/*/*.md", "tools/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, paths...)
	}
	if len(found) < 10 {
		t.Fatalf("found only %q", found)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLinksLeadSomewhere(t *testing.T) {
	for _, path := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, path), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", path, m[1])
			}
		}
	}
}

// TestHouseIsWhole: each package directly below internal, and each tool, has a row in the table of the architecture.
func TestHouseIsWhole(t *testing.T) {
	text := read(t, "architecture.md")
	for _, parent := range []string{"cmd", "internal", "tools"} {
		entries, err := os.ReadDir(filepath.Join(root, parent))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if name := parent + "/" + e.Name(); e.IsDir() && !strings.Contains(text, "\n| `"+name+"` |") {
				t.Errorf("architecture.md has no row for %s", name)
			}
		}
	}
}

// TestRulesAreExplained: a rule that the graph checks has a section with its symptom.
func TestRulesAreExplained(t *testing.T) {
	kept, _, ok := strings.Cut(read(t, "ordering.md"), "## Rules whose components come later")
	if !ok {
		t.Fatal("ordering.md has no part about rules that come later")
	}
	sections := map[string]string{}
	for _, section := range strings.Split(kept, "\n### `")[1:] {
		id, text, _ := strings.Cut(section, "`")
		sections[id] = text
	}
	for _, r := range rules.All() {
		if !strings.Contains(sections[r.ID], "*Broken*:") {
			t.Errorf("ordering.md does not explain what breaking %s looks like", r.ID)
		}
	}
}

// TestReadmeHasOneTestCommand: .ci/run takes it from there.
func TestReadmeHasOneTestCommand(t *testing.T) {
	var lines []string
	for line := range strings.Lines(read(t, filepath.Join(root, "README.md"))) {
		if strings.HasPrefix(line, "go test ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) != 1 || lines[0] != "go test -timeout 20m ./..." {
		t.Errorf("README.md's test commands are %q, want one that runs everything", lines)
	}
}

// TestFragments: every change in the changelog says what kind it is.
func TestFragments(t *testing.T) {
	name := regexp.MustCompile(`^\d{4}-[a-z0-9-]+\.md$`)
	kind := regexp.MustCompile(`^kind: (added|changed|fixed|removed|security)\n\n\S`)
	entries, err := os.ReadDir(filepath.Join(root, "changelog"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == "README.md" {
			continue
		}
		if !name.MatchString(e.Name()) {
			t.Errorf("changelog/%s: the name is not NNNN-what.md", e.Name())
		}
		if !kind.MatchString(read(t, filepath.Join(root, "changelog", e.Name()))) {
			t.Errorf("changelog/%s does not begin with its kind and a sentence; changelog/README.md shows the form", e.Name())
		}
	}
}
