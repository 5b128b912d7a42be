// Command reverts takes away, one at a time, the code that guards a case, and shows that the case's test then fails.
// Nothing in the tree is changed: the compiler is given another text for one file.
//
// Usage: go run ./tools/reverts [case ...]
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reverts:", err)
		os.Exit(1)
	}
}

func run(only []string) error {
	dir, err := os.MkdirTemp("", "reverts-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	failed := 0
	for _, r := range all() {
		if len(only) > 0 && !slices.Contains(only, r.name) {
			continue
		}
		began := time.Now()
		verdict := r.try(dir)
		took := time.Since(began).Round(100 * time.Millisecond)
		if verdict != nil {
			failed++
			fmt.Printf("%-4s %s: %v (%v)\n", r.name, r.without, verdict, took)
			continue
		}
		fmt.Printf("%-4s %s: Test%s of %s fails, as it must (%v)\n", r.name, r.without, r.test(), r.pkg, took)
	}
	if failed > 0 {
		return fmt.Errorf("%d cases are not guarded by their tests", failed)
	}
	return nil
}

func all() []revert { return append(reverts(), discovery()...) }

func (r revert) test() string { return "Case" + r.name }

// apply gives the file without the guard, from the tree below root.
func (r revert) apply(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, r.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(r.old)); n != 1 {
		return nil, fmt.Errorf("%s has the text to take away %d times, want once", r.file, n)
	}
	return bytes.Replace(text, []byte(r.old), []byte(r.new), 1), nil
}

// try runs the case's test against the code without its guard. It is an error if the test passes, or if it does not
// fail for its own reasons.
func (r revert) try(dir string) error {
	text, err := r.apply(".")
	if err != nil {
		return err
	}
	changed := filepath.Join(dir, filepath.Base(r.file))
	if err := os.WriteFile(changed, text, 0o600); err != nil {
		return err
	}
	path, err := filepath.Abs(r.file)
	if err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return err
	}
	test := "Test" + r.test()
	out, err := exec.Command("go", "test", "-count=1", "-timeout=30s", "-vet=off", "-overlay="+file, "-run=^"+test+"$", r.pkg).CombinedOutput()
	switch {
	case err == nil:
		return fmt.Errorf("%s passes without its guard", test)
	case !strings.Contains(string(out), "--- FAIL: "+test) && !(strings.Contains(string(out), "panic: test timed out") && strings.Contains(string(out), "\t"+test)):
		return fmt.Errorf("%s does not fail by itself:\n%s", test, out)
	}
	return nil
}
