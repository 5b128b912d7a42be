package listen

// Places are the packages that may open ports. To allow another one, add it here, and say why.
var Places = []struct{ Package, Why string }{
	{"internal/listener", "opens the ports of the two lifecycle listeners: the admin listener and the traffic listeners"},
	{"internal/testkit/...", "test tools run servers of their own"},
}

// Opener is the package of Places that the product opens ports with.
const Opener = "internal/listener"

// Importers are the files that may import Opener: the two lifecycle listeners.
var Importers = []struct{ File, Why string }{
	{"internal/modules/admin.go", "the admin listener: the health and monitoring ports, in phase Admin"},
	{"internal/modules/listeners.go", "the traffic listeners: one component, in phase Listen"},
}

// Forbidden are the functions, methods and constants that open a port, or lead to one, by full name.
var Forbidden = []string{
	"net.Listen",
	"net.ListenIP",
	"net.ListenMulticastUDP",
	"net.ListenPacket",
	"net.ListenTCP",
	"net.ListenUDP",
	"net.ListenUnix",
	"net.ListenUnixgram",
	"net.FileListener", // a socket that was opened behind this guard's back
	"net.FilePacketConn",
	"(*net.ListenConfig).Listen",
	"(*net.ListenConfig).ListenPacket",
	"crypto/tls.Listen",

	"net/http.ListenAndServe",
	"net/http.ListenAndServeTLS",
	"(*net/http.Server).ListenAndServe",
	"(*net/http.Server).ListenAndServeTLS",
	"net/http/httptest.NewServer",
	"net/http/httptest.NewTLSServer",
	"net/http/httptest.NewUnstartedServer",

	"syscall.Bind",
	"syscall.Listen",
	"syscall.SYS_BIND",
	"syscall.SYS_LISTEN",
	"golang.org/x/sys/unix.Bind",
	"golang.org/x/sys/unix.Listen",
	"golang.org/x/sys/unix.SYS_BIND",
	"golang.org/x/sys/unix.SYS_LISTEN",
	"golang.org/x/net/nettest.NewLocalListener",
	"golang.org/x/net/nettest.NewLocalPacketListener",
	"golang.org/x/net/icmp.ListenPacket",
}
