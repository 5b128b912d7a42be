// Package unix stands in for golang.org/x/sys/unix.
package unix

const SYS_LISTEN = 50

type Sockaddr interface{}

func Socket(domain, typ, proto int) (int, error) { return 0, nil }
func Bind(fd int, sa Sockaddr) error             { return nil }
func Listen(fd, n int) error                     { return nil }
