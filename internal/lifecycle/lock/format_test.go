package lock

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCondition(t *testing.T) {
	all := []string{"a=0,b=0", "a=0,b=1", "a=0,b=2", "a=1,b=0", "a=1,b=1", "a=1,b=2"}
	for want, set := range map[string][]string{
		"":              all,
		"a=1":           {"a=1,b=0", "a=1,b=1", "a=1,b=2"},
		"b=0":           {"a=0,b=0", "a=1,b=0"},
		"a=1,b=2":       {"a=1,b=2"},
		"b=0 | b=1":     {"a=0,b=0", "a=0,b=1", "a=1,b=0", "a=1,b=1"},
		"a=0 | a=1,b=2": {"a=0,b=0", "a=0,b=1", "a=0,b=2", "a=1,b=2"},
	} {
		got := condition(set, all)
		if got != want && !(want == "a=0 | a=1,b=2" && got == "a=0 | b=2") {
			t.Errorf("condition of %v is %q, want %q", set, got, want)
		}
	}
	// Whatever the set, the condition picks exactly it.
	for bits := 1; bits < 1<<len(all); bits++ {
		var set []string
		for i, v := range all {
			if bits&(1<<i) != 0 {
				set = append(set, v)
			}
		}
		back, err := variantsOf(condition(set, all), all)
		if err != nil || !slices.Equal(back, set) {
			t.Errorf("%v became %q, which picks %v (%v)", set, condition(set, all), back, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "at least one variant",
		"step a phase load":                  "no variant",
		"variant a\nstep a":                  "line 2 of the lock: step needs 2 words",
		"variant a\nwhat is":                 `unknown kind of fact "what"`,
		"variant a\nstep \"a b":              "a quote is not closed",
		"variant a\nstep a b c @":            "nothing stands after @",
		"variant a\n@ a":                     "no fact",
		"variant x=1,y=1\nvariant x=2\n":     "names the flags",
		"variant x=1,y=1\nvariant y=1,x=1\n": "are the same",
		"variant x=1\nvariant x=2\nstep a phase b @ x=3":   `no variant is "x=3"`,
		"variant a\nstep a phase b\nstep a phase c\n":      "line 3 of the lock says the same as line 2",
		"variant a\nstep a phase b\nvariant c\n":           "after the first fact",
		"variant a|b\n":                                    "a name is not empty",
		"variant x=1\nvariant x=2\nstep a phase b @ x=1 |": `no variant is ""`,
	} {
		_, err := Parse(strings.NewReader(in))
		if in == "step a phase load" {
			if err == nil {
				t.Errorf("%q: no error", in)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that says %q", in, err, want)
		}
	}
}

func TestHostileWords(t *testing.T) {
	l := &Lock{Variants: []string{"a=1", "a=2"}}
	for _, w := range []string{"", " ", "@", `"`, `\`, "a b", "# no comment", "new\nline", "tab\t", "\x00", "näme", "@ a=1", "|", `"@" x`, "\u2028"} {
		l.Entries = append(l.Entries, Entry{Fact{"step", []string{"name " + w, w + "tag"}, []string{w, w}}, []string{"a=2"}})
	}
	l.sort()
	back, err := Parse(strings.NewReader(text(t, l)))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text(t, l))
	}
	if diff := cmp.Diff(l, back); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("variant a=1\nvariant a=2\nstep \"x y\" phase load @ a=1\norder a b needs c\n")
	f.Fuzz(func(t *testing.T, in string) {
		l, err := Parse(strings.NewReader(in))
		if err != nil {
			return
		}
		back, err := Parse(strings.NewReader(text(t, l)))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if len(Diff(l, back)) > 0 {
			t.Fatalf("it changed on the way: %v", Diff(l, back))
		}
	})
}
