package filewatch

import (
	"errors"
	"io/fs"
	"syscall"
)

// isGone reports whether an error means that a path leads nowhere any more.
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
