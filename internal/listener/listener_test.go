package listener

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func claim(t *testing.T, address string) *Socket {
	t.Helper()
	s, err := Claim(context.Background(), "--test-addr", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A claimed port is taken for others, and refuses clients until it listens.
func TestClaimThenListen(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "localhost:0", ":0"} {
		s := claim(t, address)
		loopback := net.JoinHostPort("127.0.0.1", portOf(t, s))
		if conn, err := net.DialTimeout("tcp", loopback, time.Second); err == nil {
			conn.Close()
			t.Errorf("%s: a client could connect before Listen", address)
		}
		l, err := s.Listen()
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		conn, err := net.DialTimeout("tcp", loopback, time.Second)
		if err != nil {
			t.Fatalf("%s: %v", address, err)
		}
		conn.Close()
		if _, err := s.Listen(); err == nil {
			t.Errorf("%s: a second Listen succeeded", address)
		}
	}
}

// A claim holds against another process that only claims too, which the kernel would allow to two that reuse.
func TestClaimHoldsAgainstClaims(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", ":0"} {
		taken := claim(t, address).Addr().String()
		if other, err := Claim(context.Background(), "--other-addr", taken); err == nil {
			other.Close()
			t.Errorf("%s was claimed twice", taken)
		}
	}
}

// Clients that all come at once are kept until they are accepted.
func TestManyAtOnce(t *testing.T) {
	const clients = 1000
	if text, err := os.ReadFile("/proc/sys/net/core/somaxconn"); err != nil {
		t.Skip("the kernel does not say how many it keeps")
	} else if most, err := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || most < clients {
		t.Skipf("the kernel keeps %s", text)
	}
	s := claim(t, "127.0.0.1:0")
	l, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	// Nobody accepts them. A client that is not kept tries again in a second.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for i := range clients {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr().String())
		if err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
		defer conn.Close()
	}
}

// A port whose connections linger after their server has gone can be claimed at once.
func TestClaimAfterRestart(t *testing.T) {
	s := claim(t, "127.0.0.1:0")
	address := s.Addr().String()
	for range 3 {
		l, err := s.Listen()
		if err != nil {
			t.Fatal(err)
		}
		client, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		server.Close() // first, so that its side is the one that lingers
		client.Close()
		l.Close()
		s = claim(t, address)
	}
}

// A port that is taken in one family is not claimed in the other alone.
func TestPortTakenInOneFamily(t *testing.T) {
	l, err := net.Listen("tcp6", "[::]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	defer l.Close()
	address := ":" + portOf(t, &Socket{addr: l.Addr().(*net.TCPAddr)})
	if s, err := Claim(context.Background(), "--x", address); err == nil {
		s.Close()
		t.Errorf("%s was claimed in one family alone", address)
	}
}

func portOf(t *testing.T, s *Socket) string {
	t.Helper()
	_, port, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestTakenPortNamesFlag(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, address := range []string{l.Addr().String(), ":" + portOf(t, &Socket{addr: l.Addr().(*net.TCPAddr)})} {
		_, err = Claim(context.Background(), "--grpc-addr", address)
		if err == nil {
			t.Fatalf("%s: a taken port was claimed", address)
		}
		for _, want := range []string{"--grpc-addr", address, "address already in use", "another process"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q lacks %q", err, want)
			}
		}
	}
}

func TestClosedSocketGivesThePortUp(t *testing.T) {
	s := claim(t, "127.0.0.1:0")
	address := s.Addr().String()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Listen(); err == nil {
		t.Error("a closed socket listens")
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("the port is still held: %v", err)
	}
	l.Close()
}

func TestBadAddress(t *testing.T) {
	for _, address := range []string{"nonsense", "256.1.1.1:1", "192.0.2.77:0", "127.0.0.1:notaport"} {
		if s, err := Claim(context.Background(), "--x", address); err == nil {
			s.Close()
			t.Errorf("%s was claimed", address)
		}
	}
}

func TestSocketsListenOnlyWhatWasClaimed(t *testing.T) {
	s := NewSockets()
	if err := s.Claim(context.Background(), "--a", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Listen("--b"); err == nil || !strings.Contains(err.Error(), "--b") {
		t.Errorf("an address that was not claimed: %v", err)
	}
	l, err := s.Listen("--a")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestAddressesFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "addresses.json")
	a := NewAddresses(file)
	for i, flag := range []string{"--one", "--two"} {
		if err := a.Bound(flag, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1000 + i}); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got["--one"] != "127.0.0.1:1000" || got["--two"] != "127.0.0.1:1001" || len(a.All()) != 2 {
		t.Errorf("file %v, All %v", got, a.All())
	}
	if err := NewAddresses(filepath.Join(file, "below-a-file")).Bound("--x", &net.TCPAddr{}); err == nil || !strings.Contains(err.Error(), "--addresses-file") {
		t.Errorf("a file that cannot be written: %v", err)
	}
}
