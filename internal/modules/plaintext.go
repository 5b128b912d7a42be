package modules

import (
	"go.uber.org/fx"
	"google.golang.org/grpc"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/xds"
)

func plaintextGRPC() lifecycle.Component {
	return lifecycle.Component{
		Name: "plaintext-grpc",
		For:  "the gRPC server of the plaintext port, with its complete set of services",
		New:  []any{newPlaintextServer, newPlaintextDiscovery},
	}
}

// Service is a gRPC service, on the server that S stands for.
type Service[S any] struct {
	Name     string
	Register func(grpc.ServiceRegistrar)
}

// serviceOut is how a component contributes a service to a server: the server is part of the type, so that a service
// cannot land on another one.
type serviceOut[S any] struct {
	fx.Out
	Service Service[S] `group:"services"`
}

type serviceIn[S any] struct {
	fx.In
	Services []Service[S] `group:"services"`
}

// writeBuffer is how much is written to a connection at once, in bytes: two of the largest segments that TCP is given
// whole. Responses are megabytes, and connections share their buffers.
const writeBuffer = 128 << 10

// PlaintextServer is the gRPC server of the plaintext port. It exists only with all its services registered.
type PlaintextServer struct{ *grpc.Server }

func newPlaintextServer(o Options, in serviceIn[PlaintextServer]) PlaintextServer {
	server := grpc.NewServer(append(o.Connections.ServerOptions(o.Admission.MaxAge), grpc.ForceServerCodecV2(xds.Codec()),
		grpc.WriteBufferSize(writeBuffer))...)
	for _, s := range in.Services {
		s.Register(server)
	}
	return PlaintextServer{server}
}

func newPlaintextDiscovery(server *xds.Server) serviceOut[PlaintextServer] {
	return serviceOut[PlaintextServer]{Service: Service[PlaintextServer]{Name: "discovery", Register: server.Register}}
}
