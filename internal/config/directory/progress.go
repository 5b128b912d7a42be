package directory

import (
	"fmt"
	"sync"
	"time"
)

// progress says from time to time how far reading is: never without having got further.
type progress struct {
	say   func(what string)
	dir   string
	files int
	every time.Duration

	mu   sync.Mutex
	done int
	said time.Time
}

func newProgress(dir string, files int, every time.Duration, say func(what string)) *progress {
	return &progress{say: say, dir: dir, files: files, every: every, said: time.Now()}
}

// file counts a file that is done.
func (p *progress) file() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.further("")
}

// within gives what counts the bytes of a file as they are done.
func (p *progress) within(path string, size int) func(bytes int) {
	read := 0
	return func(bytes int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		read += bytes
		p.further(fmt.Sprintf(", and %d of %d kB of %s", read>>10, size>>10, path))
	}
}

func (p *progress) further(within string) {
	if now := time.Now(); now.Sub(p.said) >= p.every {
		p.said = now
		p.say(fmt.Sprintf("reading %s: %d of %d files%s", p.dir, p.done, p.files, within))
	}
}
