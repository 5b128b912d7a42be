package directory

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"
)

// maxFile is the size in bytes above which a file is refused: ten times the largest that anyone is expected to have,
// and still little enough to be held in memory.
const maxFile = 512 << 20

// settle is how old a file's time of modification must be when it is read, for that time to tell whether the file
// changed since: file systems count it in ticks, and two writes in one tick look like one.
const settle = 100 * time.Millisecond

// chunk is how many bytes are read in one go, so that slow disks can be given up on.
const chunk = 1 << 20

// attempts is how often a file is read that changes while it is being read.
const attempts = 3

// reading is what reading a file came to.
type reading struct {
	info   os.FileInfo // as it was before; nil if unknown
	at     time.Time
	hash   [sha256.Size]byte
	size   int
	parsed *content // nil if the content is the same as before, or bad
	err    error
}

// readAll reads files side by side, as many at a time as there are processors. same gives the hash of the content that
// a file had before. It ends soon if the context does, with its error.
func readAll(ctx context.Context, files []found, same func(path string) ([sha256.Size]byte, bool), p *progress) ([]reading, error) {
	out := make([]reading, len(files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range files {
		group.Go(func() error {
			hash, known := same(f.path)
			out[i] = readFile(ctx, f, hash, known, p)
			p.file()
			return ctx.Err()
		})
	}
	return out, group.Wait()
}

func readFile(ctx context.Context, f found, before [sha256.Size]byte, known bool, p *progress) reading {
	var data []byte
	r := reading{}
	for range attempts {
		r.at = time.Now()
		data, r.info, r.err = readStable(ctx, f.path)
		if !errors.Is(r.err, errMoving) {
			break
		}
	}
	if r.err != nil {
		r.info = nil // to be read again, whatever it looks like then
		return r
	}
	r.hash, r.size = sha256.Sum256(data), len(data)
	if known && r.hash == before {
		return r
	}
	r.parsed, r.err = parse(ctx, f.path, data, p.within(f.path, len(data)))
	return r
}

// errMoving is the state of a file that is being written.
var errMoving = errors.New("it is being written to, and is read when that is over")

// readStable reads a file that does not change meanwhile. It ends soon if the context does, with its error.
func readStable(ctx context.Context, path string) ([]byte, os.FileInfo, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, nil, unreadableFile{err}
	}
	defer file.Close()
	before, err := file.Stat()
	if err != nil {
		return nil, nil, unreadableFile{err}
	}
	if before.Size() > maxFile {
		return nil, before, fmt.Errorf("it has %d bytes, more than %d: split it", before.Size(), maxFile)
	}
	data := make([]byte, 0, before.Size()+1)
	for {
		if len(data) == cap(data) {
			return nil, nil, errMoving // it grew
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		n, err := file.Read(data[len(data):min(cap(data), len(data)+chunk)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, unreadableFile{err}
		}
	}
	after, err := file.Stat()
	if err != nil {
		return nil, nil, unreadableFile{err}
	}
	if int64(len(data)) != before.Size() || after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()) {
		return nil, nil, errMoving
	}
	return data, before, nil
}

// unreadableFile is an error of the file system, in contrast to one of what is written in a file.
type unreadableFile struct{ error }

func (e unreadableFile) Unwrap() error { return e.error }

// unchanged reports whether a file surely is what it was when it was read.
func (r reading) unchanged(now os.FileInfo) bool {
	return r.info != nil && os.SameFile(r.info, now) && r.info.Size() == now.Size() && r.info.ModTime().Equal(now.ModTime()) &&
		r.info.ModTime().Before(r.at.Add(-settle))
}
