// Package deep is what foo calls.
package deep

import (
	"os"
	"time"
)

// Clock reads one.
func Clock() time.Time { return clock() }

func clock() time.Time { return time.Now() }

// Load reads a file, some calls below.
func Load(name string) []byte { return load(name, 3) }

func load(name string, n int) []byte {
	if n > 0 {
		return again(name, n-1)
	}
	b, _ := os.ReadFile(name)
	return b
}

func again(name string, n int) []byte { return load(name, n) }

// Pure does nothing.
func Pure() int { return pure(4) }

func pure(n int) int {
	if n == 0 {
		return 0
	}
	return pure(n - 1)
}
