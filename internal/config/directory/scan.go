package directory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/meshd/meshd/internal/config/filewatch"
	"github.com/meshd/meshd/internal/model"
)

// maxLooks bounds how often the tree is listed again because files went away while they were read.
const maxLooks = 3

// maxLines bounds the log lines about problems of one scan; the debug page has them all.
const maxLines = 20

// errEmptied is what a directory is in that was replaced by an empty one: an unmounted volume looks like that.
var errEmptied = errors.New("it was replaced by an empty directory: put manifests into it, or restart if it is meant to be empty")

// scan looks at the whole tree, reads what changed, and brings the stores up to date. It fails if the context ends,
// and if the directory cannot be read and never was.
func (s *Source) scan(ctx context.Context) error {
	s.again, s.tree, s.looked = 0, listing{}, time.Now()
	var tree listing
	for look := range maxLooks {
		err := s.follower.Look(ctx, func(set *filewatch.Set) { tree = list(ctx, s.dir, set) })
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if tree.rootErr == nil && s.emptied(tree) {
			tree.rootErr = errEmptied
		}
		if tree.rootErr != nil {
			if !s.loaded {
				return fmt.Errorf("--dir %s: it cannot be read: %w", s.dir, tree.rootErr)
			}
			s.away = tree.rootErr
			s.publish(nil)
			return nil
		}
		if again, err := s.read(ctx, tree, look == maxLooks-1); err != nil {
			return err
		} else if !again {
			break
		}
	}
	s.away, s.root = nil, tree.root
	return s.adopt(ctx, tree)
}

// adopt makes a tree that was read the present one.
func (s *Source) adopt(ctx context.Context, tree listing) error {
	hidden := s.forget(&tree)
	puts, deletes, err := s.claims.apply(ctx, s.opts.Stores)
	if err != nil {
		return err
	}
	if s.loaded && puts+deletes > 0 {
		s.opts.Log.Info("directory changed", zap.String("dir", s.dir), zap.Int("put", puts), zap.Int("deleted", deletes))
	}
	s.loaded, s.tree = true, tree
	s.publish(hidden)
	return nil
}

// emptied reports whether an empty directory stands where a full one was. One whose files were deleted is another matter.
func (s *Source) emptied(tree listing) bool {
	if !s.loaded || len(tree.files) > 0 || len(s.files) == 0 {
		return false
	}
	return s.away != nil || !os.SameFile(s.root, tree.root) || s.follower.Moved(tree.real)
}

// read takes in the files that are not what they were. It asks for another look, unless it is the last, if one of
// them went away meanwhile: the file, or the whole tree, is then gone for good or for now, and only a listing can tell.
func (s *Source) read(ctx context.Context, tree listing, last bool) (again bool, err error) {
	var todo []found
	for _, f := range tree.files {
		if known := s.files[f.path]; known == nil || !known.unchanged(f.info) {
			todo = append(todo, f)
		}
	}
	same := func(path string) ([sha256.Size]byte, bool) {
		if known := s.files[path]; known != nil && known.hash != ([sha256.Size]byte{}) {
			return known.hash, true
		}
		return [sha256.Size]byte{}, false
	}
	readings, err := readAll(ctx, todo, same, newProgress(s.dir, len(todo), s.reportEvery, func(what string) {
		if s.loaded {
			s.opts.Log.Info(what)
		} else {
			s.opts.Progress(ctx, what)
		}
	}))
	if err != nil {
		return false, err
	}
	for _, r := range readings {
		if !last && errors.Is(r.err, fs.ErrNotExist) {
			return true, nil
		}
	}
	for i, r := range readings {
		known := s.files[todo[i].path]
		if known == nil {
			known = &file{}
			s.files[todo[i].path] = known
		}
		s.take(todo[i].path, known, r)
	}
	return false, nil
}

// lookIn asks for another look after that time, at the latest.
func (s *Source) lookIn(d time.Duration) {
	if s.again == 0 || d < s.again {
		s.again = d
	}
}

// take makes a reading of a file its present state.
func (s *Source) take(path string, f *file, r reading) {
	switch {
	case r.info == nil: // could not be read, so what it holds is unknown
		f.info, f.bad = nil, r.err
		if errors.Is(r.err, errMoving) {
			if f.moving.IsZero() {
				f.moving = r.at
			}
			// Something that never settles, a log perhaps, is looked at less and less often.
			s.lookIn(max(soon, r.at.Sub(f.moving)))
		} else {
			f.moving = time.Time{}
		}
		return
	case r.err == nil && r.parsed == nil: // read again, and nothing new
		if _, ok := errors.AsType[unreadableFile](f.bad); ok || errors.Is(f.bad, errMoving) {
			f.bad = nil
		}
		f.info, f.at, f.emptied, f.moving = r.info, r.at, time.Time{}, time.Time{}
		return
	case r.err == nil && r.size == 0 && f.content != nil && len(f.content.objects) > 0:
		if f.emptied.IsZero() {
			f.emptied = r.at
		}
		if r.at.Sub(f.emptied) < emptyGrace {
			f.info = nil
			s.lookIn(emptyGrace)
			return
		}
	}
	f.reading, f.emptied, f.moving = r, time.Time{}, time.Time{}
	f.bad = r.err
	if r.err == nil {
		s.claims.replace(path, f.content, r.parsed)
		f.content = r.parsed
	}
	f.parsed, f.err = nil, nil
}

// forget drops the files that are gone, and keeps those that are only out of sight. It gives the problems of what
// cannot be read.
func (s *Source) forget(tree *listing) []Problem {
	present := make(map[string]bool, len(tree.files))
	for _, f := range tree.files {
		present[f.path] = true
	}
	hides := make([]int, len(tree.unreadable)) // files in use that are out of sight because of each
	of := make([]bool, len(tree.unreadable))   // whether any file is
	for path, f := range s.files {
		if present[path] {
			continue
		}
		out := false
		for i, u := range tree.unreadable {
			if path == u.path || strings.HasPrefix(path, u.path+string(filepath.Separator)) {
				if f.content != nil {
					hides[i]++
				}
				of[i], out = true, true
			}
		}
		if !out {
			s.claims.replace(path, f.content, nil)
			delete(s.files, path)
		}
	}
	var out []Problem
	for i, u := range tree.unreadable {
		// A dangling link may have led anywhere. Unless it is, or was, about manifests it is no concern.
		if u.link && !isManifest(u.path) && !of[i] {
			continue
		}
		out = append(out, Problem{Kind: Unreadable, File: u.path, Error: u.err.Error(), Kept: hides[i] > 0})
	}
	return out
}

// publish makes the present state visible, and logs what became of problems.
func (s *Source) publish(hidden []Problem) {
	now := time.Now()
	s.scans++
	status := &Status{
		Directory: s.dir, Loaded: s.loaded, Scans: s.scans, LastScan: now,
		Watching: "events of the file system", Objects: map[model.Kind]int{}, Skipped: map[string]int{},
	}
	if err := s.follower.Fallback(); err != nil {
		status.Watching = fmt.Sprintf("polling: %v", err)
	}
	if before := s.status.Load().Watching; before != status.Watching && s.scans > 1 {
		s.opts.Log.Warn("directory is watched another way now", zap.String("dir", s.dir), zap.String("watching", status.Watching))
	}
	problems := hidden
	for path, f := range s.files {
		if f.content != nil {
			status.Files++
			status.Documents += f.content.documents
			for kind, n := range f.content.skipped {
				status.Skipped[kind] += n
			}
		}
		if f.bad != nil {
			problems = append(problems, problemOf(path, f))
		}
	}
	for k := range s.claims.won {
		status.Objects[k.kind]++
	}
	problems = append(problems, s.claims.duplicates()...)
	if s.away != nil {
		problems = append(problems, Problem{Kind: Unreadable, File: s.dir, Error: s.away.Error(), Kept: true})
	}
	s.note(problems, now)
	for _, p := range s.known {
		status.Problems = append(status.Problems, p)
	}
	sortProblems(status.Problems)

	for _, p := range status.Problems {
		if p.Kind != Unreadable || !p.Kept {
			continue
		}
		if s.since.IsZero() {
			s.since = now
		}
		since := s.since
		status.DegradedSince = &since
		status.Degraded = "the last good state is in use: " + p.String()
		break
	}
	if status.Degraded == "" {
		s.since = time.Time{}
	}
	s.metrics.publish(status)
	s.status.Store(status)
}

func problemOf(path string, f *file) Problem {
	p := Problem{Kind: BadFile, File: path, Error: f.bad.Error(), Kept: f.content != nil}
	if _, ok := errors.AsType[unreadableFile](f.bad); ok || errors.Is(f.bad, errMoving) {
		p.Kind = Unreadable
	}
	if bad, ok := errors.AsType[*badDocument](f.bad); ok {
		p.Document, p.Item, p.Line, p.Object, p.Error = bad.document, bad.item, bad.line, bad.object, bad.err.Error()
	}
	return p
}

// note keeps since when each problem is known, and logs those that came and went.
func (s *Source) note(problems []Problem, now time.Time) {
	before := s.known
	s.known = make(map[Problem]Problem, len(problems))
	sortProblems(problems)
	lines := 0
	for _, p := range problems {
		id := p.identity()
		old, had := before[id]
		p.Since = now
		if had {
			p.Since = old.Since
		}
		s.known[id] = p
		if had {
			continue
		}
		if lines++; lines <= maxLines {
			s.opts.Log.Warn("problem in directory", zap.String("problem", string(p.Kind)), zap.String("at", p.String()), zap.Bool("lastGoodKept", p.Kept))
		}
	}
	if lines > maxLines {
		s.opts.Log.Warn("more problems in directory, see /debug/source", zap.Int("more", lines-maxLines))
	}
	solved := 0
	for id, p := range before {
		if _, still := s.known[id]; still {
			continue
		}
		if solved++; solved <= maxLines {
			s.opts.Log.Info("problem in directory is gone", zap.String("problem", string(p.Kind)), zap.String("at", p.String()), zap.Duration("after", now.Sub(p.Since)))
		}
	}
}
