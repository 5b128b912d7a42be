package xds

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"

	"golang.org/x/sys/unix"

	_ "github.com/meshd/meshd/internal/listener" // want `internal/xds/xds.go imports internal/listener, which opens ports`
)

type embeds struct{ http.Server }

type config struct {
	open func(network, addr string) (net.Listener, error)
}

func bad(ctx context.Context) {
	net.Listen("tcp", ":0")                   // want `net\.Listen outside internal/listener: a port that opens on its own`
	net.ListenPacket("udp", ":0")             // want `net\.ListenPacket outside`
	net.ListenTCP("tcp", nil)                 // want `net\.ListenTCP outside`
	net.ListenUDP("udp", nil)                 // want `net\.ListenUDP outside`
	net.ListenUnix("unix", nil)               // want `net\.ListenUnix outside`
	tls.Listen("tcp", ":0", nil)              // want `crypto/tls\.Listen outside`
	http.ListenAndServe(":0", nil)            // want `net/http\.ListenAndServe outside`
	http.ListenAndServeTLS(":0", "", "", nil) // want `net/http\.ListenAndServeTLS outside`
	httptest.NewServer(nil)                   // want `net/http/httptest\.NewServer outside`
	syscall.Listen(3, 1)                      // want `syscall\.Listen outside`
	syscall.Bind(3, nil)                      // want `syscall\.Bind outside`
	unix.Listen(3, 1)                         // want `unix\.Listen outside`
	unix.Bind(3, nil)                         // want `unix\.Bind outside`
	_ = unix.SYS_LISTEN                       // want `unix\.SYS_LISTEN outside`

	lc := &net.ListenConfig{}
	lc.Listen(ctx, "tcp", ":0")       // want `\(\*net\.ListenConfig\)\.Listen outside`
	lc.ListenPacket(ctx, "udp", ":0") // want `\(\*net\.ListenConfig\)\.ListenPacket outside`
	var srv http.Server
	srv.ListenAndServe()          // want `\(\*net/http\.Server\)\.ListenAndServe outside`
	srv.ListenAndServeTLS("", "") // want `\(\*net/http\.Server\)\.ListenAndServeTLS outside`
	new(embeds).ListenAndServe()  // want `\(\*net/http\.Server\)\.ListenAndServe outside`

	// Handed on, never called here.
	_ = config{open: net.Listen}             // want `net\.Listen outside`
	serve := srv.ListenAndServe              // want `ListenAndServe outside`
	express := (*http.Server).ListenAndServe // want `ListenAndServe outside`
	_, _ = serve, express
}

func good(l net.Listener, ctx context.Context) {
	var srv http.Server
	srv.Serve(l)
	net.Dial("tcp", ":1")
	unix.Socket(2, 1, 0)
	(&own{}).Listen()
}

type own struct{}

// Listen is a name that others may have too.
func (*own) Listen() {}
