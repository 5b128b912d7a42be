package translate_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// exception is a difference from istiod that is meant. docs/compatibility.md refers to the list.
type exception struct {
	Scenario, Client, Type, Resource string
	// Path begins the paths of the differences, as scenario.Diff writes them.
	Path   string
	Reason string

	used bool
}

// exceptions are those of testdata/exceptions.json.
type exceptions struct {
	list []*exception
	// compared are the scenarios that are there to be compared.
	compared map[string]bool
}

func loadExceptions(t *testing.T) *exceptions {
	t.Helper()
	data, err := os.ReadFile("testdata/exceptions.json")
	if err != nil {
		t.Fatal(err)
	}
	out := &exceptions{compared: map[string]bool{}}
	if err := json.Unmarshal(data, &out.list); err != nil {
		t.Fatalf("testdata/exceptions.json: %v", err)
	}
	for _, e := range out.list {
		if e.Reason == "" || e.Path == "" {
			t.Errorf("testdata/exceptions.json: the exception for %q of %q needs a path and a reason", e.Path, e.Resource)
		}
	}
	return out
}

func (x *exceptions) compare(scenario string) { x.compared[scenario] = true }

func (x *exceptions) excuse(scenario, client, kind, resource, path string) bool {
	for _, e := range x.list {
		if e.Scenario == scenario && e.Client == client && e.Type == kind && e.Resource == resource && strings.HasPrefix(path, e.Path) {
			e.used = true
			return true
		}
	}
	return false
}

func (x *exceptions) checkUsed(t *testing.T) {
	t.Helper()
	for _, e := range x.list {
		if x.compared[e.Scenario] && !e.used {
			t.Errorf("testdata/exceptions.json: the exception for %s of %s (%s, %s) excuses nothing: remove it",
				e.Path, e.Resource, e.Scenario, e.Client)
		}
	}
}
