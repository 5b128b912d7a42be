// Package listener is where ports may be opened.
package listener

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

func Listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", addr)
}

func Preflight(fd int) error {
	if err := unix.Bind(fd, nil); err != nil {
		return err
	}
	return syscall.Bind(fd, nil)
}
