package subscription

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTableIsTested holds docs/xds.md to the tests: each row of its table of events names a test of the server or a
// conversation of this package, and what is named is there.
func TestTableIsTested(t *testing.T) {
	page, err := os.ReadFile("../../../docs/xds.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## State × event → answer\n")
	section, _, ended := strings.Cut(section, "\n### ")
	if !found || !ended {
		t.Fatal("the page has no table of events")
	}
	tests, conversations := declared(t)
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+)`|\"([^\"]+)\"")
	rows := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| when") {
			continue
		}
		rows++
		if len(cells) != 4 {
			t.Errorf("a row has %d cells, want 4: %s", len(cells), line)
			continue
		}
		names := named.FindAllStringSubmatch(cells[3], -1)
		if len(names) == 0 {
			t.Errorf("no test of the row %q", strings.TrimSpace(cells[0]))
		}
		for _, n := range names {
			if n[1] != "" && !tests[n[1]] || n[2] != "" && !conversations[n[2]] {
				t.Errorf("row %q: there is no %s", strings.TrimSpace(cells[0]), n[0])
			}
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows were found", rows)
	}
}

// declared are the tests of the server, and the conversations of this package: a literal that begins with a string and
// ends with a script.
func declared(t *testing.T) (tests, conversations map[string]bool) {
	tests, conversations = map[string]bool{}, map[string]bool{}
	for pattern, look := range map[string]func(ast.Node) bool{
		"../*_test.go": func(n ast.Node) bool {
			if f, ok := n.(*ast.FuncDecl); ok && f.Recv == nil {
				tests[f.Name.Name] = true
			}
			return true
		},
		"*_test.go": func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || len(lit.Elts) < 2 {
				return true
			}
			name, _ := text(lit.Elts[0])
			if script, ok := text(lit.Elts[len(lit.Elts)-1]); ok && strings.Contains(script, "\n") {
				conversations[name] = true
			}
			return true
		},
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files are %s: %v", pattern, err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, look)
		}
	}
	return tests, conversations
}

// text is the value of a literal string.
func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}
