package xds

import (
	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/xds/resource"
	"github.com/meshd/meshd/internal/xds/subscription"
)

// nothing makes an answer that has nothing in it be seen: who asks for what does not exist is told so, and goes on
// waiting or does without. Of types that every client asks for, which may well find nothing, it is counted only.
func (st *stream) nothing(r subscription.Response) {
	if len(r.Resources) > 0 || r.Version != new(resource.Sum).Version() {
		return // there is something, here or from before
	}
	st.server.metrics.empty.WithLabelValues(r.Type.Short).Inc()
	if !seldom(r.Type) || !st.server.warned.first(st.proxy.ID+" "+r.Type.URL) {
		return
	}
	st.log.Info("a client asks for what there is none of, and is told so; said once per node and type", zap.String("type", r.Type.Short))
}

// seldom reports whether clients ask for a type only because something of their configuration led them to it.
func seldom(t resource.Type) bool { return t.Unsaid || t.Agent }
