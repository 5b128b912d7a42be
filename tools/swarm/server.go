package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/meshd/meshd/internal/testkit/usage"
)

// server is a meshd of its own, as a process.
type server struct {
	cmd    *exec.Cmd
	log    string // the file that it writes to
	file   string // the addresses that it has bound
	exited chan struct{}

	address string        // where it serves
	ready   time.Duration // from exec until it was
}

// build makes the binary.
func build(ctx context.Context, dir string) (string, error) {
	bin := filepath.Join(dir, "meshd")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, "github.com/meshd/meshd/cmd/meshd").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build meshd: %w\n%s", err, out)
	}
	return bin, nil
}

// start runs meshd on a folder of manifests and waits until it is ready. What it needs of files it puts into scratch.
func start(ctx context.Context, bin, manifests, scratch string, args []string) (*server, error) {
	s := &server{log: filepath.Join(scratch, "log"), file: filepath.Join(scratch, "addresses.json"), exited: make(chan struct{})}
	log, err := os.Create(s.log)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	s.cmd = exec.Command(bin, append([]string{"discovery", "--dir=" + manifests, "--grpc-addr=127.0.0.1:0", "--http-addr=127.0.0.1:0",
		"--monitoring-addr=127.0.0.1:0", "--addresses-file=" + s.file}, args...)...)
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	s.cmd.Stderr = log
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", bin, err)
	}
	go func() {
		_ = s.cmd.Wait() // its log says what there is to say
		close(s.exited)
	}()
	if err := s.waitReady(ctx); err != nil {
		s.stop()
		return nil, err
	}
	s.ready = time.Since(began)
	return s, nil
}

func (s *server) waitReady(ctx context.Context) error {
	for {
		err := s.probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-s.exited:
			return fmt.Errorf("meshd has ended: %w\n%s", err, s.tail())
		case <-ctx.Done():
			return fmt.Errorf("meshd does not get ready: %w: %w", context.Cause(ctx), err)
		}
	}
}

func (s *server) probe(ctx context.Context) error {
	data, err := os.ReadFile(s.file)
	if err != nil {
		return err
	}
	bound := map[string]string{}
	if err := json.Unmarshal(data, &bound); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+bound["--http-addr"]+"/ready", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if s.address = bound["--grpc-addr"]; s.address == "" || resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/ready: %s", resp.Status)
	}
	return nil
}

// tail is the end of its log.
func (s *server) tail() string {
	data, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	return string(data[max(0, len(data)-2000):])
}

// stop ends the process, whatever it is doing: nothing is measured any more.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	<-s.exited
}

func (s *server) cpu() (time.Duration, error) { return usage.CPU(s.cmd.Process.Pid) }

// atRest gives the memory of the server when nothing has happened for three seconds: what it needs to be there.
func (s *server) atRest(ctx context.Context) (usage.Memory, error) {
	select {
	case <-time.After(3 * time.Second):
		return usage.Of(s.cmd.Process.Pid)
	case <-ctx.Done():
		return usage.Memory{}, context.Cause(ctx)
	}
}

// quiet waits until the server has nothing left to do.
func (s *server) quiet(ctx context.Context) error {
	const window, idle = 150 * time.Millisecond, 3 * time.Millisecond
	last, err := s.cpu()
	for err == nil {
		select {
		case <-time.After(window):
		case <-s.exited:
			return fmt.Errorf("meshd has ended\n%s", s.tail())
		case <-ctx.Done():
			return fmt.Errorf("meshd does not come to rest: %w", context.Cause(ctx))
		}
		var now time.Duration
		if now, err = s.cpu(); now-last < idle {
			break
		}
		last = now
	}
	return err
}
