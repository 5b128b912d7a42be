package compat

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEverySettingIsAnswered(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Settings() {
		key := string(s.Kind) + " " + s.Name
		if seen[key] {
			t.Errorf("%s has two rows", key)
		}
		seen[key] = true
		if s.Kind == "" || s.Verdict == "" {
			t.Errorf("%s has no kind or no verdict", key)
		}
		if !strings.HasSuffix(s.Note, ".") || strings.Contains(s.Note, "|") || strings.Contains(s.Note, "\n") {
			t.Errorf("%s: the note must be a sentence that fits a table: %q", key, s.Note)
		}
		if (s.Verdict == Honoured) != (s.As != "") {
			t.Errorf("%s is %s as %q: honoured settings, and only they, have a name of meshd's", key, s.Verdict, s.As)
		}
		if s.Verdict != Refused && len(s.Accepts) > 0 {
			t.Errorf("%s is %s and lists values that are let through", key, s.Verdict)
		}
		if s.Kind == Flag != strings.HasPrefix(s.Name, "-") {
			t.Errorf("%s: flags, and only they, are written with their dashes", key)
		}
	}
}

// TestNothingOfIstiodIsMissing holds the table against the list of names that istiod reads.
func TestNothingOfIstiodIsMissing(t *testing.T) {
	f, err := os.Open("testdata/istiod-" + Line + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	flags, env := byName(Flag), byName(Env)
	count := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name := lines.Text()
		if strings.HasPrefix(name, "#") {
			continue
		}
		count++
		_, isFlag := flags[name]
		_, isEnv := env[name]
		if !isFlag && !isEnv {
			t.Errorf("%s has no row", name)
		}
	}
	if count < 200 {
		t.Errorf("read only %d names", count)
	}
}

func TestSettingsAreSorted(t *testing.T) {
	var ports []string
	for _, s := range Settings() {
		if s.Kind == Port {
			ports = append(ports, s.Name)
		}
	}
	want := []string{"8080", "9876", "15010", "15012", "15014", "15017"}
	if diff := cmp.Diff(want, ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	all := Settings()
	env := all[slices.IndexFunc(all, func(s Setting) bool { return s.Kind == Env }):]
	if !slices.IsSortedFunc(env, func(a, b Setting) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the variables are not sorted by name")
	}
}

func TestEnvByFlag(t *testing.T) {
	for flag, want := range map[string][]string{
		"--debounce-after": {"PILOT_DEBOUNCE_AFTER"},
		"--cluster-id":     {"CLUSTER_ID"},
		"--dir":            nil,
	} {
		if diff := cmp.Diff(want, EnvByFlag()[flag]); diff != "" {
			t.Errorf("EnvByFlag()[%q] (-want +got):\n%s", flag, diff)
		}
	}
}
