// Package usage tells what another process has used of the machine. It needs Linux.
package usage

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuClockSched marks the clock of a process that counts what all its threads have used, those that have ended too. The
// kernel makes the number of such a clock out of it and the number of the process: see clock_getcpuclockid(3).
const cpuClockSched = 2

// CPU is the processor time of a process since it began, in user and kernel mode, in nanoseconds. /proc counts in
// hundredths of a second, which is too coarse for what is measured here.
func CPU(pid int) (time.Duration, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|cpuClockSched, &t); err != nil {
		return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// Memory is what a process has in memory, in bytes.
type Memory struct{ Resident, Peak int64 }

// Of reads the memory of a process.
func Of(pid int) (Memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	var m Memory
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) != 3 || words[2] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return Memory{}, fmt.Errorf("memory of process %d: %q: %w", pid, line, err)
		}
		switch words[0] {
		case "VmRSS:":
			m.Resident = n << 10
		case "VmHWM:":
			m.Peak = n << 10
		}
	}
	if m.Resident == 0 {
		return Memory{}, fmt.Errorf("memory of process %d: it has ended", pid)
	}
	return m, nil
}
