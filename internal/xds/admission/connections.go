package admission

import (
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

// Connections are the limits of the connections that carry the streams. Zero values are gRPC's own defaults.
type Connections struct {
	// Interval is the quiet time after which a client is asked for a sign of life, at least a second; Timeout is how
	// long it has to give one before its connection is closed. A client that reads slowly answers; one that is gone,
	// without having said so, does not.
	Interval, Timeout time.Duration
	// Streams is how many streams a client may have open at a time on one connection. It waits with the others.
	Streams uint32
	// RequestSize is the largest request, in bytes.
	RequestSize int
}

const (
	// pings is how often a client may ask for a sign of life of its own accord. gRPC's clients do so every ten seconds
	// at most, Istio's agents every thirty.
	pings = 5 * time.Second
	// readBuffer is for requests, which are small; gRPC would take 32 KB for each connection.
	readBuffer = 4 << 10
)

// ServerOptions are the options of a gRPC server for connections with these limits, whose streams live as long as
// maxAge, or for ever if it is 0.
//
// A stream that ends lets its client come back on the same connection, to the same replica. So that it does not, the
// connection takes no new streams from shortly before its first stream can end, and gRPC closes it with its last one.
func (c Connections) ServerOptions(maxAge time.Duration) []grpc.ServerOption {
	// The connection turns new streams away at 0.8 of the age and the streams end at 1.0; gRPC and spread move both by
	// a tenth of themselves, so that they keep their order. What is left at 1.8 is cut: streams that came late.
	maxAge = min(maxAge, forever)
	params := keepalive.ServerParameters{
		Time: c.Interval, Timeout: c.Timeout,
		MaxConnectionAge: maxAge / 10 * 8, MaxConnectionAgeGrace: maxAge,
	}
	options := []grpc.ServerOption{
		grpc.KeepaliveParams(params),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pings, PermitWithoutStream: true}),
		grpc.ReadBufferSize(readBuffer),
	}
	if c.Streams > 0 {
		options = append(options, grpc.MaxConcurrentStreams(c.Streams))
	}
	if c.RequestSize > 0 {
		options = append(options, grpc.MaxRecvMsgSize(c.RequestSize))
	}
	return options
}
