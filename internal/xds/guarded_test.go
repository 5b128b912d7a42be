package xds

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/meshd/meshd/internal/xds/resource"
)

// A panic while a stream is served ends that stream, and is in the log with its stack.
func TestPanicEndsOneStream(t *testing.T) {
	core, logs := observer.New(zap.ErrorLevel)
	r := &rig{t: t, registry: prometheus.NewRegistry()}
	m, err := newMetrics(r.registry, resource.NewStore(nil).Stats)
	if err != nil {
		t.Fatal(err)
	}
	st := &stream{server: &Server{metrics: m}, log: zap.New(core)}
	if err := st.guarded(func() error { panic("boom") }); status.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
	if n := r.metric("pilot_total_xds_internal_errors"); n != 1 {
		t.Errorf("%v faults are counted", n)
	}
	lines := logs.FilterField(zap.Any("panic", "boom")).All()
	if len(lines) != 1 || lines[0].ContextMap()["stack"] == nil {
		t.Errorf("log %v", logs.All())
	}
	if err := st.guarded(func() error { return nil }); err != nil {
		t.Error(err)
	}
}
