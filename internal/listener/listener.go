// Package listener is the only place in meshd that opens ports.
//
// Traffic ports are opened in two moments: in the first second their addresses are claimed (socket and bind), so that
// a taken port is found at once and nobody else can take it; they listen only when everything behind them is ready.
// Until then the kernel refuses clients, which is what they retry on. Admin ports listen as soon as they are claimed.
package listener

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
)

// Socket is an address that is claimed and does not listen yet.
type Socket struct {
	flag string
	addr *net.TCPAddr

	mu sync.Mutex
	fd int // -1 once it listens or is closed
}

// Claim binds an address without listening on it. The flag names the address in errors, for example "--grpc-addr".
// A host may be a name, an address, or empty for all interfaces; port 0 lets the kernel choose.
func Claim(ctx context.Context, flag, address string) (*Socket, error) {
	addrs, err := resolve(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, address, err)
	}
	var errs []error
	for _, a := range addrs {
		s, err := bind(flag, a)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
		if !errors.Is(err, syscall.EAFNOSUPPORT) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			break // a port that is taken in one family is not ours in the other alone
		}
	}
	return nil, fmt.Errorf("%s %s: %w%s", flag, address, errors.Join(errs...), advice(errs[len(errs)-1]))
}

func advice(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return ": another process holds this port; stop it, or choose another one"
	case errors.Is(err, syscall.EACCES):
		return ": ports below 1024 need a privilege"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return ": no interface of this machine has this address"
	}
	return ""
}

// resolve gives the addresses to try, in order: for all interfaces IPv6 with IPv4 inside, then IPv4 alone, because a
// machine may have no IPv6.
func resolve(ctx context.Context, address string) ([]*net.TCPAddr, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return nil, err
	}
	if host == "" {
		return []*net.TCPAddr{{IP: net.IPv6unspecified, Port: number}, {IP: net.IPv4zero, Port: number}}, nil
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return nil, err
	}
	return []*net.TCPAddr{{IP: ips[0].IP, Zone: ips[0].Zone, Port: number}}, nil
}

func bind(flag string, addr *net.TCPAddr) (*Socket, error) {
	family := syscall.AF_INET6
	var sa syscall.Sockaddr
	if ip4 := addr.IP.To4(); ip4 != nil {
		family, sa = syscall.AF_INET, &syscall.SockaddrInet4{Port: addr.Port, Addr: [4]byte(ip4)}
	} else {
		sa = &syscall.SockaddrInet6{Port: addr.Port, Addr: [16]byte(addr.IP.To16())}
	}
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	s := &Socket{flag: flag, fd: fd}
	if err := s.setup(family, addr, sa); err != nil {
		syscall.Close(fd)
		return nil, err
	}
	return s, nil
}

func (s *Socket) setup(family int, addr *net.TCPAddr, sa syscall.Sockaddr) error {
	if family == syscall.AF_INET6 && addr.IP.IsUnspecified() {
		if err := syscall.SetsockoptInt(s.fd, syscall.IPPROTO_IPV6, syscall.IPV6_V6ONLY, 0); err != nil {
			return os.NewSyscallError("setsockopt", err)
		}
	}
	// Two sockets that allow reuse can both be bound while neither listens, and a second process would find out only
	// when it listens: so reuse is not allowed at first.
	err := syscall.Bind(s.fd, sa)
	if errors.Is(err, syscall.EADDRINUSE) {
		// Connections of a process that has just ended are no obstacle, as for net.Listen.
		if err := reuse(s.fd); err != nil {
			return err
		}
		err = syscall.Bind(s.fd, sa)
	}
	if err != nil {
		return os.NewSyscallError("bind", err)
	}
	bound, err := syscall.Getsockname(s.fd)
	if err != nil {
		return os.NewSyscallError("getsockname", err)
	}
	switch b := bound.(type) {
	case *syscall.SockaddrInet4:
		s.addr = &net.TCPAddr{IP: b.Addr[:], Port: b.Port}
	case *syscall.SockaddrInet6:
		s.addr = &net.TCPAddr{IP: b.Addr[:], Port: b.Port, Zone: addr.Zone}
	}
	return nil
}

func reuse(fd int) error {
	return os.NewSyscallError("setsockopt", syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
}

// Addr is the address that was bound, with the port that the kernel chose.
func (s *Socket) Addr() *net.TCPAddr { return s.addr }

// backlog is how many connections may wait to be accepted: as many as the kernel allows (net.core.somaxconn), to which
// it lowers what is asked for. syscall.SOMAXCONN is 128, and after a restart thousands of proxies come at once.
const backlog = 1<<16 - 1

// Listen starts to accept connections. It can be called once.
func (s *Socket) Listen() (net.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return nil, fmt.Errorf("%s %s: the socket listens already, or is closed", s.flag, s.addr)
	}
	fd := s.fd
	s.fd = -1
	// Accepted connections inherit it: those that are left over must not keep the next process from the port.
	err := reuse(fd)
	if err == nil {
		err = os.NewSyscallError("listen", syscall.Listen(fd, backlog))
	}
	if err != nil {
		syscall.Close(fd)
		return nil, fmt.Errorf("%s %s: %w%s", s.flag, s.addr, err, advice(err))
	}
	file := os.NewFile(uintptr(fd), s.addr.String())
	defer file.Close() // FileListener works on a duplicate
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", s.flag, s.addr, err)
	}
	return l, nil
}

// Close gives the address up if it does not listen. It may be called at any time, also twice.
func (s *Socket) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fd < 0 {
		return nil
	}
	fd := s.fd
	s.fd = -1
	return os.NewSyscallError("close", syscall.Close(fd))
}
