package memory_test

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/meshd/meshd/internal/memory"
	"github.com/meshd/meshd/internal/testkit/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// resident is the memory of this process, in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	m, err := usage.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return m.Resident
}

// TestReturn: what a burst took is returned once it is over, and not before, nor again without another burst.
func TestReturn(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	returned, ended := make(chan int64, 100), make(chan struct{})
	go func() {
		defer close(ended)
		memory.Return(ctx, func() { returned <- resident(t) })
	}()
	const size = 128 << 20
	for range 2 {
		var held [][]byte
		for end := time.Now().Add(5 * time.Second / 2); time.Now().Before(end) || len(held) < size>>20; {
			if len(held) == size>>20 {
				held = held[1:]
			}
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 {
				b[i] = 1
			}
			held = append(held, b)
		}
		if n := len(returned); n != 0 {
			t.Errorf("memory was returned %d times while there was work", n)
		}
		full := resident(t)
		held = nil
		_ = held
		select {
		case left := <-returned:
			if full-left < size*3/4 {
				t.Errorf("of %d MB %d MB are left, though %d MB were free", full>>20, left>>20, size>>20)
			}
		case <-time.After(time.Minute):
			t.Fatal("nothing is returned")
		}
	}
	select {
	case <-returned:
		t.Error("memory is returned again though nothing has happened")
	case <-time.After(3 * time.Second): // as many looks
	}
	cancel()
	<-ended
}
