package usage_test

import (
	"os"
	"testing"
	"time"

	"github.com/meshd/meshd/internal/testkit/usage"
)

func TestCPU(t *testing.T) {
	before := cpu(t)
	for end := time.Now().Add(30 * time.Second); cpu(t) < before+50*time.Millisecond; {
		if time.Now().After(end) {
			t.Fatal("a process that is busy uses nothing")
		}
	}
	if _, err := usage.CPU(1 << 23); err == nil {
		t.Error("a process that does not exist has a clock")
	}
}

func cpu(t *testing.T) time.Duration {
	d, err := usage.CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestMemory(t *testing.T) {
	before, err := usage.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	held := make([]byte, 64<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	after, err := usage.Of(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if grown := after.Resident - before.Resident; grown < 60<<20 || after.Peak < after.Resident {
		t.Errorf("64 MB more are %d bytes, and at the peak %d of %d", grown, after.Peak, after.Resident+int64(held[0]))
	}
	if _, err := usage.Of(1 << 23); err == nil {
		t.Error("a process that does not exist has memory")
	}
}
