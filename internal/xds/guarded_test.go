package xds

import (
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A panic while a stream is served ends that stream, and is in the log with its stack.
func TestPanicEndsOneStream(t *testing.T) {
	core, logs := observer.New(zap.ErrorLevel)
	st := &stream{log: zap.New(core)}
	if err := st.guarded(func() error { panic("boom") }); status.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
	lines := logs.FilterField(zap.Any("panic", "boom")).All()
	if len(lines) != 1 || lines[0].ContextMap()["stack"] == nil {
		t.Errorf("log %v", logs.All())
	}
	if err := st.guarded(func() error { return nil }); err != nil {
		t.Error(err)
	}
}
