package logging

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap/zapcore"
)

func TestParseLevels(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want map[string]zapcore.Level
	}{
		{"", map[string]zapcore.Level{"xds": zapcore.InfoLevel, "": zapcore.InfoLevel, GRPC: zapcore.WarnLevel}},
		{"debug", map[string]zapcore.Level{"xds": zapcore.DebugLevel, GRPC: zapcore.WarnLevel}},
		{"error", map[string]zapcore.Level{"xds": zapcore.ErrorLevel, GRPC: zapcore.ErrorLevel}},
		{"none", map[string]zapcore.Level{"xds": silent, GRPC: silent}},
		{"xds=debug, default=warn", map[string]zapcore.Level{
			"xds": zapcore.DebugLevel, "xds.push": zapcore.DebugLevel, "xdsother": zapcore.WarnLevel, "mesh": zapcore.WarnLevel}},
		{"xds=error,xds.push=debug", map[string]zapcore.Level{
			"xds": zapcore.ErrorLevel, "xds.push": zapcore.DebugLevel, "xds.push.queue": zapcore.DebugLevel, "mesh": zapcore.InfoLevel}},
		{"default:info,xds:debug", map[string]zapcore.Level{"xds": zapcore.DebugLevel, "mesh": zapcore.InfoLevel}},
		{"all:error", map[string]zapcore.Level{"mesh": zapcore.ErrorLevel}},
		{"grpc=info", map[string]zapcore.Level{GRPC: zapcore.InfoLevel}},
	} {
		levels, err := ParseLevels(tc.in)
		if err != nil {
			t.Errorf("%q: %v", tc.in, err)
			continue
		}
		for component, want := range tc.want {
			if got := levels.Of(component); got != want {
				t.Errorf("%q: %q has level %v, want %v", tc.in, component, got, want)
			}
		}
	}
}

func TestParseLevelsRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"loud":                "unknown level",
		"xds=":                "unknown level",
		"=info":               "want component=level",
		"xds=info,xds=debug":  "xds has two levels",
		"info,default=warn":   "default has two levels",
		"xds=debug=extra":     "unknown level",
		"all:info,default=no": "unknown level",
	} {
		if _, err := ParseLevels(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error with %q", in, err, want)
		}
	}
}

func TestLevelsNamed(t *testing.T) {
	levels, err := ParseLevels("xds=debug,default=warn,ca=info")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ca", "xds"}, levels.Named()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
