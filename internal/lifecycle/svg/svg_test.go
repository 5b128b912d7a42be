package svg

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestWellFormedWhateverTheText(t *testing.T) {
	for _, s := range []string{"", "<script>", `"&'`, "\x00\x01\x1b", "]]>", "\xff\xfe", "-->", "𝒳"} {
		d := New(100, 50.25, s, s, s)
		d.Open("g", "id", s)
		d.Leaf("text", s, "x", 1.25)
		d.Titled("path", s, "d", s)
		var b bytes.Buffer
		if _, err := d.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		texts := 0
		for in := xml.NewDecoder(&b); ; {
			token, err := in.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%q: %v", s, err)
			}
			if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
				texts++
			}
		}
		if texts != 1 {
			t.Errorf("%q: %d texts", s, texts)
		}
	}
}

func TestFit(t *testing.T) {
	for _, s := range []string{"a", "a longer text that needs to be shortened", "日本語日本語日本語日本語"} {
		got := Fit(s, 12, 60)
		if Width(got, 12) > 60 {
			t.Errorf("%q is %v wide", got, Width(got, 12))
		}
		if got != s && !strings.HasSuffix(got, "…") {
			t.Errorf("%q was shortened to %q without saying so", s, got)
		}
	}
	if got := Fit("short", 12, 600); got != "short" {
		t.Errorf("a text that fits became %q", got)
	}
}

func TestNum(t *testing.T) {
	for f, want := range map[float64]string{1: "1", 1.25: "1.3", -0.04: "0", 100.999: "101"} {
		if got := Num(f); got != want {
			t.Errorf("%v is written %s, want %s", f, got, want)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteError(t *testing.T) {
	if _, err := New(1, 1, "", "", "").WriteTo(full{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error %v", err)
	}
}
