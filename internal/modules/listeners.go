package modules

import (
	"context"
	"errors"
	"net"
	"time"

	"go.uber.org/fx"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/meshd/meshd/internal/lifecycle"
	"github.com/meshd/meshd/internal/listener"
	"github.com/meshd/meshd/internal/snapshot"
	"github.com/meshd/meshd/internal/xds"
	"github.com/meshd/meshd/internal/xds/admission"
)

// MaxDrain is the longest Options.Drain: the ports' stop budget of a minute has room for it, and for closing.
const MaxDrain = 55 * time.Second

const (
	// drainGrace is how long the last streams have to end after they were told to.
	drainGrace = 2 * time.Second
	// closeGrace is how long the last connections have to close when they have no streams: a client must read that it is
	// to connect anew. The process stops in under a second with nobody connected, also with somebody who does not read.
	closeGrace = 500 * time.Millisecond
)

func listeners(o Options) lifecycle.Component {
	c := lifecycle.Component{
		Name: "listeners",
		For:  "the traffic ports: addresses claimed in the first second, opened when everything behind them is ready",
		New:  []any{newAddresses, newSockets},
	}
	if o.GRPCAddr != "" {
		c.New = append(c.New, newPlaintextPort)
	}
	return c
}

func newAddresses(o Options) *listener.Addresses { return listener.NewAddresses(o.AddressesFile) }

type socketsOut struct {
	fx.Out
	Sockets lifecycle.Published[*listener.Sockets]
	Claim   lifecycle.Step `name:"listeners.claim" phase:"preflight" sets:"Sockets"`
}

func newSockets(o Options) socketsOut {
	slot := lifecycle.NewSlot[*listener.Sockets]()
	sockets := listener.NewSockets()
	return socketsOut{
		Sockets: slot.Publish(),
		Claim: lifecycle.Step{
			Start: func(ctx context.Context) error {
				if o.GRPCAddr != "" {
					if err := sockets.Claim(ctx, "--grpc-addr", o.GRPCAddr); err != nil {
						return err
					}
				}
				return slot.Set(ctx, sockets)
			},
			Stop: func(context.Context) error { return sockets.Close() },
		},
	}
}

type plaintextPortIn struct {
	fx.In
	Options   Options
	Sockets   lifecycle.Loaded[*listener.Sockets]
	Snapshots lifecycle.Loaded[*snapshot.Live] // nobody is answered before there is something to answer
	Server    PlaintextServer
	XDS       *xds.Server
	Addresses *listener.Addresses
	Log       *zap.Logger
}

type plaintextPortOut struct {
	fx.Out
	Serve lifecycle.Step `name:"listeners.plaintext" phase:"listen" listener:"--grpc-addr" probe:"plaintext-xds" rank:"2" stop:"1m"`
}

func newPlaintextPort(in plaintextPortIn) plaintextPortOut {
	const flag = "--grpc-addr"
	var port net.Listener
	return plaintextPortOut{Serve: lifecycle.Step{
		Start: func(ctx context.Context) error {
			if _, err := in.Snapshots.Get(ctx); err != nil {
				return err
			}
			sockets, err := in.Sockets.Get(ctx)
			if err != nil {
				return err
			}
			if port, err = sockets.Listen(flag); err != nil {
				return err
			}
			in.Log.Named("listeners").Info("listening", zap.String("flag", flag), zap.Stringer("addr", port.Addr()))
			return in.Addresses.Bound(flag, port.Addr())
		},
		Run: func(ctx context.Context) error {
			served := make(chan error, 1)
			patient := admission.NewPort(port)
			go func() { served <- in.Server.Serve(patient) }()
			select {
			case err := <-served:
				return err
			case <-ctx.Done():
			}
			// Nobody is let in any more, neither by the port nor, with a new stream, on a connection that is open. Then
			// one stream after the other is told to move, and its connection is closed with it.
			closed := make(chan struct{})
			go func() {
				defer close(closed)
				in.Server.GracefulStop()
			}()
			patient.CloseSilent()
			drain, cancel := context.WithTimeout(context.Background(), in.Options.Drain+drainGrace)
			defer cancel()
			if err := in.XDS.Drain(drain, in.Options.Drain); err != nil {
				in.Log.Named("listeners").Warn("streams are cut off", zap.Error(err))
			}
			select {
			case <-closed:
			case <-time.After(closeGrace):
			}
			in.Server.Stop()
			<-closed
			if err := <-served; !errors.Is(err, grpc.ErrServerStopped) { // it was stopped before it had begun to serve
				return err
			}
			return nil
		},
		Stop: func(context.Context) error {
			if port != nil {
				port.Close() // the server has closed it, if it ran
			}
			return nil
		},
	}}
}
