package filewatch

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks bounds the symlinks on one path; it is what Linux allows (path_resolution(7)).
const maxLinks = 40

// Set is what is worth watching: whole directories, and single names in directories. Directories are known by their
// real path and by their identity, so that a directory that was replaced makes another set.
type Set struct {
	dirs map[string]*watched
}

type watched struct {
	info  os.FileInfo
	all   bool
	names map[string]bool
}

// NewSet makes an empty set.
func NewSet() *Set { return &Set{dirs: map[string]*watched{}} }

// Dir adds everything that happens in a directory. The path is a real one, as Follow gives it, and info is its own.
func (s *Set) Dir(path string, info os.FileInfo) {
	if d := s.dirs[path]; d != nil {
		d.all = true
		return
	}
	s.dirs[path] = &watched{info: info, all: true}
}

// Follow resolves a path and adds every name that decides where it leads: each directory and symlink on the way, and
// the name itself, as far as the path goes. It gives the real path. The error, if the path leads nowhere, is that of
// the missing or unreadable component.
func (s *Set) Follow(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	volume := filepath.VolumeName(path)
	root := volume + string(filepath.Separator)
	at, rest := root, split(path[len(volume):])
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		s.name(at, name)
		info, err := os.Lstat(next)
		switch {
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", &fs.PathError{Op: "follow", Path: path, Err: syscall.ELOOP}
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", err
			}
			if filepath.IsAbs(target) {
				at = root
				target = target[len(filepath.VolumeName(target)):]
			}
			rest = append(split(target), rest...)
		default:
			at = next
		}
	}
	return at, nil
}

func split(path string) []string {
	var out []string
	for name := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if name != "" && name != "." {
			out = append(out, name)
		}
	}
	return out
}

// name adds what happens to one name in a directory.
func (s *Set) name(dir, name string) {
	d := s.dirs[dir]
	if d == nil {
		info, err := os.Stat(dir)
		if err != nil {
			return // gone since: the next look finds out where the path breaks off now
		}
		d = &watched{info: info}
		s.dirs[dir] = d
	}
	if d.names == nil {
		d.names = map[string]bool{}
	}
	d.names[name] = true
}

// equal reports whether both sets are the same names in the very same directories.
func (s *Set) equal(other *Set) bool {
	if len(s.dirs) != len(other.dirs) {
		return false
	}
	for path, a := range s.dirs {
		b := other.dirs[path]
		if b == nil || a.all != b.all || !os.SameFile(a.info, b.info) {
			return false
		}
		if a.all {
			continue
		}
		if len(a.names) != len(b.names) {
			return false
		}
		for name := range a.names {
			if !b.names[name] {
				return false
			}
		}
	}
	return true
}

// about reports whether an event with that path is about something in the set.
func (s *Set) about(path string) bool {
	if s.dirs[path] != nil {
		return true // the directory itself moved, or went away
	}
	d := s.dirs[filepath.Dir(path)]
	return d != nil && (d.all || d.names[filepath.Base(path)])
}

// whole reports whether an event with that path is about a name in a directory that all names are watched of, and about
// nothing else.
func (s *Set) whole(path string) bool {
	d := s.dirs[filepath.Dir(path)]
	return s.dirs[path] == nil && d != nil && d.all && !d.names[filepath.Base(path)]
}
