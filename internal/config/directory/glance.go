package directory

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// glance looks only at what events were about, which is all that a look at a large tree would find. It reports whether
// that is enough: where links, directories or problems are about, a look at everything is needed. Its error is that of
// the context.
func (s *Source) glance(ctx context.Context, paths []string) (enough bool, err error) {
	// What is to be looked at again for another reason is not among the paths.
	if s.away != nil || s.again > 0 || s.tree.root == nil || s.tree.links || len(s.tree.unreadable) > 0 {
		return false, nil
	}
	tree := s.tree
	tree.files = slices.Clone(tree.files)
	for _, real := range paths {
		if !tree.update(s.dir, real) {
			return false, nil
		}
	}
	if len(tree.files) == 0 {
		return false, nil // whether that can be believed a look decides
	}
	if again, err := s.read(ctx, tree, false); again || err != nil {
		return false, err
	}
	return true, s.adopt(ctx, tree)
}

// update brings one name up to date. It is false if that takes a look at more than the name.
func (l *listing) update(dir, real string) bool {
	below, ok := strings.CutPrefix(real, strings.TrimSuffix(l.real, string(filepath.Separator))+string(filepath.Separator))
	if !ok {
		return false
	}
	if slices.ContainsFunc(strings.Split(below, string(filepath.Separator)), func(name string) bool { return strings.HasPrefix(name, ".") }) {
		return true
	}
	path := filepath.Join(dir, below)
	at, had := slices.BinarySearchFunc(l.files, path, func(f found, path string) int { return strings.Compare(f.path, path) })
	info, err := os.Lstat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if had {
			l.files = slices.Delete(l.files, at, at+1)
		}
		return true
	case err != nil || !info.Mode().IsRegular():
		return false
	case had:
		l.files[at].info = info
	case isManifest(path):
		l.files = slices.Insert(l.files, at, found{path, real, info})
	}
	return true
}
