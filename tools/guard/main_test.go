package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
)

// TestTree holds the whole repository to the rules.
func TestTree(t *testing.T) {
	// The go command may answer with an old result while nothing that the test itself has looked at is new. So look at
	// all folders: a file that is added must count.
	if err := filepath.WalkDir("../..", func(string, os.DirEntry, error) error { return nil }); err != nil {
		t.Fatal(err)
	}
	findings, err := check("../..", "./...")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		t.Error(f)
	}
}

// house is a small module with one violation of each rule, found across packages where that is the point of the rule.
var house = map[string]string{
	"go.mod": `module github.com/meshd/meshd
go 1.26
require go.uber.org/fx v0.0.0
replace go.uber.org/fx => ./third_party/fx
`,
	"third_party/fx/go.mod": "module go.uber.org/fx\n",
	"third_party/fx/fx.go":  "package fx\n",

	"internal/lifecycle/lifecycle.go": `package lifecycle
type Component struct { Name, For string; New []any }
`,
	"internal/ca/ca.go": `package ca
import "time"
type CA struct{ since time.Time }
func New() *CA { return &CA{since: time.Now()} }
`,
	"internal/model/model.go": `package model
type Identity struct{ account string }
func Prove(account string) Identity { return Identity{account} }
`,
	"internal/registry/registry.go": `package registry
import "github.com/meshd/meshd/internal/model"
var Me = model.Prove("me")
`,
	"internal/keys/keys.go": `package keys
import "github.com/meshd/meshd/internal/ca"
type Keys struct{ CA *ca.CA }
func New() *Keys { return &Keys{ca.New()} }
`,
	"internal/xds/xds.go": `package xds
import (
	"net"
	"sync"

	_ "github.com/meshd/meshd/internal/keys"
)
var mu sync.Mutex
func Open() (net.Listener, error) { return net.Listen("tcp", ":0") }
`,
	"internal/xds/xds_test.go": `package xds_test
import _ "go.uber.org/fx"
`,
	"internal/xds/inner_test.go": `package xds
import "net"
var listen = net.Listen
`,
	"internal/modules/ca.go": `package modules
import (
	"github.com/meshd/meshd/internal/keys"
	"github.com/meshd/meshd/internal/lifecycle"
)
func All() []lifecycle.Component { return []lifecycle.Component{{Name: "keys", New: []any{keys.New}}} }
`,
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCheckFindsEachOnce(t *testing.T) {
	dir := write(t, house)
	findings, err := check(dir, "./...")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"internal/modules/ca.go:6: pure: constructor keys.New is not pure: keys.New → ca.New → time.Now (ca.go:4), which reads the clock",
		"internal/registry/registry.go:3: proven: internal/registry makes an identity",
		"internal/xds/xds.go:6: layers: internal/xds must not import internal/ca, also not through others: internal/xds → internal/keys → internal/ca",
		"internal/xds/xds.go:8: globals: package variable mu holds a lock",
		"internal/xds/xds.go:9: listen: net.Listen outside internal/listener",
		"internal/xds/xds_test.go:2: fxonly: internal/xds imports go.uber.org/fx",
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range findings {
		rel, err := filepath.Rel(dir, f.at.Filename)
		if err != nil {
			t.Fatal(err)
		}
		f.at.Filename, f.at.Column = filepath.ToSlash(rel), 0
		got = append(got, f.at.String()+": "+f.analyzer+": "+f.message)
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got:\n%s\nwant, as beginnings:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, a := range analyzers {
		if !slices.ContainsFunc(findings, func(f finding) bool { return f.analyzer == a.Name }) {
			t.Errorf("no violation of %s was found", a.Name)
		}
	}
}

func TestCheckRefusesWhatItCannotSee(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod":            "module github.com/meshd/meshd\ngo 1.26\n",
		"internal/xds/a.go": "package xds\nvar x = undefined\n",
	})
	if findings, err := check(dir, "./..."); err == nil || !strings.Contains(err.Error(), "undefined") {
		t.Errorf("a package that does not compile: got findings %v and error %v", findings, err)
	}
	if _, err := check(dir, "./nothing/..."); err == nil {
		t.Error("no packages, and no error")
	}
}

func TestReadmeListsAll(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := analysis.Validate(analyzers); err != nil {
		t.Error(err)
	}
	for _, a := range analyzers {
		if !strings.Contains(string(text), "| `"+a.Name+"` |") {
			t.Errorf("README.md says nothing of %s", a.Name)
		}
	}
}
