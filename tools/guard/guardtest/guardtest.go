// Package guardtest runs an analyzer over the code in its testdata folder, as analysistest does.
package guardtest

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// Run compares what the analyzer reports about the packages with the "want" comments in them. Packages are named by
// their patterns below testdata/src. Facts need not be wanted: what counts is what is reported because of them.
func Run(t *testing.T, a *analysis.Analyzer, patterns ...string) {
	t.Helper()
	results := analysistest.Run(reports{t}, analysistest.TestData(), a, patterns...)
	if len(results) == 0 {
		t.Errorf("no packages in %v", patterns)
	}
}

type reports struct{ *testing.T }

// Errorf drops complaints about facts that no comment wants.
func (r reports) Errorf(format string, args ...any) {
	if msg := fmt.Sprintf(format, args...); !strings.Contains(msg, ": unexpected fact: ") {
		r.T.Error(msg)
	}
}
