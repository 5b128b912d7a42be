package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
	meshv1alpha1 "istio.io/api/mesh/v1alpha1"

	"github.com/meshd/meshd/internal/config/filewatch"
)

// rescan is the time between looks at the file that no event asked for.
const rescan = 30 * time.Second

// Source reads the mesh config from a file and follows it. Use Load once, then Run, and Close at the end.
type Source struct {
	file     string
	changed  func()
	log      *zap.Logger
	follower *filewatch.Follower

	// What Load set and Run follows: the config, the text that was parsed last, and what was wrong with it.
	live   *Live
	text   []byte
	badErr error

	mu      sync.Mutex
	problem error
}

// New makes a source for a file; without one, the defaults are the config. It reads nothing yet. changed is called,
// and must not block, whenever there is a config that was not there before, the first one included.
func New(file string, changed func(), log *zap.Logger) *Source {
	return &Source{file: file, changed: changed, log: log, follower: filewatch.New(filewatch.Timing{})}
}

// Load reads the file. Without a usable one there is no config, and the error names the file and --mesh-config.
func (s *Source) Load(ctx context.Context) (*Live, error) {
	if s.live != nil {
		return nil, errors.New("the mesh config was loaded before")
	}
	config := Default()
	if s.file != "" {
		text, err := s.read(ctx)
		if err == nil {
			config, err = s.parse(text)
			s.text = text
		}
		if err != nil {
			return nil, fmt.Errorf("--mesh-config %s: %w", s.file, err)
		}
	}
	s.live = NewLive(config)
	s.log.Info("mesh config loaded", zap.String("file", s.file), zap.String("trustDomain", config.TrustDomain))
	s.changed()
	return s.live, nil
}

// Run follows the file until the context ends, which is no error. It needs a Load before it. What cannot be used
// leaves the last good config in force.
func (s *Source) Run(ctx context.Context) error {
	if s.live == nil {
		return errors.New("the mesh config is followed before it was loaded")
	}
	if s.file == "" {
		<-ctx.Done()
		return nil
	}
	for s.follower.Wait(ctx, 0, rescan) == nil {
		text, err := s.read(ctx)
		if ctx.Err() != nil {
			break
		}
		s.take(text, err)
	}
	return nil
}

// take makes a reading of the file the config in force, if it can be.
func (s *Source) take(text []byte, err error) {
	var config *meshv1alpha1.MeshConfig
	switch {
	case err != nil:
	case bytes.Equal(text, s.text):
		err = s.badErr
	case len(bytes.TrimSpace(text)) == 0:
		// Programs empty a file before they write it, and the defaults are a far-reaching change.
		err = errors.New("the file is empty: write {} if the defaults are meant")
	default:
		config, err = s.parse(text)
		s.text, s.badErr = text, err
	}
	before := s.Problem()
	s.setProblem(err)
	switch {
	case err != nil && (before == nil || before.Error() != s.Problem().Error()):
		s.log.Error("mesh config cannot be used, the last good one stays in force", zap.String("file", s.file), zap.Error(err))
	case err == nil && before != nil:
		s.log.Info("mesh config can be used again", zap.String("file", s.file))
	}
	if config == nil || proto.Equal(config, s.live.Current()) {
		return
	}
	s.live.set(config)
	s.log.Info("mesh config changed", zap.String("file", s.file))
	s.changed()
}

// read gives the file's content as it was while it, and all that leads to it, was already being watched.
func (s *Source) read(ctx context.Context) (text []byte, err error) {
	looked := s.follower.Look(ctx, func(set *filewatch.Set) {
		if _, err = set.Follow(s.file); err == nil {
			text, err = readFile(s.file)
		}
	})
	if looked != nil {
		return nil, looked
	}
	return text, err
}

// maxFile is the size in bytes above which a file is no mesh config: a ConfigMap has at most 1 MB.
const maxFile = 1 << 20

// readFile reads an ordinary file of ordinary size. A pipe would block it for ever, and a device may have no end.
func readFile(path string) ([]byte, error) {
	switch info, err := os.Stat(path); {
	case err != nil:
		return nil, err
	case info.Mode().IsDir():
		return nil, &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it has more than %d bytes: that is no mesh config", maxFile)
	}
	return text, err
}

func (s *Source) parse(text []byte) (*meshv1alpha1.MeshConfig, error) {
	config, warnings, err := Parse(text)
	for _, w := range warnings {
		s.log.Warn("mesh config", zap.String("file", s.file), zap.String("warning", w))
	}
	return config, err
}

func (s *Source) setProblem(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = nil
	if err != nil {
		s.problem = fmt.Errorf("the last good mesh config is in force: %s: %w", s.file, err)
	}
}

// Problem says why the file's present content is not in force, or is nil. It may be called at any time.
func (s *Source) Problem() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.problem
}

// Status is the state of the mesh config's file, for debug pages.
type Status struct {
	// File is empty if there is none, and the defaults are in force.
	File string `json:"file,omitempty"`
	// Problem says why the file's present content is not in force; empty if it is.
	Problem string `json:"problem,omitempty"`
}

// Status gives the present state. It may be called at any time.
func (s *Source) Status() Status {
	status := Status{File: s.file}
	if problem := s.Problem(); problem != nil {
		status.Problem = problem.Error()
	}
	return status
}

// Close stops watching. It may be called more than once, and after a Load without a Run.
func (s *Source) Close() { s.follower.Close() }
