package logging

import (
	"io"
	"os"

	"github.com/go-logr/zapr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zapgrpc"
	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"
)

// The component names under which libraries log.
const (
	// GRPC is gRPC's own log. It is at least at level warn unless --log-level names it.
	GRPC = "grpc"
	// Klog is the log of Kubernetes' libraries.
	Klog = "klog"
	// Standard is Go's standard logger, which net/http uses for what goes wrong. Its lines have level warn.
	Standard = "stdlog"
)

// Redirect brings the lines of klog, grpclog and the standard logger into log. These are global to the process, and
// grpclog may only be set before gRPC is used: a program calls Redirect once, first thing after it has its logger.
// restore gives the three back to their own output, for tests.
func Redirect(log *zap.Logger) (restore func()) {
	klog.SetLoggerWithOptions(
		zapr.NewLoggerWithOptions(component(log, Klog), zapr.LogInfoLevel("")),
		klog.FlushLogger(func() { _ = log.Sync() }),
	)
	grpclog.SetLoggerV2(grpcLogger{zapgrpc.NewLogger(component(log, GRPC)), component(log, GRPC).Core()})
	restoreStandard, err := zap.RedirectStdLogAt(component(log, Standard), zapcore.WarnLevel)
	if err != nil {
		// Only a level that zap does not know makes this fail, and it is a constant.
		restoreStandard = func() {}
	}
	return func() {
		klog.ClearLogger()
		grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, os.Stderr))
		restoreStandard()
	}
}

// component names a logger, and its core too: a core without a name admits what any component logs, and the libraries
// would format lines only to have them thrown away.
func component(log *zap.Logger, name string) *zap.Logger {
	return log.Named(name).With(zap.String("component", name))
}

// grpcLogger maps gRPC's verbosity to debug; zapgrpc takes it for a severity.
type grpcLogger struct {
	*zapgrpc.Logger
	level zapcore.LevelEnabler
}

// V reports whether lines of this verbosity are wanted. gRPC asks before it formats anything costly.
func (l grpcLogger) V(verbosity int) bool {
	return verbosity <= 0 || l.level.Enabled(zapcore.DebugLevel)
}
