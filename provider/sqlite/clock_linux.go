package sqlite

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bootMicros reads CLOCK_BOOTTIME, which counts on while the machine sleeps and is the
// same for all processes.
func bootMicros() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return time.Now().UnixMicro()
	}
	return ts.Sec*1_000_000 + ts.Nsec/1_000
}

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
