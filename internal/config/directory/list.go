package directory

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/meshd/meshd/internal/config/filewatch"
)

// found is a manifest in the tree. Two paths that lead to one file are found once, by the first of them.
type found struct {
	path string // as a reader would name it, under the directory's own name
	real string // without symlinks
	info os.FileInfo
}

// unreadable is a file or a directory that is there and cannot be read.
type unreadable struct {
	path string
	err  error
	link bool // a symlink, which may have led to anything
}

// listing is what the tree holds at one moment.
type listing struct {
	root       os.FileInfo
	real       string // the directory without symlinks
	rootErr    error  // the whole directory cannot be read; the rest is empty then
	files      []found
	unreadable []unreadable
	links      bool // there are symlinks below the directory
}

// list finds all manifests under dir and puts everything that the answer depends on into set. Hidden names are left
// out, which is what makes Kubernetes' mounted ConfigMaps work: their files are symlinks through a hidden "..data".
func list(ctx context.Context, dir string, set *filewatch.Set) listing {
	real, err := set.Follow(dir)
	if err != nil {
		return listing{rootErr: err}
	}
	info, err := os.Stat(real)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "read", Path: dir, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return listing{rootErr: err}
	}
	l := &lister{ctx: ctx, set: set, root: real, seen: map[string]bool{}}
	l.out.root, l.out.real = info, real
	if err := l.dir(dir, real, info); err != nil {
		return listing{rootErr: err}
	}
	slices.SortFunc(l.out.files, func(a, b found) int { return strings.Compare(a.path, b.path) })
	return l.out
}

type lister struct {
	ctx  context.Context
	set  *filewatch.Set
	root string
	seen map[string]bool // real paths
	out  listing
}

func (l *lister) dir(path, real string, info os.FileInfo) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	// A link that leads back to a directory that holds the tree would go round in circles.
	if l.seen[real] || strings.HasPrefix(l.root, strings.TrimSuffix(real, string(filepath.Separator))+string(filepath.Separator)) {
		return nil
	}
	l.seen[real] = true
	l.set.Dir(real, info)
	entries, err := os.ReadDir(real)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := l.ctx.Err(); err != nil {
			return err
		}
		if !strings.HasPrefix(e.Name(), ".") {
			l.entry(e, filepath.Join(path, e.Name()), filepath.Join(real, e.Name()))
		}
	}
	return nil
}

func (l *lister) entry(e fs.DirEntry, path, real string) {
	link := e.Type()&fs.ModeSymlink != 0
	l.out.links = l.out.links || link
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return // deleted since the directory was read, which is being watched
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if real, err = l.set.Follow(real); err == nil {
			info, err = os.Stat(real)
		}
	}
	switch {
	case err != nil:
		l.out.unreadable = append(l.out.unreadable, unreadable{path, err, link})
	case info.IsDir():
		if err := l.dir(path, real, info); err != nil {
			l.out.unreadable = append(l.out.unreadable, unreadable{path, err, false})
		}
	case !isManifest(path) || l.seen[real]:
	case !info.Mode().IsRegular():
		l.out.unreadable = append(l.out.unreadable, unreadable{path, errors.New("it is not a regular file"), link})
	default:
		l.seen[real] = true
		l.out.files = append(l.out.files, found{path, real, info})
	}
}

// isManifest reports whether a file of that name is read.
func isManifest(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}
