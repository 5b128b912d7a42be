// Package process builds the real meshd binary and runs it, for tests of what only a process can show: exit codes,
// signals, ports, logs.
package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is how long a test waits for something that should happen soon, on a machine that is busy.
const Patience = 30 * time.Second

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "meshd-test-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "meshd")
	out, err := exec.Command("go", "build", "-o", bin, "github.com/meshd/meshd/cmd/meshd").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return bin, nil
})

// Binary builds meshd, once for the test process, and gives its path.
func Binary(t testing.TB) string {
	t.Helper()
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// Meshd is a running `meshd discovery`.
type Meshd struct {
	t    testing.TB
	cmd  *exec.Cmd
	file string

	mu  sync.Mutex
	log bytes.Buffer

	exited chan struct{}
	code   int
}

// Start runs `meshd discovery` with ports of the kernel's choice and the arguments, which go last and so can choose
// others. It does not wait for anything. The process is killed at the end of the test if it still runs.
func Start(t testing.TB, args ...string) *Meshd {
	t.Helper()
	m := &Meshd{t: t, file: filepath.Join(t.TempDir(), "addresses.json"), exited: make(chan struct{})}
	args = append([]string{"discovery", "--grpc-addr=127.0.0.1:0", "--http-addr=127.0.0.1:0", "--monitoring-addr=127.0.0.1:0", "--addresses-file=" + m.file}, args...)
	m.cmd = exec.Command(Binary(t), args...)
	m.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	stderr, err := m.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go m.follow(stderr)
	t.Cleanup(func() {
		_ = m.cmd.Process.Kill() // it may have ended
		<-m.exited
		if t.Failed() {
			t.Logf("log of meshd:\n%s", m.Log())
		}
	})
	return m
}

func (m *Meshd) follow(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m.mu.Lock()
		m.log.Write(append(lines.Bytes(), '\n'))
		m.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, stderr) // after a line without end, so that the process does not wait for a reader
	_ = m.cmd.Wait()                   // the code says what there is to say
	m.code = m.cmd.ProcessState.ExitCode()
	close(m.exited)
}

// Log gives what the process has written so far.
func (m *Meshd) Log() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.String()
}

// Address waits until the address of a flag ("--grpc-addr") is bound, and gives it.
func (m *Meshd) Address(flag string) string {
	m.t.Helper()
	var addr string
	m.Eventually("the address of "+flag, func() error {
		data, err := os.ReadFile(m.file)
		if err != nil {
			return err
		}
		bound := map[string]string{}
		if err := json.Unmarshal(data, &bound); err != nil {
			return err
		}
		if addr = bound[flag]; addr == "" {
			return fmt.Errorf("not among %v", bound)
		}
		return nil
	})
	return addr
}

// Get asks a path of the monitoring port.
func (m *Meshd) Get(path string) (status int, body string) {
	m.t.Helper()
	resp, err := http.Get("http://" + m.Address("--monitoring-addr") + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(data)
}

// WaitReady waits until /ready says yes.
func (m *Meshd) WaitReady() {
	m.t.Helper()
	m.Eventually("ready", func() error {
		if status, body := m.Get("/ready"); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
}

// WaitLog waits until the log has a line that contains all the words, and gives it.
func (m *Meshd) WaitLog(words ...string) string {
	m.t.Helper()
	var found string
	m.Eventually(fmt.Sprintf("a log line with %q", words), func() error {
		for line := range strings.Lines(m.Log()) {
			has := true
			for _, w := range words {
				has = has && strings.Contains(line, w)
			}
			if has {
				found = line
				return nil
			}
		}
		return fmt.Errorf("no such line")
	})
	return found
}

// Eventually waits until the condition gives no error. It fails the test when patience ends, or the process does.
func (m *Meshd) Eventually(what string, condition func() error) {
	m.t.Helper()
	deadline := time.Now().Add(Patience)
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-m.exited:
			if err = condition(); err == nil { // it may have come true just before the end
				return
			}
			m.t.Fatalf("waiting for %s: meshd has exited with code %d: %v", what, m.code, err)
		case <-time.After(10 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			m.t.Fatalf("waiting for %s: %v", what, err)
		}
	}
}

// PID is the number of the process.
func (m *Meshd) PID() int { return m.cmd.Process.Pid }

// Signal sends a signal.
func (m *Meshd) Signal(sig syscall.Signal) {
	m.t.Helper()
	if err := m.cmd.Process.Signal(sig); err != nil {
		m.t.Fatalf("sending %s: %v", sig, err)
	}
}

// Exit waits until the process has ended, and gives its exit code.
func (m *Meshd) Exit() int {
	m.t.Helper()
	select {
	case <-m.exited:
		return m.code
	case <-time.After(Patience):
		m.t.Fatalf("meshd does not end")
		return -1
	}
}

// Stop asks the process to stop in order, and gives its exit code.
func (m *Meshd) Stop() int {
	m.t.Helper()
	m.Signal(syscall.SIGTERM)
	return m.Exit()
}
