package render

import (
	"github.com/meshd/meshd/internal/lifecycle"
	"os"
	"testing"
)

func TestLook(t *testing.T) {
	p, v := lifecycle.Analyze(meshComponents())
	for _, x := range v {
		t.Log(x)
	}
	for _, f := range Formats() {
		w, _ := os.Create("/tmp/helper-look." + f)
		if err := Write(w, f, p, Options{Data: true}); err != nil {
			t.Fatal(err)
		}
	}
	w, _ := os.Create("/tmp/helper-focus.svg")
	Write(w, "svg", p, Options{Data: true, Focus: "ca"})
	w, _ = os.Create("/tmp/helper-stop.svg")
	Write(w, "svg", p, Options{Stop: true})
	w, _ = os.Create("/tmp/helper-focus.txt")
	Write(w, "text", p, Options{Focus: "snapshot"})
}
