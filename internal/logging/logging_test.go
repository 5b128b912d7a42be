package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// fixed is the clock of these tests.
type fixed struct{}

func (fixed) Now() time.Time                       { return time.Date(2026, 3, 1, 14, 30, 0, 5e6, time.FixedZone("", 3600)) }
func (fixed) NewTicker(time.Duration) *time.Ticker { panic("no ticker is needed") }

func logger(t *testing.T, format Format, spec string) (*zap.Logger, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	return New(zapcore.Lock(zapcore.AddSync(&out)), format, control(t, spec)).WithOptions(zap.WithClock(fixed{})), &out
}

func TestText(t *testing.T) {
	const start = "2026-03-01T13:30:00.005Z "
	for _, tc := range []struct {
		name string
		log  func(*zap.Logger)
		want string
	}{
		{"nothing but a message", func(l *zap.Logger) { l.Info("starting") },
			"info  -            starting\n"},
		{"fields in the order given, after those of the logger",
			func(l *zap.Logger) {
				l.Named("mesh").With(zap.String("step", "mesh.load")).Warn("slow step", zap.Duration("took", 1200*time.Millisecond), zap.Int("a", -1))
			},
			"warn  mesh         slow step step=mesh.load took=1.2s a=-1\n"},
		{"quotes where needed",
			func(l *zap.Logger) {
				l.Named("xds").Info("x", zap.String("empty", ""), zap.String("space", "a b"), zap.String("eq", "a=b"), zap.String("line", "a\nb"), zap.ByteString("bytes", []byte("ok")))
			},
			`info  xds          x empty="" space="a b" eq="a=b" line="a\nb" bytes=ok` + "\n"},
		{"an error, once", func(l *zap.Logger) { l.Error("failed", zap.Error(verbose{errors.New("disk full")})) },
			"error -            failed error=\"disk full\"\n"},
		{"no error is no field", func(l *zap.Logger) { l.Info("fine", zap.Error(nil)) },
			"info  -            fine\n"},
		{"times, lists and bools",
			func(l *zap.Logger) {
				l.Info("x", zap.Time("since", fixed{}.Now()), zap.Strings("missing", []string{"b", "a"}), zap.Bool("ok", true), zap.Float64("f", 0.5))
			},
			`info  -            x since=2026-03-01T13:30:00.005Z missing=["b","a"] ok=true f=0.5` + "\n"},
		{"a namespace", func(l *zap.Logger) { l.With(zap.Namespace("node")).Info("x", zap.String("id", "a")) },
			"info  -            x node.id=a\n"},
		{"a message of a client's making", func(l *zap.Logger) { l.Info("node \"a\x1b[31m\r\nb\" left") },
			`info  -            node "a\x1b[31m\r\nb" left` + "\n"},
		{"the component that a line is about",
			func(l *zap.Logger) {
				l.Named("lifecycle").Info("step started", zap.String("component", "mesh"), zap.String("step", "mesh.load"))
			},
			"info  mesh         step started step=mesh.load\n"},
		{"a stack below", func(l *zap.Logger) { l.Error("panic", zap.String("stack", "one\n\ttwo\n"), zap.Int("n", 1)) },
			"error -            panic n=1\n    one\n    \ttwo\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			log, out := logger(t, Text, "")
			tc.log(log)
			if diff := cmp.Diff(start+tc.want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// verbose is an error that prints more when asked to, as errors with stacks do.
type verbose struct{ error }

func (v verbose) Format(s fmt.State, verb rune) {
	_, _ = io.WriteString(s, v.Error())
	if s.Flag('+') {
		_, _ = io.WriteString(s, "\nand its stack")
	}
}

func TestJSON(t *testing.T) {
	log, out := logger(t, JSON, "")
	log.Named("mesh").With(zap.String("step", "mesh.load")).Info("loaded", zap.Duration("took", 3*time.Millisecond))
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	want := map[string]any{
		"time": "2026-03-01T13:30:00.005Z", "level": "info", "component": "mesh", "message": "loaded", "step": "mesh.load", "took": "3ms",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLevelsApply(t *testing.T) {
	for _, format := range []Format{Text, JSON} {
		log, out := logger(t, format, "xds=debug,default=warn,quiet=none")
		log.Named("xds").Debug("xds debug")
		log.Named("xds").Named("push").Debug("push debug")
		log.Named("mesh").With(zap.Int("n", 1)).Info("mesh info")
		log.Named("mesh").With(zap.Int("n", 1)).Warn("mesh warn")
		log.Named("quiet").Error("quiet error")
		log.Info("root info")
		for _, text := range []string{"xds debug", "push debug", "mesh warn"} {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: %q is missing in:\n%s", format, text, out)
			}
		}
		if n := strings.Count(out.String(), "\n"); n != 3 {
			t.Errorf("%s: %d lines, want 3:\n%s", format, n, out)
		}
	}
}

// TestOneComponent: a JSON object with two fields of one name is read differently by every reader.
func TestOneComponent(t *testing.T) {
	log, out := logger(t, JSON, "mesh=warn")
	log.Named("lifecycle").Info("one", zap.String("component", "mesh"))
	log.Named("lifecycle").With(zap.String("component", "ca")).Info("two")
	log.Named("lifecycle").With(zap.String("component", "mesh")).Info("below the level of mesh")
	want := `{"level":"info","time":"2026-03-01T13:30:00.005Z","component":"mesh","message":"one"}
{"level":"info","time":"2026-03-01T13:30:00.005Z","component":"ca","message":"two"}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseFormat(t *testing.T) {
	for _, f := range []Format{Text, JSON} {
		if got, err := ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("%s: got %q, %v", f, got, err)
		}
	}
	if _, err := ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "text or json") {
		t.Errorf("got %v", err)
	}
}
