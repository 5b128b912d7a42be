package logging

import (
	stdlog "log"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"
)

// observed is a logger of these levels whose lines the test reads.
func observed(t *testing.T, spec string) (*zap.Logger, *observer.ObservedLogs) {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	return zap.New(leveled{Core: core, control: control(t, spec)}), logs
}

func TestRedirect(t *testing.T) {
	log, logs := observed(t, "grpc=info")
	defer Redirect(log)()

	klog.Infof("watch of %s", "pods")
	klog.InfoS("cache synced", "kind", "Pod")
	klog.Error("list failed")
	grpclog.Info("channel created")
	grpclog.Component("transport").Warningf("closing %s", "now")
	stdlog.Print("http: TLS handshake error")

	for _, want := range []struct {
		component, message string
		level              zapcore.Level
	}{
		{Klog, "watch of pods", zapcore.InfoLevel},
		{Klog, "cache synced", zapcore.InfoLevel},
		{Klog, "list failed", zapcore.ErrorLevel},
		{GRPC, "channel created", zapcore.InfoLevel},
		{GRPC, "[transport] closing now", zapcore.WarnLevel},
		{Standard, "http: TLS handshake error", zapcore.WarnLevel},
	} {
		found := logs.FilterMessage(want.message).All()
		if len(found) != 1 {
			t.Errorf("%d lines say %q, want one; all: %v", len(found), want.message, messages(logs))
			continue
		}
		if got := found[0]; got.LoggerName != want.component || got.Level != want.level {
			t.Errorf("%q is logged by %q at %v, want %q at %v", want.message, got.LoggerName, got.Level, want.component, want.level)
		}
	}
	if fields := logs.FilterMessage("cache synced").All()[0].ContextMap(); fields["kind"] != "Pod" || len(fields) != 1 {
		t.Errorf("the fields of a structured klog line are %v, want kind=Pod alone", fields)
	}
}

func TestRedirectKeepsLevels(t *testing.T) {
	// Another component at debug opens the core as a whole, and must not open the libraries.
	log, logs := observed(t, "xds=debug,klog=none")
	defer Redirect(log)()

	klog.Error("klog error")
	grpclog.Info("grpc info")
	grpclog.Warning("grpc warning")
	if grpclog.V(2) {
		t.Error("gRPC's verbose lines are wanted, though its level is warn")
	}
	if got := messages(logs); len(got) != 1 || got[0] != "grpc warning" {
		t.Errorf("got %q, want the warning alone", got)
	}
}

func TestRedirectVerbose(t *testing.T) {
	log, _ := observed(t, "grpc=debug")
	defer Redirect(log)()
	if !grpclog.V(2) {
		t.Error("gRPC's verbose lines are not wanted, though its level is debug")
	}
}

func TestRestore(t *testing.T) {
	log, logs := observed(t, "grpc=debug")
	Redirect(log)()
	grpclog.Info("after")
	if logs.Len() != 0 {
		t.Errorf("got %q after the restore", messages(logs))
	}
}

func messages(logs *observer.ObservedLogs) []string {
	var out []string
	for _, l := range logs.All() {
		out = append(out, l.Message)
	}
	return out
}
